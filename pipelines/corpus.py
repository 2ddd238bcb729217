"""The documents of a pass as corpus-wide steps see them, and the memory they have for it."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dedup.partition import MAX_ROWS
from pipelines.config import Config
from pipelines.dedup_steps import NearDedup
from pipelines.errors import ConfigError
from pipelines.keys import key_parameters
from pipelines.prepare_job import PrepareJob
from pipelines.recipe import step_name
from pipelines.sidecar import Rows, corpus_rows, open_arrow
from sizing.units import format_memory


class Corpus(NamedTuple):
    """The documents of a pass, shard by shard, and the corpus-wide steps that follow it."""

    job: PrepareJob
    pass_index: int
    steps: tuple[Config, ...]
    shards: tuple[str, ...]

    def rows(self) -> Rows:
        """Their key sidecars.

        Raises:
            ConfigError: there are too many documents to number.
        """
        paths = [self.job.keys(self.pass_index, key) for key in self.shards]
        rows = corpus_rows(paths, key_parameters(self.steps))
        if rows.n >= MAX_ROWS:
            raise ConfigError(
                f"{rows.n:,} documents are more than one corpus can have, {MAX_ROWS - 1:,};"
                " split the corpus"
            )
        return rows

    def duplicates(self, step: str, key: str) -> Path:
        return self.job.duplicates(self.pass_index, step, key)

    @property
    def near(self) -> NearDedup:
        return next(s for s in self.steps if isinstance(s, NearDedup))

    def gone_before(self, step: str, n: int) -> npt.NDArray[np.bool_]:
        """(n,) documents that a corpus-wide step standing before `step` removes already."""
        names = [step_name(s) for s in self.steps]
        gone = np.zeros(n, np.bool_)
        for before in names[: names.index(step)]:
            at = 0
            for key in self.shards:
                for batch in open_arrow(self.duplicates(before, key))[0]:
                    found = np.asarray(batch["duplicate_of"].is_valid())
                    gone[at : at + len(found)] |= found
                    at += len(found)
        return gone

    def bands_at_once(self) -> int:
        """Bands that workers may search at the same time."""
        workers = self.job.workers or os.cpu_count() or 1
        return min(workers, self.near.lsh().bands)

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
