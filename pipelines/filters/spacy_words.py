"""Where words begin as spaCy splits English, of documents at once.

    "Don't go (now)."  -->  pieces  Don't  go  (now).
                            words   Do n't go  ( now ) .

What spaCy makes of a piece depends on the piece alone, but for a few that hold a rule of its own:
those are asked for with the pieces around. All others are asked for once and remembered.
"""

from collections import deque

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.filters.characters import Characters, characters
from tokenmill.pipelines.filters.english import English
from tokenmill.pipelines.filters.kernels import spacy_words as kernels
from tokenmill.pipelines.filters.kernels.spacy_runs import find_runs
from tokenmill.pipelines.filters.kernels.spacy_words import (
    AFTER_LOWER,
    AFTER_UPPER,
    KNOWN,
    N_FRESH,
    N_MISSED,
    N_TOUCHING,
    SPLIT,
    TOUCHY,
)

SLOTS = 1 << 18  # 8 MB
MOST_PIECES = SLOTS // 2  # remembered; then all is forgotten but the rules
AT_ONCE = 1 << 14  # pieces asked for
RULE_SLOTS = 1 << 12

# spaCy takes a piece apart from its ends, in a time that grows with the square of its length. A
# longer one is taken in parts of so many bytes, which may split a word of them.
LONGEST_BYTES = 10_000

MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
STEMS = {AFTER_LOWER: ("xqz", "Xqz", "XQz"), AFTER_UPPER: ("xqZ", "XqZ", "XQZ")}


class Memo:
    """Pieces met before and where words begin in them; not for two threads at a time.

    What it remembers is what spaCy says: how much that is decides nothing but the time.
    """

    def __init__(self) -> None:
        self.english = English()
        self.n_pieces = 0
        self._table = np.zeros((SLOTS, kernels.N_COLUMNS), np.uint64)
        self._splits = np.empty(0, np.uint32)
        self._fresh = np.empty((AT_ONCE, 3), np.int64)
        self._missed = np.empty((4 * AT_ONCE, 4), np.int64)
        self._touching = np.empty((2 * len(self._missed), 3), np.int64)
        self._plain = np.zeros(256, np.uint8)  # no mark, until the rules are in
        self._rule_keys = np.zeros((RULE_SLOTS, 1), np.uint64)
        rules = characters(pa.array(self.english.rules, pa.large_string()))
        self._longest_rule = int(np.diff(rules.offsets).max())
        kernels.write_keys(rules.data, rules.offsets, self._rule_keys)
        self.mark(rules)
        self._rules = self._table.copy(), self._splits, self.n_pieces
        self._plain = self._plain_bytes()

    def mark(self, text: Characters) -> npt.NDArray[np.uint8]:
        """The classes of a text's bytes, SPLIT where a word begins inside a piece."""
        data, classes, offsets = text
        classes = classes & np.uint8(~SPLIT & 0xFF)
        place = np.zeros(kernels.N_PLACES, np.int64)
        while place[kernels.DOC] < len(offsets) - 1:
            kernels.mark_words(
                data, classes, offsets, self._table, self._splits, self._plain,
                self._rule_keys, self._longest_rule, self.english.bridges, LONGEST_BYTES,
                MOST_PIECES - self.n_pieces, self._fresh, self._missed,
                self._touching[: len(self._missed)], place,
            )  # fmt: skip
            self._learn(data, self._fresh[: place[N_FRESH]])
            missed = self._missed[: place[N_MISSED]]
            kernels.mark_missed(
                data, classes, offsets, self._table, self._splits, self.english.bridges, missed,
                self._touching, place,
            )  # fmt: skip
            self._mark_runs(data, classes, offsets, self._touching[: place[N_TOUCHING]])
            if self.n_pieces >= MOST_PIECES:
                self._forget()
        return classes

    def _learn(self, data: npt.NDArray[np.uint8], fresh: npt.NDArray[np.int64]) -> None:
        """Ask for pieces and fill their slots."""
        if not len(fresh):
            return
        pieces = _texts(data, fresh)
        found = self.english.splits(pieces)
        first = len(self._splits) + np.searchsorted(found.texts, np.arange(len(fresh) + 1))
        self._splits = np.concatenate((self._splits, found.at.astype(np.uint32)))
        slots = fresh[:, 2]
        self._table[slots, kernels.FIRST] = first[:-1]
        self._table[slots, kernels.END] = first[1:]
        self._table[slots, kernels.STATE] = [
            TOUCHY if self.english.is_touchy(piece) else KNOWN for piece in pieces
        ]
        self.n_pieces += len(fresh)

    def _mark_runs(
        self,
        data: npt.NDArray[np.uint8],
        classes: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        touching: npt.NDArray[np.int64],
    ) -> None:
        """Split anew pieces that depend on those around, together with them."""
        if not len(touching):
            return
        ordered = touching[np.argsort(touching[:, 1], kind="stable")]
        runs = np.empty((len(ordered), 2), np.int64)
        n_runs = find_runs(
            data, classes, offsets, self.english.bridges, LONGEST_BYTES, ordered, runs
        )
        join = [self.english.may_join(run) for run in _texts(data, runs[:n_runs])]
        runs = runs[:n_runs][join]
        for start, stop in runs.tolist():
            classes[start + 1 : stop] &= np.uint8(~SPLIT & 0xFF)
        found = self.english.splits(_texts(data, runs))
        classes[runs[found.texts, 0] + found.at] |= np.uint8(SPLIT)

    def _forget(self) -> None:
        table, self._splits, self.n_pieces = self._rules
        np.copyto(self._table, table)

    def _plain_bytes(self) -> npt.NDArray[np.uint8]:
        """(256,) uint8 of the kernel: marks that spaCy splits off behind letters."""
        plain = np.zeros(256, np.uint8)
        for bit, stems in STEMS.items():
            found = self.english.splits([stem + mark for mark in MARKS for stem in stems])
            splits = list(zip(found.texts.tolist(), found.at.tolist(), strict=True))
            for k, mark in enumerate(MARKS):
                texts = range(k * len(stems), (k + 1) * len(stems))
                if [s for s in splits if s[0] in texts] == [
                    (t, len(stem)) for t, stem in zip(texts, stems, strict=True)
                ]:
                    plain[ord(mark)] |= bit
        return plain


def _texts(data: npt.NDArray[np.uint8], spans: npt.NDArray[np.int64]) -> list[str]:
    """Spans, of which the first two columns are start and stop, as text."""
    bounds = zip(spans[:, 0].tolist(), spans[:, 1].tolist(), strict=True)
    return [data[start:stop].tobytes().decode() for start, stop in bounds]


_IDLE: deque[Memo] = deque()  # one for each thread that ever needed one at the same time


def spacy_classes(text: Characters) -> npt.NDArray[np.uint8]:
    """The classes of a text's bytes, SPLIT where a word begins inside a piece."""
    try:
        memo = _IDLE.pop()
    except IndexError:
        memo = Memo()
    classes = memo.mark(text)
    _IDLE.append(memo)
    return classes
