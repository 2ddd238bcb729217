r"""Parts of URLs, and words that stand in them.

    https://user@host.org:80/a/path.jpg?query#fragment
            \______________/\__________/
                  host           path

Split as the regular expression of RFC 3986, appendix B, has it: no URL is refused, and what has
no scheme and no "//" is a path.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Scope: TypeAlias = Literal["whole", "path", "host"]


PARTS = r"^(?:[^:/?#]+:)?(?://(?P<host>[^/?#]*))?(?P<path>[^?#]*)"


def scoped(urls: pa.Array, scope: Scope) -> pa.Array:
    """(n,) string, that part of each URL; null where the URL is, "" where it has no such part."""
    if scope == "whole":
        return urls
    return pc.struct_field(pc.extract_regex(urls, PARTS), scope)


def first_part(
    urls: pa.Array, parts: Sequence[str], *, scope: Scope, ignore_case: bool
) -> pa.Array:
    """(n,) string, the first of `parts`, in their order, that stands in each URL; null if none.

    ignore_case: of ASCII letters.
    """
    where = scoped(urls, scope)
    where = pc.ascii_lower(where) if ignore_case else where
    found = np.full(len(urls), -1, np.int64)
    for place, part in reversed(list(enumerate(parts))):
        wanted = _ascii_lower(part) if ignore_case else part
        has = pc.fill_null(pc.match_substring(where, wanted), False)
        found[np.asarray(has)] = place
    return pa.array(parts, pa.string()).take(pa.array(found, mask=found < 0))


def _ascii_lower(text: str) -> str:
    return str(pc.ascii_lower(pa.scalar(text)))
