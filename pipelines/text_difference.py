"""In what two texts differ, word by word, with work that grows with their length and no faster.

    Stretches that both have, and that stand once in each, are laid in order (the longest run that
    is in order in both); what lies between two of them is compared likewise by shorter stretches,
    and what is left by `difflib`, as long as there is little of it.

Source of the anchors: patience diff, Bram Cohen 2010, on words in place of lines.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

# a word, a mark, white space; of scripts without spaces between words one character
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff"
_UNIT = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+|[^\w\s]|\s+")
_WORD = re.compile(r"\w")
STRETCHES = (16, 4, 1)  # units of an anchor, tried in turn
MOST_CELLS = 40_000  # units of one side times the other's that `difflib` is given at once
MOST_WORK = 4_000_000  # such cells in all; what lies behind is told apart as a whole

Kind: TypeAlias = Literal["equal", "removed", "kept"]


class Stretch(NamedTuple):
    """Text that both have ("equal"), or the removed document alone, or the kept one alone."""

    kind: Kind
    text: str


class _Window(NamedTuple):
    """Units [a, a_end) of one text and [b, b_end) of the other."""

    a: int
    a_end: int
    b: int
    b_end: int


class _Match(NamedTuple):
    """n units of one text from `a` on that are those of the other from `b` on."""

    a: int
    b: int
    n: int


def difference(removed: str, kept: str) -> list[Stretch]:
    """The stretches of two texts, in order; joined without those of the other they are each text.

    >>> [tuple(s) for s in difference("a big cat", "a small cat")]
    [('equal', 'a '), ('removed', 'big'), ('kept', 'small'), ('equal', ' cat')]
    """
    ours, theirs = _UNIT.findall(removed), _UNIT.findall(kept)
    found: list[Stretch] = []
    a = b = 0
    for match in _Texts(ours, theirs).matches():
        found.append(Stretch("removed", "".join(ours[a : match.a])))
        found.append(Stretch("kept", "".join(theirs[b : match.b])))
        found.append(Stretch("equal", "".join(ours[match.a : match.a + match.n])))
        a, b = match.a + match.n, match.b + match.n
    found.append(Stretch("removed", "".join(ours[a:])))
    found.append(Stretch("kept", "".join(theirs[b:])))
    return _joined(found)


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Without empty ones, and between two that are equal one of each kind at most.

    What is equal between two changes and has no word in it, as a comma, goes with the changes.
    """
    made: list[Stretch] = []
    equal, ours, theirs, held = "", "", "", ""  # held: equal, if a word follows before a change
    for kind, text in stretches:
        if kind != "equal" and text:
            ours += held + (text if kind == "removed" else "")
            theirs += held + (text if kind == "kept" else "")
            held = ""
        elif kind == "equal" and not (ours or theirs):
            equal += text
        elif kind == "equal" and _WORD.search(text):
            made += _told(equal, ours, theirs)
            equal, ours, theirs, held = held + text, "", "", ""
        else:
            held += text
    return [*made, *_told(equal, ours, theirs), *_told(held, "", "")]


def _told(equal: str, ours: str, theirs: str) -> Iterator[Stretch]:
    stretches = Stretch("equal", equal), Stretch("removed", ours), Stretch("kept", theirs)
    return (stretch for stretch in stretches if stretch.text)


class _Texts:
    """Two texts as numbers, equal where their units are."""

    def __init__(self, ours: Sequence[str], theirs: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._a = [numbers.setdefault(unit, len(numbers)) for unit in ours]
        self._b = [numbers.setdefault(unit, len(numbers)) for unit in theirs]
        self._work = 0

    def matches(self) -> Iterator[_Match]:
        """What is equal, in the order of both texts."""
        yield from self._within(_Window(0, len(self._a), 0, len(self._b)), 0)

    def _within(self, window: _Window, level: int) -> Iterator[_Match]:
        """What is equal in a window; level: of STRETCHES, behind its end the rest."""
        head = self._equal_head(window)
        if head:
            yield _Match(window.a, window.b, head)
            window = window._replace(a=window.a + head, b=window.b + head)
        tail = self._equal_tail(window)
        window = window._replace(a_end=window.a_end - tail, b_end=window.b_end - tail)
        if window.a < window.a_end and window.b < window.b_end:
            if level < len(STRETCHES):
                yield from self._between_anchors(window, level)
            else:
                yield from self._closely(window)
        if tail:
            yield _Match(window.a_end, window.b_end, tail)

    def _between_anchors(self, window: _Window, level: int) -> Iterator[_Match]:
        a, b = window.a, window.b
        for i, j in self._anchors(window, STRETCHES[level]):
            if i < a or j < b:  # inside the match before, which went on for as long as it could
                continue
            yield from self._within(_Window(a, i, b, j), level + 1)
            n = self._equal_head(_Window(i, window.a_end, j, window.b_end))
            yield _Match(i, j, n)
            a, b = i + n, j + n
        yield from self._within(_Window(a, window.a_end, b, window.b_end), level + 1)

    def _anchors(self, window: _Window, size: int) -> list[tuple[int, int]]:
        """Where stretches of `size` units begin that stand once in each: most of them in order."""
        ours = _once(self._a, window.a, window.a_end, size)
        theirs = _once(self._b, window.b, window.b_end, size)
        return _in_order([(i, theirs[key]) for key, i in ours.items() if key in theirs])

    def _equal_head(self, w: _Window) -> int:
        n = 0
        most = min(w.a_end - w.a, w.b_end - w.b)
        while n < most and self._a[w.a + n] == self._b[w.b + n]:
            n += 1
        return n

    def _equal_tail(self, w: _Window) -> int:
        n = 0
        most = min(w.a_end - w.a, w.b_end - w.b)
        while n < most and self._a[w.a_end - 1 - n] == self._b[w.b_end - 1 - n]:
            n += 1
        return n

    def _closely(self, w: _Window) -> Iterator[_Match]:
        cells = (w.a_end - w.a) * (w.b_end - w.b)
        if cells > MOST_CELLS or self._work + cells > MOST_WORK:
            return
        self._work += cells
        matcher = SequenceMatcher(
            None, self._a[w.a : w.a_end], self._b[w.b : w.b_end], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            if block.size:
                yield _Match(w.a + block.a, w.b + block.b, block.size)


def _once(units: Sequence[int], start: int, end: int, size: int) -> dict[tuple[int, ...], int]:
    """Where each stretch begins that stands once between `start` and `end`, in order."""
    keys = [tuple(units[i : i + size]) for i in range(start, end - size + 1)]
    times = Counter(keys)
    return {key: start + i for i, key in enumerate(keys) if times[key] == 1}


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers rise. pairs: their first numbers rise.

    >>> _in_order([(0, 5), (1, 1), (2, 9), (3, 2)])
    [(1, 1), (3, 2)]
    """
    ends: list[int] = []  # the least last number of a run of each length
    at: list[int] = []  # its pair
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        at[length : length + 1] = [k]
    run: list[tuple[int, int]] = []
    k = at[-1] if at else -1
    while k >= 0:
        run.append(pairs[k])
        k = before[k]
    return run[::-1]
