"""How many accelerators a storage supports: raised until they wait, then searched in between."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tokenmill.pipelines.probe.demand import LEAST_AU

RESOLUTION = 20  # the count is found to a 20th of itself

Ended: TypeAlias = Literal["found", "most", "time"]


@dataclass(frozen=True, kw_only=True)
class Trial:
    accelerators: int
    au: float


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """How many accelerators the storage feeds.

    supported: the most that kept their utilisation, 0 if none did.
    failing: the fewest that did not; None where all that were tried did.
    ended: what ended it: the answer, the most that were asked for, or the time.
    """

    supported: int
    failing: int | None
    ended: Ended
    tried: tuple[Trial, ...]


def search(
    au_of: Callable[[int], float], *, need: int, first: int, most: int, until: float
) -> SearchResult:
    """Double `first` until utilisation is below 0.90 or `most` is reached, then bisect.

    au_of: utilisation of so many accelerators, measured.  need: tried next if `first` are too
    many, as it is what decides.  until: on the clock of `time.perf_counter`.

    >>> result = search(lambda n: 100 / max(n, 100), need=8, first=8, most=1024, until=1e99)
    >>> result.supported, result.failing, result.ended
    (108, 112, 'found')
    """
    low, high, trying = 0, None, min(first, most)
    tried: list[Trial] = []
    while True:
        au = au_of(trying)
        tried.append(Trial(accelerators=trying, au=au))
        if au >= LEAST_AU:
            low = trying
        else:
            high = trying
        ended = _ended(low, high, most, until)
        if ended is not None:
            return SearchResult(supported=low, failing=high, ended=ended, tried=tuple(tried))
        if high is None:
            trying = min(2 * low, most)
        else:
            trying = need if low < need < high else (low + high) // 2


def _ended(low: int, high: int | None, most: int, until: float) -> Ended | None:
    if high is None and low == most:
        return "most"
    if high is not None and high - low <= max(1, low // RESOLUTION):
        return "found"
    return "time" if time.perf_counter() >= until else None
