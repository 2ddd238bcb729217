"""Added tokens that libraries match in text in different orders.

`tokenizers` looks for tokens of one kind after those of another: first those that are not
normalized; and where control tokens stay text it still steps over them. gigatoken takes
whichever begins first. They agree but where tokens of two kinds share characters.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Kind = tuple[bool, bool]


def clashes(tokens: Sequence[Mapping[str, Any]], *, plain: bool) -> list[str]:
    """The shortest texts in which tokens of two kinds share characters, each once, in order.

    tokens: as a tokenizer.json lists them.  plain: control tokens stay text.
    """
    kinds = {t["content"]: (t["normalized"], plain and t["special"]) for t in tokens}
    return sorted({*_within(kinds), *_overlapping(kinds)})


def _within(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """Tokens that hold one of another kind."""
    for token, kind in kinds.items():
        n = len(token)
        parts = (token[a:b] for a in range(n) for b in range(a + 1, n + 1))
        if any(kinds.get(part, kind) != kind for part in parts):
            yield token


def _overlapping(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """Two tokens written as one, where the end of the first begins the second."""
    beginning: dict[str, list[str]] = defaultdict(list)
    for token in kinds:
        for stop in range(1, len(token)):
            beginning[token[:stop]].append(token)
    for token, kind in kinds.items():
        for start in range(1, len(token)):
            for other in beginning.get(token[start:], ()):
                if kinds[other] != kind:
                    yield token[:start] + other
