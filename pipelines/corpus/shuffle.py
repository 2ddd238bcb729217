"""The documents of a pass as corpus-wide steps see them, and the memory they have for it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.keys import key_parameters
from tokenmill.pipelines.corpus.passes import duplicate_finders
from tokenmill.pipelines.corpus.spill_rows import Shards, read_shards
from tokenmill.pipelines.corpus.steps import NearDedup
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.storage.sidecar import Rows, corpus_rows, open_arrow
from tokenmill.sizing.units import format_memory


@dataclass(frozen=True)
class Corpus:
    """The documents of a pass, and the corpus-wide steps that follow it.

    Its shards are those that `write_rows` set down.
    """

    job: PrepareJob
    pass_index: int
    steps: tuple[Step, ...]

    @cached_property
    def shards(self) -> Shards:
        return read_shards(self.job.rows(self.pass_index))

    @property
    def n(self) -> int:
        """Documents, those of earlier runs included."""
        return int(self.shards.starts[-1])

    def shard_keys(self, first: int = 0, last: int | None = None) -> Iterator[str]:
        """Of this run's shards, those from the `first` to before the `last` of all shards."""
        for number in range(first, len(self.shards.keys) if last is None else last):
            if number >= self.shards.n_earlier:
                yield self.shards.keys[number].as_py()

    def rows(self) -> Rows:
        """Their key sidecars."""
        keys, n_earlier = self.shards.keys, self.shards.n_earlier
        earlier = self.job.earlier(self.pass_index) if n_earlier else ()

        def path_of(number: int) -> Path:
            if number < n_earlier:
                return earlier[number]
            return self.job.keys(self.pass_index, keys[number].as_py())

        parameters = key_parameters(duplicate_finders(self.steps))
        return corpus_rows(path_of, np.diff(self.shards.starts), parameters)

    def group(self, number: int) -> tuple[range, range]:
        """Shards of a group, and its rows."""
        first, last = self.shards.groups[number : number + 2].tolist()
        return range(first, last), range(*self.shards.starts[[first, last]].tolist())

    def duplicates(self, step: str, key: str) -> Path:
        return self.job.duplicates(self.pass_index, step, key)

    def step(self, name: str) -> Step:
        return next(s for s in self.steps if s.name == name)

    @property
    def near(self) -> NearDedup:
        return next(s for s in self.steps if isinstance(s, NearDedup))

    def gone_before(self, step: str, group: int) -> npt.NDArray[np.bool_]:
        """(n_rows,) documents of a group that a step standing before `step` removes already."""
        names = [s.name for s in self.steps]
        shards, rows = self.group(group)
        begins = max(rows.start, min(self.shards.earlier_rows, rows.stop)) - rows.start
        gone = np.zeros(len(rows), np.bool_)
        for before in names[: names.index(step)]:
            at = begins
            for key in self.shard_keys(shards.start, shards.stop):
                for batch in open_arrow(self.duplicates(before, key))[0]:
                    found = np.asarray(batch["duplicate_of"].is_valid())
                    gone[at : at + len(found)] |= found
                    at += len(found)
        return gone

    def at_once(self, n_works: int) -> int:
        """Of so many works of a phase those that one process may do at the same time."""
        return max(min(self.job.workers or os.cpu_count() or 1, n_works), 1)

    def memory_left(
        self,
        step: str,
        n: int,
        per_doc: int,
        *,
        least: int,
        at_once: int = 1,
        of: str = "documents",
    ) -> int:
        """Bytes of the budget that one of `at_once` works has besides `per_doc` for each document.

        of: what there are `n` of, if not documents.

        Raises:
            ConfigError: less than `least`.
        """
        budget = self.job.recipe.run.memory_budget
        left = budget // at_once - n * per_doc
        if left < least:
            fewer = ", use fewer workers" if at_once > 1 else ""
            raise ConfigError(
                f"{step}: needs {format_memory(at_once * (n * per_doc + least))} of memory for"
                f" {n:,} {of}, run.memory_budget is {format_memory(budget)};"
                f" raise it{fewer} or split the corpus"
            )
        return left
