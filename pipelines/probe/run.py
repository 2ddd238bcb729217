"""A whole probe: search, repeats, what limits, checkpoints; its report is plain data."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import cores, memory_bytes
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.probe.cache import mount_of, sight
from tokenmill.pipelines.probe.checkpoints import CheckpointFile, CheckpointRates, node_files, rates
from tokenmill.pipelines.probe.demand import LEAST_AU, Demand, SearchResult, Step, demand, search
from tokenmill.pipelines.probe.loader import DEPTHS, ORDERS, Depth, Loader, Order, Reading
from tokenmill.pipelines.probe.medium import Bucket
from tokenmill.pipelines.probe.objects import CONNECTIONS, ObjectLoader
from tokenmill.pipelines.probe.report import (
    REPEATS,
    RUNS,
    Checkpoints,
    Probed,
    mean_kept,
    probe_json,
)
from tokenmill.pipelines.probe.shards import Shards, open_dataset, silent
from tokenmill.pipelines.probe.team import ProbeError, Run, Team, Train
from tokenmill.sizing.sheet import Sheet

LEAST_STEPS = 5
SEARCH, DEPTHS_SHARE = 0.45, 0.15  # of the time
TURNS = 4  # measurements of each depth, an even number
LEAST_FETCHES = 4  # of record batches by a process in a run
SEARCH_RUNS = 16  # that the search is given time for
LOWERED = 0.9  # the count that the repeats are tried with next, where they did not keep up
POOL_BYTES = 64 * 1024**2  # of a rank's shuffle buffer, at most
DEPTH_BATCH_BYTES = 1024**2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """order: in which training reads; None as the plan says.  split: of the dataset.

    accelerators: that this host must feed; None is a node's.  most: to be tried; None is the job's.
    processes: that stand for them; None is twice the cores.  seconds: for reading, in all.
    chunk_rows: read at once in the chunked order; None as the plan says.
    connections: requests of a process to a bucket at once.
    checkpoint: folder to write checkpoints to, if any.  checkpoint_bytes: of a node.
    """

    order: Order | None = None
    split: str | None = None
    accelerators: int | None = None
    most: int | None = None
    processes: int | None = None
    seconds: float = 120.0
    chunk_rows: int | None = None
    connections: int = CONNECTIONS
    checkpoint: Path | None = None
    checkpoint_bytes: int | None = None
    seed: int = 0
    loader: type[Loader] | None = None


def probe(
    folder: Place,
    sheet: Sheet,
    settings: Settings,
    *,
    plan: str = "plan",
    tell: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Read a dataset as training would; whether its storage keeps up, as `report` documents.

    plan: its name.  tell: what is being done, once no mistake of the user's is left to find.
    ConfigError: no dataset is there, a folder cannot be written, or the storage failed.
    """
    shards, wanted = open_dataset(folder, settings.split), demand(sheet)
    try:
        with _files(wanted, settings) as files, Team() as team:
            tell(f"reading {shards.medium} for about {settings.seconds:g} s")
            probed = _Probe(team, shards, wanted, sheet, settings).run(files)
            return probe_json(probed, wanted, plan)
    except ProbeError as e:
        raise ConfigError(f"{folder}: {e}") from e


def _files(
    wanted: Demand, settings: Settings
) -> contextlib.AbstractContextManager[Sequence[CheckpointFile]]:
    """The checkpoint files of a node, none where none were asked for."""
    if settings.checkpoint is None:
        return contextlib.nullcontext(())
    return node_files(
        settings.checkpoint,
        wanted,
        ranks=min(wanted.per_node, _processes(settings)),
        n_bytes=settings.checkpoint_bytes,
        seed=settings.seed,
    )


def _processes(settings: Settings) -> int:
    return settings.processes or min(8, 2 * cores())


class _Probe:
    def __init__(
        self, team: Team, shards: Shards, wanted: Demand, sheet: Sheet, settings: Settings
    ) -> None:
        self._team, self._shards, self._wanted = team, shards, wanted
        self._settings = settings
        access = sheet.plan.training.access
        planned: Order = next((order for order in ORDERS if order == access), "sequential")
        self.order: Order = settings.order or planned
        if self.order == "mmap" and isinstance(shards.medium, Bucket):
            raise ConfigError(
                f"{shards.medium}: nothing of a bucket can be mapped; give another --order, as"
                " random, which asks for row after row"
            )
        self.need = settings.accelerators or wanted.per_node
        self.most = max(self.need, settings.most or wanted.accelerators)
        self.processes = _processes(settings)
        runs = sheet.plan.training.sequences_per_read
        self.chunk_rows = settings.chunk_rows or (runs if runs > 1 else 64)
        pool = POOL_BYTES // (8 * wanted.seq_len)
        self.buffer = min(sheet.plan.loaders.buffer_sequences, pool)
        self._seed = settings.seed
        self._is_async = sheet.plan.checkpoints.mode == "async"

    def run(self, files: Sequence[CheckpointFile]) -> Probed:
        """All phases, one after another.  files: checkpoints to be written, if any."""
        own = self._settings
        self._team.started(self.processes)
        begun = time.perf_counter()
        medium = self._shards.medium
        mount, seen = medium.mount(), medium.sight(self._shards.files)
        result = self._search(begun + SEARCH * own.seconds)
        result, runs = self._repeat(result, begun + (SEARCH + REPEATS) * own.seconds)
        return Probed(
            shards=self._shards,
            mount=mount,
            sight=seen,
            memory=memory_bytes(),
            read_ahead=medium.read_ahead(),
            order=self.order,
            need=self.need,
            most=self.most,
            processes=self.processes,
            seconds=own.seconds,
            connections=own.connections if isinstance(medium, Bucket) else None,
            result=result,
            step=self._wanted.step(max(result.supported, 1), self.processes),
            runs=tuple(runs),
            depths=self._depths(),
            checkpoints=self._checkpoints(files, result) if files else None,
            is_async=self._is_async,
        )

    def _search(self, until: float) -> SearchResult:
        run_s = SEARCH * self._settings.seconds / SEARCH_RUNS
        first = min(self._first(run_s), self.most)
        return search(
            lambda n: self._kept(n, run_s), need=self.need, first=first, most=self.most, until=until
        )

    def _kept(self, accelerators: int, run_s: float) -> float:
        """Utilisation, of the better of two runs where the first is too low: one may be chance."""
        kept = self._run(accelerators, run_s).kept
        return kept if kept >= LEAST_AU else max(kept, self._run(accelerators, run_s).kept)

    def _first(self, run_s: float) -> int:
        """So many accelerators that in a run each process comes back for more from storage."""
        a_read = self._shards.bytes / len(self._shards.batches) if self.order == "sequential" else 0
        one = self._wanted.bytes_per_s(1, self._shards.width)
        busy = math.ceil(LEAST_FETCHES * a_read * self.processes / (one * run_s))
        return max(self._wanted.least_accelerators(self.need), busy)

    def _repeat(self, result: SearchResult, until: float) -> tuple[SearchResult, list[Run]]:
        """Runs with as many as the search found, or with fewer where these do not keep up."""
        run_s = REPEATS * self._settings.seconds / (RUNS + 2)
        supported, runs = result.supported, list[Run]()
        while supported and len(runs) < RUNS and (time.perf_counter() < until or not runs):
            runs.append(self._run(supported, run_s))
            if len(runs) == RUNS and mean_kept(runs) < LEAST_AU:
                result = SearchResult(
                    supported=int(LOWERED * supported),
                    failing=supported,
                    ended="found",
                    tried=result.tried,
                )
                supported, runs = result.supported, []
        return result, runs

    def _run(self, accelerators: int, run_s: float) -> Run:
        """One run, with another seed than any before, on an emptied page cache."""
        orders, steps, most_s = self._training(accelerators, run_s)
        return self._team.train(orders, steps=steps, most_s=most_s)

    def _training(self, accelerators: int, run_s: float) -> tuple[list[Train], int, float]:
        """What stands for so many accelerators; steps, and seconds that they may take."""
        step = self._wanted.step(accelerators, self.processes)
        steps = max(LEAST_STEPS, round(run_s / step.compute_s))
        return self._orders(step, "full"), steps, 3 * (steps + 1) * step.compute_s

    def _depths(self) -> dict[Depth, tuple[Run, ...]]:
        """Reading as fast as it goes, to each depth in turn, there and back again and again, since
        storage that warms up favours none then, and one shot may be chance.
        """
        each = max(1, DEPTH_BATCH_BYTES // (self._wanted.seq_len * self._shards.width))
        step = Step(ranks=self.processes, sequences=each, compute_s=0.0)
        seconds = DEPTHS_SHARE * self._settings.seconds / (TURNS * len(DEPTHS))
        runs: dict[Depth, list[Run]] = {depth: [] for depth in DEPTHS}
        for depth in TURNS // 2 * (*DEPTHS, *reversed(DEPTHS)):
            orders = self._orders(step, depth)
            runs[depth].append(self._team.train(orders, steps=10**9, most_s=seconds))
        return {depth: tuple(of) for depth, of in runs.items()}

    def _orders(self, step: Step, depth: Depth) -> list[Train]:
        self._seed += 1
        self._shards.medium.evict(self._shards.files)
        readings = [
            Reading(
                shards=self._shards,
                order=self.order,
                depth=depth,
                rank=rank,
                ranks=step.ranks,
                seed=self._seed,
                sequences=step.sequences,
                seq_len=self._wanted.seq_len,
                chunk_rows=self.chunk_rows,
                buffer=self.buffer,
                connections=self._settings.connections,
            )
            for rank in range(step.ranks)
        ]
        far = isinstance(self._shards.medium, Bucket)
        loader = self._settings.loader or (ObjectLoader if far else Loader)
        return [Train(reading=r, compute_s=step.compute_s, loader=loader) for r in readings]

    def _checkpoints(self, files: Sequence[CheckpointFile], result: SearchResult) -> Checkpoints:
        """Alone, then while as many accelerators train as this host must feed, or can."""
        on = sight((), mount_of(files[0].folder.resolve()))
        alone = rates(self._team.write(files), files[0].n_bytes, seen=on.seen)
        both: tuple[Run, CheckpointRates] | None = None
        accelerators = min(self.need, result.supported)
        if accelerators:
            orders, steps, most_s = self._training(accelerators, 0.04 * self._settings.seconds)
            run, written = self._team.train_and_write(orders, files, steps=steps, most_s=most_s)
            both = run, rates(written, files[0].n_bytes, seen=on.seen)
        return Checkpoints(sight=on, alone=alone, both=both, accelerators=accelerators)
