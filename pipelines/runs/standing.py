"""How far a run is: as told of its phases while it goes on, or as its directory has it.

    drive ── when a phase begins ──► OUT/receipts/standing.json ─┐
    works ── done ──► receipts,  failed ──► STEP/KEY.failed ─────┴─ look ──► Seen

Who looks needs no more than the files, and may do so from another machine.
"""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.packs import LOOKERS, dated
from tokenmill.pipelines.runs.receipt import Receipt, failures, step_folder
from tokenmill.pipelines.runs.work import Coming, Outcome, Phase
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import json_text
from tokenmill.sizing.strict import parse_json

LEAST_SHARE, LEAST_S = 0.02, 5.0  # of a run, before the time it still takes is guessed at
LEAST_SPEED = 50_000  # bytes/s; of images and captions, whose text is next to nothing, none is told
MOST_COMING = 4  # stages named
STANDING = "standing.json"


@dataclass
class Standing:
    """How far a run is, from what is told of its phases.

    phase: of which `done` of `works` are done.  cost, behind: as of `Phase`.
    passed: cost of the phases that have ended.  fresh: cost of works that were not found done.
    kept, removed, failed: documents so far, those that failed by cause.
    n_bytes: of text that entered works of this phase.
    began, phase_began: by the clock.  at: of when it tells; None is now.
    """

    phase: str = ""
    works: int = 0
    done: int = 0
    cost: float = 0.0
    behind: tuple[Coming, ...] = ()
    passed: float = 0.0
    fresh: float = 0.0
    kept: int = 0
    removed: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    n_bytes: int = 0
    began: float = field(default_factory=time.time)
    phase_began: float = field(default_factory=time.time)
    at: float | None = None

    def start(self, phase: Phase[Any], n_works: int) -> None:
        self.open(phase, n_works)
        for receipt in phase.done:
            self.count(receipt)

    def open(self, phase: Phase[Any], n_works: int) -> None:
        """As `start`, before what was found done is counted."""
        self.phase, self.works, self.done = phase.name, n_works, len(phase.done)
        self.cost, self.behind = phase.cost, phase.behind
        self.n_bytes, self.phase_began = 0, time.time()

    def advance(self, outcome: Outcome | None = None) -> None:
        self.done += 1
        if outcome is None or outcome.receipt is None:
            return
        self.count(outcome.receipt)
        if outcome.fresh:
            self.fresh += self.cost / self.works
            self.n_bytes += bytes_in(outcome.receipt)

    def end(self) -> None:
        self.passed += self.cost
        self.cost, self.done = 0.0, self.works

    def count(self, receipt: Receipt[Any]) -> None:
        for name, stats in receipt.stats:
            removed = sum(stats.removed.values())
            came = stats.docs_created + (stats.docs_in if name == "read" else 0)
            self.kept += came - removed - sum(stats.failed.values())
            self.removed += removed
            self.failed.update(stats.failed)

    @property
    def share(self) -> float | None:
        """Of the whole run, by cost; None where nothing is known of it."""
        whole = self.passed + self.cost + sum(stage.cost for stage in self.behind)
        return self._made() / whole if whole else None

    def _made(self) -> float:
        return self.passed + (self.cost * self.done / self.works if self.works else 0.0)

    def bytes_per_s(self) -> float | None:
        """Of text, in this phase."""
        took = (self.at or time.time()) - self.phase_began
        return self.n_bytes / took if self.n_bytes and took > 0 else None

    def seconds_left(self) -> float | None:
        """That the run still takes, about; None while too little is done to tell."""
        share, took = self.share, (self.at or time.time()) - self.began
        if not share or not self.fresh or not LEAST_SHARE <= share < 1 or took < LEAST_S:
            return None
        return self._made() * (1 / share - 1) * took / self.fresh

    def in_words(self) -> str:
        """Share, speed, documents and the time left, as far as they are known, and what comes."""
        told, share, left, speed = [], self.share, self.seconds_left(), self.bytes_per_s()
        if share is not None:
            told.append(f"{share:.0%} of the run")
        if speed is not None and speed >= LEAST_SPEED:
            told.append(f"{speed / 1e6:,.1f} MB/s of text")
        failed = self.failed.total()
        if self.kept or self.removed or failed:
            told.append(f"{self.kept:,} documents kept, {self.removed:,} removed")
        if failed:
            told.append(f"{failed:,} failed")
        if left is not None:
            told.append(f"about {in_words(left)} left")
        coming = [stage.name for stage in self.behind]
        more = [f"{len(coming) - MOST_COMING} more"] if len(coming) > MOST_COMING + 1 else []
        named = [*(coming[:MOST_COMING] if more else coming), *more]
        return "; ".join([", ".join(told), *([f"to come: {', '.join(named)}"] if named else [])])


def in_words(seconds: float) -> str:
    """A time that is roughly known.

    >>> in_words(8), in_words(130), in_words(5000)
    ('10 s', '2 min', '1.4 h')
    """
    if seconds < 90:
        return f"{max(round(seconds, -1), 10):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 * 0.9 else f"{seconds / 3600:.1f} h"


def bytes_in(receipt: Receipt[Any]) -> int:
    """Of text that entered a work."""
    return receipt.stats[0][1].bytes_in if receipt.stats else 0


def begin(out: Path, standing: Standing, phase: Phase[Any]) -> None:
    """Set down that a phase begins; phase: with the works to do, and what was found done."""
    step = (phase.works or phase.done)[0].step
    standing.open(phase, len(phase.works) + len(phase.done))
    told = {k: v for k, v in vars(standing).items() if k != "at"}
    mirror.write_text(out / "receipts" / STANDING, json_text({**told, "step": step}))


@dataclass(frozen=True)
class Seen:
    """A run that goes on, as its directory has it.

    failures: (step, key, error) of works that failed.  age_s: since the last receipt was written.
    longest_s: that a work of this phase took.
    """

    standing: Standing
    failures: tuple[tuple[str, str, str], ...]
    age_s: float
    longest_s: float


def look(out: Path) -> Seen | None:
    """How far a run is that has not ended; None where no phase has begun."""
    try:
        data, age_s = mirror.read_dated(out / "receipts" / STANDING)
    except FileNotFoundError:
        return None
    try:
        told: dict[str, Any] = parse_json(data)
    except ValueError as e:
        raise ConfigError(f"{mirror.address(out / 'receipts' / STANDING)}: not JSON ({e})") from e
    step, found, longest_s = told.pop("step"), told["done"], 0.0
    told |= {"behind": tuple(Coming(*c) for c in told["behind"]), "failed": Counter(told["failed"])}
    standing, seen = Standing(**told), set()
    with ThreadPoolExecutor(LOOKERS) as looking:
        for receipts, age in looking.map(dated, mirror.find(step_folder(out, step), "*")):
            age_s = min(age_s, age)
            for receipt in receipts:
                if receipt.key not in seen:
                    seen.add(receipt.key)
                    standing.count(receipt)
                    standing.n_bytes += bytes_in(receipt)
                    longest_s = max(longest_s, receipt.seconds[0])
    standing.done = min(len(seen), standing.works)
    fresh = max(standing.done - found, 0)
    standing.n_bytes = standing.n_bytes * fresh // max(standing.done, 1)
    standing.fresh += standing.cost * fresh / standing.works
    standing.at = time.time() - age_s
    failed = tuple(f for f in failures(out) if f[:2] not in {(step, key) for key in seen})
    return Seen(standing, failed, age_s, longest_s)
