"""A job: one run directory, and the pieces of work that fill it.

Phase: Works --do--> Outcomes, each with a receipt in OUT/receipts/
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenmill.pipelines import mirror
from tokenmill.pipelines.ledger import StageStats
from tokenmill.pipelines.mirror_cache import CACHE_BYTES
from tokenmill.pipelines.mirrored import join_run
from tokenmill.pipelines.receipt import (
    Receipt,
    file_entry,
    publish_files,
    save_receipt,
    valid_receipt,
)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every piece of work is told.

    out: the run directory, absolute; of one on an object store, the folder that mirrors it.
    remote: where that is, as s3://bucket/run.
    identity: digest of all that decides the output: settings, inputs, versions.
    """

    out: Path
    identity: str
    remote: str | None = None

    @property
    def workers(self) -> int | None:
        """Pieces of work done at a time; None is one per processor."""
        return None

    @property
    def scratch_bytes(self) -> int:
        """Of files of an object store that are kept in `out`."""
        return CACHE_BYTES

    @property
    def manifest(self) -> Path:
        return self.out / "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a piece of work hands back: the files it wrote, its account, and facts for later."""

    files: Sequence[Path] = ()
    stats: Sequence[tuple[str, StageStats]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Work:
    """One piece of work: independent of its siblings, repeatable, proven by a receipt.

    step, key: name it.  inputs: digest of all that it reads.
    chain: works of one chain are best done in turn, by one worker; "" is none.
    call, args: a module-level function and what it takes after the job, so that it pickles.
    """

    step: str
    key: str
    inputs: str
    call: Callable[..., Done]
    args: tuple[Any, ...] = ()
    chain: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a piece of work ended: its receipt, or what went wrong.

    fresh: it was done now, not found done.
    """

    work: Work
    receipt: Receipt | None = None
    error: BaseException | None = None
    fresh: bool = False


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Works that may run at the same time, in any order; the next phase waits for all.

    whole: the run cannot go on if one of them fails; else the failed ones are listed.
    """

    name: str
    works: tuple[Work, ...]
    whole: bool = False


def chained(works: Sequence[Work], at_least: int) -> list[deque[Work]]:
    """The works in order, those of a chain together; long chains are cut until there are enough.

    A cut costs its second half the way to its beginning.
    """
    made: list[deque[Work]] = []
    for work in works:
        if made and work.chain and made[-1][-1].chain == work.chain:
            made[-1].append(work)
        else:
            made.append(deque([work]))
    while len(made) < at_least and (longest := max(made, key=len, default=())) and len(longest) > 1:
        half = len(longest) // 2
        tail = deque([longest.pop() for _ in range(half)][::-1])
        made.insert(made.index(longest) + 1, tail)
    return made


def do(job: Job, work: Work) -> Outcome:
    """Do the work, unless a valid receipt shows it done.

    What it wrote goes to where the run directory is, and the receipt last.
    """
    if job.remote is not None:
        join_run(job.out, job.remote, job.scratch_bytes)
    found = valid_receipt(job.out, work.step, work.key, work.inputs)
    if found is not None:
        return Outcome(work=work, receipt=found)
    wall, cpu = time.perf_counter(), time.thread_time()
    with mirror.named_by_address():
        done = work.call(job, *work.args)
    for name, stats in done.stats:
        stats.check(f"{work.step} {work.key}, {name}")
    receipt = Receipt(
        step=work.step,
        key=work.key,
        inputs=work.inputs,
        files=tuple(file_entry(job.out, path) for path in done.files),
        stats=tuple(done.stats),
        facts=done.facts,
        seconds=(time.perf_counter() - wall, time.thread_time() - cpu),
    )
    publish_files(job.out, receipt)
    save_receipt(job.out, receipt)
    return Outcome(work=work, receipt=receipt, fresh=True)
