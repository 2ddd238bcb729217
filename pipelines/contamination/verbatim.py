"""Items whose words tell them from no other, found by every sign: brackets, operators, numbers.

    Units ─ Verbatim.build ─► texts whose n-grams all belong to many items, or have no letter
    FOUND ─ spans ─► where such a text stands in a passage as it is, white space aside

It costs nothing elsewhere: only the text around n-grams that were found is looked at. Of texts that
begin with each other, or stand in each other, the longest is meant.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.overlap.find import Hits, Overlaps
from tokenmill.dedup.overlap.index import NgramIndex, window_lengths, windows_of
from tokenmill.dedup.text.fold import fold
from tokenmill.pipelines.contamination.found import CONTEXT_BYTES
from tokenmill.pipelines.contamination.index import ItemTexts
from tokenmill.pipelines.contamination.items.spec import QUESTION, WHOLE

MOST_CHARS = 4096
NO_SPANS = Overlaps._make([*np.empty((5, 0), np.int64), np.empty(0, np.uint8)])
TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Verbatim:
    """Texts that are looked for character by character.

    texts: distinct, white space made single, ascending.
    items: those that each is of.
    inner: the longest other that each begins with, -1 for none.
    grams: (n_grams,) bool, n-grams of the texts.
    """

    texts: list[str]
    items: list[list[int]]
    inner: list[int]
    grams: Bools

    @classmethod
    def build(cls, texts: ItemTexts, ngrams: NgramIndex, wanted: Bools, groups: I64) -> "Verbatim":
        """Of each wanted item its question, or all its fields if it has none.

        wanted: (n_items,) bool.  groups: (n_items,) equal for items that are the same.
        """
        chosen = _asked(texts, wanted)
        folded = fold(texts.texts.take(pa.array(chosen)), texts.folding).text
        kinds = texts.ngrams[chosen], texts.least[chosen], texts.words
        lengths = window_lengths(folded, *kinds)
        items_of: dict[str, list[int]] = {}
        for row, length in zip(chosen.tolist(), lengths.tolist(), strict=True):
            text = " ".join(texts.texts[row].as_py().split())
            if length and _is_held(text):
                items_of.setdefault(text, []).append(int(texts.items[row]))
        of_one = {text: of for text, of in items_of.items() if len({*groups[of].tolist()}) == 1}
        known, inner = sorted(of_one), list[int]()
        for text in known:
            at = len(inner) - 1
            while at >= 0 and not text.startswith(known[at]):
                at = inner[at]
            inner.append(at)
        grams = np.zeros(len(ngrams.hashes), bool)
        kept = np.isin(texts.items[chosen], [item for of in of_one.values() for item in of])
        windows = windows_of(folded, np.where(kept, lengths, 0), texts.words)
        grams[np.searchsorted(ngrams.hashes, windows.grams)] = True
        return cls(known, [of_one[text] for text in known], inner, grams)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.texts), default=0)

    def spans(self, found: pa.RecordBatch, hits: Hits) -> Overlaps:
        """The first place of each item in each document; found: FOUND.  hits: ignored ones too."""
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        for row in np.unique(hits.docs[self.grams[hits.grams]]).tolist():
            starts, passages = found["passage_starts"][row], found["passages"][row]
            for first, passage in zip(starts.as_py(), passages.as_py(), strict=True):
                for text, start, end in self._in(passage):
                    for item in self.items[text]:
                        spans.setdefault((row, item), (first + start, first + end))
        columns = np.array([(*pair, *place) for pair, place in sorted(spans.items())], np.int64)
        n = len(spans)
        of_all = np.ones(n, np.int64), np.zeros(n, np.uint8)
        return Overlaps._make([*columns.reshape(n, 4).T, *of_all])

    def _in(self, passage: str) -> Iterator[tuple[int, int, int]]:
        """The texts that stand in a passage, and their first byte and the one after the last."""
        words = list(re.finditer(r"\S+", passage))
        plain = " ".join(word[0] for word in words)
        starts = list(accumulate((len(word[0]) + 1 for word in words), initial=0))
        reached = char = byte = 0
        for token in TOKEN.finditer(plain):
            at = self._at(plain, token.start())
            end = token.start() + len(self.texts[at]) if at >= 0 else 0
            if end > reached:
                reached = end
                first, last = (
                    words[word].start() + place - starts[word]
                    for place in (token.start(), end - 1)
                    for word in (bisect_right(starts, place) - 1,)
                )
                byte += len(passage[char:first].encode())
                char = first
                yield at, byte, byte + len(passage[first : last + 1].encode())

    def _at(self, plain: str, start: int) -> int:
        """The longest text that stands at a place and ends with a word or sign; -1 for none."""
        rest = plain[start : start + self._longest + 1]
        at = bisect_right(self.texts, rest) - 1
        while at >= 0:
            text = self.texts[at]
            after = rest[len(text) - 1 : len(text) + 1]
            if rest.startswith(text) and not re.fullmatch(r"\w\w", after):
                break
            at = self.inner[at]
        return at


def _asked(texts: ItemTexts, wanted: Bools) -> I64:
    """The text of each wanted item that asks."""
    ranks = np.where(texts.roles == QUESTION, 0, np.where(texts.roles == WHOLE, 1, 2))
    order = np.lexsort((ranks, texts.items))
    first = order[np.unique(texts.items[order], return_index=True)[1]]
    return first[wanted[texts.items[first]]]


def _is_held(text: str) -> bool:
    """Whether the text around its words, which is kept, has all of it; a very long one is not."""
    ends = re.search(r"^\W*", text), re.search(r"\W*$", text)
    near = all(end is not None and len(end[0].encode()) <= CONTEXT_BYTES for end in ends)
    return near and len(text) <= MOST_CHARS
