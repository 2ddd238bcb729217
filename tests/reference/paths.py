"""The texts that paths lead to in objects, by the rules on the page, item by item."""

from collections.abc import Iterator, Sequence
from typing import Any


def walked(value: Any, names: Sequence[str]) -> list[Any]:
    """All that one path leads to, a level at a time."""
    level = [value]
    for name in names:
        level = [v.get(name) for v in level if v is not None]
        while any(isinstance(v, list) for v in level):
            level = [i for v in level for i in (v if isinstance(v, list) else [v])]
    return [v for v in level if v is not None]


def in_turn(value: Any, paths: Sequence[Sequence[str]], join: str) -> Iterator[str]:
    """What several lead to: neighbours that lead on from one name go on together, item by item."""
    if isinstance(value, list):
        for item in value:
            yield from in_turn(item, paths, join)
    elif value is not None:
        while paths:
            n = 1
            while n < len(paths) and _lead_on_alike(paths[0], paths[n]):
                n += 1
            if n > 1:
                rest = [path[1:] for path in paths[:n]]
                yield from in_turn(value.get(paths[0][0]), rest, join)
            else:
                yield join.join(walked(value, paths[0]))
            paths = paths[n:]


def _lead_on_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    return one[0] == other[0] and len(one) > 1 and len(other) > 1
