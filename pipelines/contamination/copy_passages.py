"""What an item and an edited copy of it have in common, word by word, to be shown side by side.

item, stretch of a document --words, folded--> longest runs in common --> spans of the item
text around the stretch ------same words in their places----------------> a longer stretch
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import pyarrow as pa

from tokenmill.dedup.fold import Folding, fold
from tokenmill.pipelines.contamination.written import bare

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
    # a word on either side counts that stands as far away as in the item
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
    found = list(re.finditer(r"\S+", text))
    folded = fold(pa.array([m[0] for m in found], pa.large_string()), folding).text.to_pylist()
    made = [Word(m.start(), m.end(), bare(f)) for m, f in zip(found, folded, strict=True)]
    return [word for word in made if word.bare]


def _shared(item: Sequence[Word], copied: Sequence[Word]) -> list[int]:
    """Which words of the item the copy has, ascending."""
    matcher = SequenceMatcher(
        None, [w.bare for w in item], [w.bare for w in copied], autojunk=False
    )
    return [block.a + n for block in matcher.get_matching_blocks() for n in range(block.size)]


def _last_alike(item: Sequence[Word], others: Sequence[Word]) -> int:
    """How many words it is to the last that is the same in both, place by place."""
    alike = [n for n, (a, b) in enumerate(zip(item, others, strict=False), 1) if a.bare == b.bare]
    return alike[-1] if alike else 0


def _spans(words: Sequence[Word], shared: Sequence[int]) -> tuple[Span, ...]:
    """Words that follow one another are one span."""
    spans: list[Span] = []
    for last, n in zip([-2, *shared], shared, strict=False):
        start = spans.pop()[0] if n == last + 1 else words[n].start
        spans.append((start, words[n].end))
    return tuple(spans)
