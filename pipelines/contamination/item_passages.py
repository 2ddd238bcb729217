"""What of an item stands in one match of a document, to be shown beside it.

match --fold, find--> its n-grams --those of the item's texts--> spans --most of them--> one text
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.fold import fold
from tokenmill.dedup.overlap import Hits, find
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex


class Match(NamedTuple):
    """A stretch of a document that has n-grams of an item, and the text around it."""

    item: int
    before: str
    match: str
    after: str


class ItemPassage(NamedTuple):
    """A text of an item.  spans: characters (code points) from and to, ascending, disjoint."""

    text: str
    spans: tuple[tuple[int, int], ...]


def item_passages(index: BenchmarkIndex, matches: Sequence[Match]) -> list[ItemPassage]:
    """Of the item of each match the text that has most of it, and where.

    Of two that have as much it is the shorter: a question rather than all fields together.
    """
    texts, items = index.texts.texts, index.texts.items
    rows = np.flatnonzero(np.isin(items, [m.item for m in matches]))
    some, owners = texts.take(pa.array(rows)), items[rows]
    hits = _hits(some, index)
    bounds = np.searchsorted(hits.docs, np.arange(len(rows) + 1)).tolist()
    chosen = []
    for match, grams in zip(matches, _grams_of(matches, index), strict=True):
        passages = []
        for row in np.flatnonzero(owners == match.item).tolist():
            a, b = bounds[row : row + 2]
            wanted = np.isin(hits.grams[a:b], grams)
            spans = zip(hits.starts[a:b][wanted], hits.ends[a:b][wanted], strict=True)
            passages.append(_passage(some[row].as_py(), sorted((int(s), int(e)) for s, e in spans)))
        chosen.append(max(passages, key=lambda p: (sum(e - s for s, e in p.spans), -len(p.text))))
    return chosen


def _grams_of(matches: Sequence[Match], index: BenchmarkIndex) -> list[npt.NDArray[np.int64]]:
    """The n-grams of each match, of other items too."""
    if not matches:
        return []
    hits = _hits(pa.array(["".join(m[1:]) for m in matches], pa.large_string()), index)
    starts = np.array([len(m.before.encode()) for m in matches])
    ends = starts + np.array([len(m.match.encode()) for m in matches])
    inside = (hits.starts >= starts[hits.docs]) & (hits.ends <= ends[hits.docs])
    hits = hits.only(inside)
    bounds = np.searchsorted(hits.docs, np.arange(len(matches) + 1))
    return [hits.grams[a:b] for a, b in pairwise(bounds.tolist())]


def _hits(text: pa.Array, index: BenchmarkIndex) -> Hits:
    """N-grams of the index, in bytes of the text as it is written."""
    folded = fold(text, index.folding)
    hits = find(folded.text, index.ngrams)
    places = folded.source_spans(hits.docs, hits.starts, hits.ends)
    return hits._replace(starts=places.starts, ends=places.ends)


def _passage(text: str, windows: Sequence[tuple[int, int]]) -> ItemPassage:
    """windows: bytes of the text, ascending; those that overlap are one span."""
    merged: list[tuple[int, int]] = []
    for start, end in windows:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    data = text.encode()
    return ItemPassage(
        text, tuple((len(data[:a].decode()), len(data[:b].decode())) for a, b in merged)
    )
