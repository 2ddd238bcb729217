r"""One form for URLs that are written in several ways.

    HTTP://Example.org:80/%7ea/./b?y=2&x=1&utm_source=z#top  ->  http://example.org/~a/b?x=1&y=2

The form is that of `w3lib.url.canonicalize_url`, which Scrapy knows pages by: scheme and host in
lower case, the host in ASCII (IDNA), "/" for an empty path, dot segments resolved, percent-encoding
only where it is needed and in capitals, parameters of the query sorted, no fragment. Besides, the
default port goes, and so do parameters by name. http and https, a host with "www." and without it,
and a path with "/" at its end and without it stay apart: servers may tell them apart.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa

LIBRARY = "w3lib"
LONGEST = 8_192  # characters; a longer one stays as it is: IDNA takes quadratic time
TRACKING = ("utm_*", "gclid", "fbclid", "msclkid", "phpsessid", "jsessionid")

DEFAULT_PORT = re.compile(r"^(http://[^/?#]*):80(?=[/?#])|^(https://[^/?#]*):443(?=[/?#])")


def normalized(urls: pa.Array, dropped: Sequence[str]) -> pa.Array:
    """(n,) string, the one form of each; null stays null.

    dropped: names of parameters, whatever their case; "*" at the end of one is any end.

    >>> normalized(pa.array(["http://a.org:80?b=1&UTM_source=x&a=2"]), TRACKING)[0].as_py()
    'http://a.org/?a=2&b=1'
    """
    from w3lib.url import canonicalize_url  # optional

    without = _parameters(tuple(dropped))
    every = urls.cast(pa.binary()).to_pylist()  # a URL's bytes may be no UTF-8
    made = [None if url is None else _normalized(url, without, canonicalize_url) for url in every]
    return pa.array(made, pa.string())


def _normalized(
    written: bytes, dropped: re.Pattern[str] | None, canonical: Callable[[str], str]
) -> str:
    """The one form of a URL; one that is empty, very long or cannot be read stays as it is."""
    url = written.decode(errors="backslashreplace").strip()
    if not url or len(url) > LONGEST:
        return url
    if dropped is not None:
        url = _without(url, dropped)
    try:
        return DEFAULT_PORT.sub(r"\1\2", canonical(url))
    except ValueError:  # brackets of an IPv6 address that do not match, a port over 65,535
        return url


def _without(url: str, dropped: re.Pattern[str]) -> str:
    """Take parameters out of a query, and out of the path where they stand behind ";"."""
    rest = url.partition("#")[0]
    path, mark, query = rest.partition("?")
    if ";" in path:
        path = "".join(
            segment
            for segment in re.split("(?=[;/])", path)
            if segment[:1] != ";" or not dropped.match(segment[1:])
        )
    kept = "&".join(p for p in query.split("&") if not dropped.match(p))
    return f"{path}{mark if kept else ''}{kept}"


@cache
def _parameters(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """What the beginning of a parameter with one of these names matches."""
    each = (
        re.escape(n.removesuffix("*")) + ("" if n.endswith("*") else r"(?==|\Z)") for n in names
    )
    return re.compile("|".join(each), re.IGNORECASE) if names else None
