"""An item and a stretch of a document side by side: what they share, and how they differ.

    item_passages   the text of an item with the n-grams that a match in a document has
    copy_passage    the words that an item and an edited copy of it have in common
    differences     case, punctuation or white space in which the same words are written otherwise

Gram words are blind to these three (`dedup.text.gram_words`): a difference is named if the
stretches would still differ with the other two made alike.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from string import punctuation
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64
from tokenmill.dedup.text.fold import Folding, fold
from tokenmill.dedup.text.unicode import PUNCT, flags_of, lower_of
from tokenmill.pipelines.contamination.found import located
from tokenmill.pipelines.contamination.index import BenchmarkIndex


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
    """Of the item of each match the text that has most of the match, and where.

    Of two texts that have as much it is the shorter: a question rather than all fields together.
    """
    texts, items = index.texts.texts, index.texts.items
    rows = np.flatnonzero(np.isin(items, [m.item for m in matches]))
    some, owners = texts.take(pa.array(rows)), items[rows]
    hits, _ = located(fold(some, index.folding), index)
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


def _grams_of(matches: Sequence[Match], index: BenchmarkIndex) -> list[I64]:
    """The n-grams of each match, those of other items among them."""
    if not matches:
        return []
    texts = pa.array(["".join(m[1:]) for m in matches], pa.large_string())
    hits, _ = located(fold(texts, index.folding), index)
    starts = np.array([len(m.before.encode()) for m in matches])
    ends = starts + np.array([len(m.match.encode()) for m in matches])
    inside = (hits.starts >= starts[hits.docs]) & (hits.ends <= ends[hits.docs])
    hits = hits.only(inside)
    bounds = np.searchsorted(hits.docs, np.arange(len(matches) + 1))
    return [hits.grams[a:b] for a, b in pairwise(bounds.tolist())]


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


Change = Callable[[str], str]


def differences(item: str, document: str, folding: Folding) -> tuple[str, ...]:
    """Names of "case", "punctuation" and "white space" in which two stretches differ.

    Empty if they are not the same words.

    >>> differences("Is it well-known?", "IS IT  wellknown", Folding())
    ('case', 'punctuation', 'white space')
    """
    folded = fold(pa.array([item, document], pa.large_string()), folding).text.to_pylist()
    changes: dict[str, Change] = {
        "case": _lowered,
        "punctuation": _without_punctuation,
        "white space": _single_spaced,
    }
    if not _alike(folded, [*changes.values()]):
        return ()
    return tuple(
        name
        for name in changes
        if not _alike(folded, [change for other, change in changes.items() if other != name])
    )


def bare(text: str) -> str:
    """Text in lower case and without punctuation, as gram words are compared."""
    return _lowered(_without_punctuation(text))


def _alike(texts: list[str], changes: list[Change]) -> bool:
    """Whether two texts are the same once all of the changes have been made."""
    for change in changes:
        texts = [change(text) for text in texts]
    return texts[0] == texts[1]


def _lowered(text: str) -> str:
    return "".join(chr(lower_of(ord(c))) for c in text)


def _without_punctuation(text: str) -> str:
    """Without punctuation; a word of nothing else goes with the white space behind it."""
    words = re.split(r"(\s+)", text)
    kept = []
    for word, space in zip(words[::2], [*words[1::2], ""], strict=True):
        left = "".join(c for c in word if not _is_punctuation(c))
        kept += [left, space] if left or not word else []
    return "".join(kept)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _is_punctuation(char: str) -> bool:
    return char in punctuation or bool(flags_of(ord(char)) & PUNCT)


Span = tuple[int, int]  # characters (code points) from and to


class Word(NamedTuple):
    """A word of a text: where it stands, and what it is compared by."""

    start: int
    end: int
    bare: str


class CopyPassage(NamedTuple):
    """A copy in a document beside its item.

    before, match, after: of the document; `match` reaches from the first word that the item has
        too, in its place, to the last.
    spans: of the item, the words that stand in the copy; ascending, disjoint.
    """

    before: str
    match: str
    after: str
    spans: tuple[Span, ...]


def copy_passage(item: str, before: str, match: str, after: str, folding: Folding) -> CopyPassage:
    """Find the words that an item and a copy have in common, in the order of the item.

    match: the stretch of the document that has most of the item's pairs of words; a word that
        stands alone at its end, behind one that was replaced, is in the text after it.
    """
    words, copied = _words(item, folding), _words(match, folding)
    shared = _shared(words, copied)
    if not shared:
        return CopyPassage(before, match, after, ())
    left, right = _words(before, folding), _words(after, folding)
    ahead, behind = words[: shared[0]][::-1], words[shared[-1] + 1 :]
    # a word on either side is shared if it stands as far away as in the item
    n_ahead, n_behind = _last_alike(ahead, left[::-1]), _last_alike(behind, right)
    start = left[-n_ahead].start if n_ahead else len(before)
    end = right[n_behind - 1].end if n_behind else 0
    shared = _shared(words, [*left[len(left) - n_ahead :], *copied, *right[:n_behind]])
    return CopyPassage(
        before[:start],
        f"{before[start:]}{match}{after[:end]}",
        after[end:],
        _spans(words, shared),
    )


def _words(text: str, folding: Folding) -> list[Word]:
    """The words of a text that are more than punctuation."""
    matches = list(re.finditer(r"\S+", text))
    folded = fold(pa.array([m[0] for m in matches], pa.large_string()), folding).text.to_pylist()
    words = [Word(m.start(), m.end(), bare(f)) for m, f in zip(matches, folded, strict=True)]
    return [word for word in words if word.bare]


def _shared(item: Sequence[Word], copied: Sequence[Word]) -> list[int]:
    """Which words of the item the copy has, ascending."""
    matcher = SequenceMatcher(
        None, [w.bare for w in item], [w.bare for w in copied], autojunk=False
    )
    return [block.a + n for block in matcher.get_matching_blocks() for n in range(block.size)]


def _last_alike(item: Sequence[Word], others: Sequence[Word]) -> int:
    """How many words there are up to the last that is the same in both at its place."""
    alike = [n for n, (a, b) in enumerate(zip(item, others, strict=False), 1) if a.bare == b.bare]
    return alike[-1] if alike else 0


def _spans(words: Sequence[Word], shared: Sequence[int]) -> tuple[Span, ...]:
    """Words that follow one another are one span."""
    spans: list[Span] = []
    for last, n in zip([-2, *shared], shared, strict=False):
        start = spans.pop()[0] if n == last + 1 else words[n].start
        spans.append((start, words[n].end))
    return tuple(spans)
