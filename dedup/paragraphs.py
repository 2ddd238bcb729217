"""Paragraphs that repeat benchmark items, dropped; the others stay together as one document.

A paragraph is what stands between two blank lines ("\\n\\n"). It is dropped if it has at least 13
words, and at least half of its windows are n-grams of the index: marin's rule, where Dolma drops
any paragraph of 13 words with a hit. Windows across paragraphs do not count.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dedup.arrow_text import text_buffers
from dedup.fold import Folding, fold
from dedup.gram_words import count_words
from dedup.ngram_index import NgramIndex
from dedup.overlap import find

BLANK_LINE = "\n\n"


@dataclass(frozen=True, kw_only=True)
class ParagraphRule:
    """Which paragraphs to drop.

    least_words: shorter ones stay.
    least_frac: share of a paragraph's windows, of one length of the index, that it has.
    """

    least_words: int = 13
    least_frac: float = 0.5


class Remaining(NamedTuple):
    """Documents without the paragraphs dropped, and those paragraphs.

    text: (n_docs,) large_string; "" where nothing is left.
    docs: (n_dropped,) int64, the document of each paragraph dropped, in order.
    starts, ends: (n_dropped,) int64, its UTF-8 bytes from the beginning of the document.
    """

    text: pa.Array
    docs: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def drop_paragraphs(
    text: pa.Array,
    index: NgramIndex,
    ignored: npt.NDArray[np.bool_] | None = None,
    rule: ParagraphRule | None = None,
    folding: Folding | None = None,
) -> Remaining:
    """Drop paragraphs of documents.

    text: (n_docs,) string column, no nulls; those with a hit are enough.
    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    folding: disguises that paragraphs are freed from before they are looked at, each by itself.
    """
    split = pc.split_pattern(text.cast(pa.large_string()), BLANK_LINE)
    paragraphs, ends = split.flatten(), np.cumsum(pc.list_value_length(split).to_numpy())
    seen = paragraphs if folding is None else fold(paragraphs, folding).text
    dropped = _dropped(seen, index, ignored, rule or ParagraphRule())
    docs = np.repeat(np.arange(len(text)), np.diff(ends, prepend=0))
    kept = pa.ListArray.from_arrays(
        pa.array(np.append(0, np.cumsum(~dropped)[ends - 1]), pa.int32()),
        paragraphs.filter(pa.array(~dropped)),
    )
    lengths = text_buffers(paragraphs).lengths
    place = np.cumsum(lengths + len(BLANK_LINE)) - lengths - len(BLANK_LINE)
    starts = place - place[np.append(0, ends[:-1])][docs] if len(docs) else place
    return Remaining(
        pc.binary_join(kept, pa.scalar(BLANK_LINE, pa.large_string())),
        docs[dropped],
        starts[dropped],
        (starts + lengths)[dropped],
    )


def _dropped(
    paragraphs: pa.Array,
    index: NgramIndex,
    ignored: npt.NDArray[np.bool_] | None,
    rule: ParagraphRule,
) -> npt.NDArray[np.bool_]:
    """(n_paragraphs,) bool, which to drop."""
    hits = find(paragraphs, index)
    if ignored is not None:
        hits = hits.only(~ignored[hits.grams])
    n_words = count_words(paragraphs)
    dropped = np.zeros(len(paragraphs), bool)
    for length in index.lengths.tolist():
        of_length = hits.lasts - hits.firsts + 1 == length
        found = np.bincount(hits.docs[of_length], minlength=len(paragraphs))
        dropped |= (found > 0) & (found >= rule.least_frac * (n_words - length + 1))
    return dropped & (n_words >= rule.least_words)
