"""What the plan asks of the storage behind one host, the step that emulates it, and the search for
how many accelerators the storage feeds: raised until they wait, then in between.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tokenmill.sizing.sheet import Sheet

LEAST_AU = 0.90  # of MLPerf Storage; its thresholds for models read in small samples
MOST_STEP_S = 0.25  # a shorter step than the plan's is the stricter test, and takes less time
RESOLUTION = 20  # the count is found to a 20th of itself
Ended: TypeAlias = Literal["found", "most", "time"]


@dataclass(frozen=True, kw_only=True)
class Demand:
    """tokens_per_s: of one accelerator.  step_s: of the plan.  accelerators: of the job.

    per_node: accelerators of a node.
    checkpoint_bytes: of one node.  write_bytes_per_s, restart_bytes_per_s: of one node.
    """

    tokens_per_s: float
    step_s: float
    seq_len: int
    accelerators: int
    per_node: int
    checkpoint_bytes: float
    write_bytes_per_s: float
    restart_bytes_per_s: float

    def bytes_per_s(self, accelerators: int, width: int) -> float:
        """Bytes of ids that so many accelerators use each second."""
        return accelerators * self.tokens_per_s * width

    def least_accelerators(self, need: int) -> int:
        """So many, `need` at least, that together they take a sequence in a step."""
        step_s = min(self.step_s, MOST_STEP_S)
        return max(need, math.ceil(self.seq_len / (self.tokens_per_s * step_s)))

    def step(self, accelerators: int, processes: int) -> "Step":
        """The step of so many accelerators, emulated by at most so many processes.

        Each process reads whole sequences for its share of the accelerators. Its step is so
        long that they take exactly the tokens a second that the plan implies.
        """
        rate = accelerators * self.tokens_per_s / self.seq_len  # sequences/s of all
        in_a_step = rate * min(self.step_s, MOST_STEP_S)
        ranks = max(1, min(processes, accelerators, int(in_a_step)))
        sequences = max(1, round(in_a_step / ranks))
        return Step(ranks=ranks, sequences=sequences, compute_s=ranks * sequences / rate)


@dataclass(frozen=True, kw_only=True)
class Step:
    """ranks: processes.  sequences: of one rank's batch.  compute_s: of the sleep."""

    ranks: int
    sequences: int
    compute_s: float


def demand(sheet: Sheet) -> Demand:
    """What the sheet of a plan says; tokens a second follow from P x MFU / 6N."""
    per_node = sheet.input("per_node", sheet.node_accelerators()).value
    rate = sheet["training rate"].value
    return Demand(
        tokens_per_s=sheet["training rate, one accelerator"].value,
        step_s=sheet.plan.training.batch_tokens / rate,
        seq_len=sheet.plan.model.seq_len,
        accelerators=sheet.plan.cluster.count,
        per_node=int(per_node),
        checkpoint_bytes=sheet["checkpoint of one node"].value,
        write_bytes_per_s=sheet["checkpoint write bandwidth, one node"].value,
        restart_bytes_per_s=sheet["restart read bandwidth, one node"].value,
    )


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
