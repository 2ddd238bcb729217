"""Documents as paragraphs or lines, and put together again of those that stay."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BREAKS = {"paragraph": "\n\n", "line": "\n"}


class Parts(NamedTuple):
    """Part `p` of document `d` is `text[starts[d] + p]`; every document has one at least.

    starts: (n_docs + 1,) int64.
    """

    text: pa.Array
    starts: npt.NDArray[np.int64]
    separator: str


def parts_of(text: pa.Array, unit: str) -> Parts | None:
    """None if the unit is the document."""
    separator = BREAKS.get(unit)
    if separator is None:
        return None
    lists = pc.split_pattern(text, separator)
    lengths = np.asarray(lists.value_lengths(), np.int64)
    return Parts(lists.flatten(), np.concatenate(([0], np.cumsum(lengths))), separator)


def joined(parts: Parts, stays: npt.NDArray[np.bool_]) -> pa.Array:
    """(n_docs,), each document of those of its parts that stay."""
    before = np.concatenate(([0], np.cumsum(stays)))[parts.starts]
    kept = parts.text.filter(pa.array(stays))
    lists = pa.ListArray.from_arrays(pa.array(before, pa.int32()), kept)
    return pc.binary_join(lists, pa.scalar(parts.separator, kept.type))
