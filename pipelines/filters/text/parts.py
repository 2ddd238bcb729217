"""Lines and paragraphs of documents: how many, how many that repeat one before, are short, …

Or cut apart, and joined again of those that stay.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F64, I64, Bools
from tokenmill.pipelines.filters.kernels import parts
from tokenmill.pipelines.filters.kernels.words import count_bits
from tokenmill.pipelines.filters.text.characters import Characters


class PartFacts(NamedTuple):
    """Of each document, (n_docs,) float64.

    n: its parts.  n_repeated: those equal to one before.  repeated_chars: characters of those.
    n_terminal: those whose last character ends a sentence.  n_short: those that are short.
    """

    n: F64
    n_repeated: F64
    repeated_chars: F64
    n_terminal: F64
    n_short: F64


def newline_counts(text: Characters) -> I64:
    r"""(n_docs,) int64, how many "\n" each document has."""
    counts = np.empty(len(text.offsets) - 1, np.int64)
    count_bits(text.data, text.offsets, 0xFF, parts.LF, counts)
    return counts


def part_facts(
    text: Characters,
    n_newlines: I64,
    *,
    newlines: int = 1,
    trim: bool = False,
    skip_blank: bool = False,
    short_chars: int = 0,
) -> PartFacts:
    r"""Split each document at runs of at least `newlines` "\n" and count the parts.

    n_newlines: (n_docs,), in each document.
    trim: split `text.strip()`.  skip_blank: leave out parts of nothing but whitespace.
    short_chars: characters that a short part has at most.
    """
    n_docs = len(text.offsets) - 1
    most_parts = int(n_newlines.max(initial=0)) + 1
    table = np.empty(1 << (2 * most_parts - 1).bit_length(), np.uint64)
    out = np.empty((n_docs, parts.N_PART_FACTS), np.int64)
    parts.part_facts(*text, n_newlines, newlines, trim, skip_blank, short_chars, table, out)
    return PartFacts(*out.T.astype(np.float64))


class Parts(NamedTuple):
    """Part `p` of document `d`, which has one at least, is `text[starts[d] + p]`."""

    text: pa.Array
    starts: I64
    separator: str

    @property
    def owners(self) -> I64:
        """(n_parts,) the row of each part's document."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def joined(self, stays: Bools) -> pa.Array:
        """(n_docs,), each document of those of its parts that stay."""
        before = np.concatenate(([0], np.cumsum(stays)))[self.starts]
        kept = self.text.filter(pa.array(stays))
        lists = pa.ListArray.from_arrays(pa.array(before, pa.int32()), kept)
        return pc.binary_join(lists, pa.scalar(self.separator, kept.type))


def split_at(text: pa.Array, separator: str) -> Parts:
    """Cut documents where a separator stands, as `str.split` does."""
    lists = pc.split_pattern(text, separator)
    lengths = np.asarray(lists.value_lengths(), np.int64)
    return Parts(lists.flatten(), np.concatenate(([0], np.cumsum(lengths))), separator)
