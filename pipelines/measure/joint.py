"""The whole prediction: documents, bytes and tokens after each step, CPU hours, wall time.

    all inputs ── step ── step ── … ── tokens
                   │ fractions kept (local, or unique by probes), bytes stored, seconds

Every quantity is a product of draws that belong together, so that tokens, bytes and hours of one
draw are of one corpus that the samples allow, and their ratios are no wider than they must be.

Wall time of shards on cores: list scheduling, each shard to the core that is free first.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.sizing.corpus import DATASET, INPUTS, CorpusMeasurement, Estimate


def makespan(seconds: Sequence[float], cores: int) -> float:
    """When the last shard is done, started in the order given (Graham 1966).

    At least total / cores and the longest; at most total / cores + (1 - 1 / cores) * longest.

    >>> makespan([3.0, 1.0, 1.0, 1.0], cores=2)
    3.0
    """
    if cores < 1:
        raise ConfigError(f"{cores} cores do no work; give 1 or more")
    free = [0.0] * min(cores, max(len(seconds), 1))
    for s in seconds:
        heapq.heapreplace(free, free[0] + s)
    return max(free)


def stretch(shard_bytes: Sequence[float], cores: int) -> float:
    """Times total / cores that shards take whose seconds are as their bytes; 1 at best.

    Grows with the bytes of the largest shard, to `cores` where one shard is all there is.
    """
    total = sum(shard_bytes)
    return makespan(shard_bytes, cores) * cores / total if total else 1.0


HOUR_S = 3600
LEAST_S = 60.0  # CPU of a run whose time is told: of less, most is starting up, up to 9 times off


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one step of a recipe does, per document and byte that reaches it.

    kept_docs_frac, kept_text_frac: of its documents and of their text bytes that go on; None for
        all. Of a step that removes duplicates: the unique fraction, and that of bytes.
    cpu_s: seconds of one core per text byte that reaches it, in shards side by side.
    serial_s: seconds of what runs once, as clustering, while all else waits.
    """

    name: str
    kept_docs_frac: Drawn | None = None
    kept_text_frac: Drawn | None = None
    cpu_s: Drawn | None = None
    serial_s: Drawn | None = None


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a run of a recipe will give; None where it was not estimated.

    docs, text_bytes: by step, what goes on from it; INPUTS is what was read.
    stored_bytes: by step that writes; DATASET is what training reads, INPUTS the files read.
    kept_frac: of documents, by step that removes some.
    """

    docs: Mapping[str, Drawn]
    text_bytes: Mapping[str, Drawn]
    stored_bytes: Mapping[str, Drawn]
    kept_frac: Mapping[str, Drawn]
    tokens: Drawn
    text_bytes_per_token: Drawn
    stored_bytes_per_token: Drawn
    cores: int
    cpu_hours: Drawn
    wall_hours: Drawn

    def estimate(
        self,
        *,
        name: str,
        recipe: str,
        sample: str,
        token_width_bytes: Literal[2, 4],
        unique_frac: Drawn | None = None,
        clustering_memory_bytes: Drawn | None = None,
        files: Mapping[str, Drawn] | None = None,
    ) -> Estimate:
        """As estimate.json has it.

        name: of the corpus.  recipe: its digest.  sample: what was read, in words.
        """
        last = list(self.docs)[-1]
        corpus = CorpusMeasurement(
            name=name,
            docs=self.docs[last].figure(),
            tokens=self.tokens.figure(),
            text_bytes=self.text_bytes[last].figure(),
            stored_bytes={step: drawn.figure() for step, drawn in self.stored_bytes.items()},
            text_bytes_per_token=self.text_bytes_per_token.figure(),
            stored_bytes_per_token=self.stored_bytes_per_token.figure(),
            token_width_bytes=token_width_bytes,
            measured=True,
            files={step: drawn.figure() for step, drawn in (files or {}).items()},
            sample=sample,
        )
        memory = clustering_memory_bytes
        written = {folder: s for folder, s in self.stored_bytes.items() if folder != INPUTS}
        # all that was written when a folder is full
        full = dict(zip(written, accumulate(written.values()), strict=True))
        is_timed = self.cpu_hours.value * HOUR_S >= LEAST_S
        return Estimate(
            estimate="1",
            recipe=recipe,
            corpus=corpus,
            docs_in=self.docs[INPUTS].figure(),
            text_bytes_in=self.text_bytes[INPUTS].figure(),
            kept_frac={step: drawn.figure() for step, drawn in self.kept_frac.items()},
            unique_frac=None if unique_frac is None else unique_frac.figure(),
            disk_bytes={folder: size.figure() for folder, size in full.items()},
            clustering_memory_bytes=None if memory is None else memory.figure(),
            cores=self.cores,
            cpu_hours=self.cpu_hours.figure() if is_timed else None,
            wall_hours=self.wall_hours.figure() if is_timed else None,
        )


def predict(
    steps: Sequence[Step],
    *,
    shard_bytes: Sequence[float],
    docs: Drawn,
    text_bytes: Drawn,
    text_bytes_per_token: Drawn,
    stored_bytes_per_token: Drawn,
    cores: int,
) -> Prediction:
    """What the steps make of documents and text, and how long they take.

        after a step = before it * fraction kept
        tokens = text bytes after all / text bytes per token
        wall = sum over steps of (CPU seconds / cores * stretch + serial seconds)

    shard_bytes: of each shard of the inputs, known; their list scheduling gives the stretch, and
        each step is taken to wait for the last shard of the one before.
    docs, text_bytes: of all inputs.
    stored_bytes_per_token: of the dataset.
    ConfigError: two steps have one name, or there are no shards.
    """
    names = _names(steps)
    if not shard_bytes:
        raise ConfigError("there are no inputs; nothing to predict")
    docs_after = _passed_on(docs, [(s.name, s.kept_docs_frac) for s in steps])
    text_after = _passed_on(text_bytes, [(s.name, s.kept_text_frac) for s in steps])
    tokens = text_after[names[-1]] / text_bytes_per_token
    none = exact(0, len(docs.draws))
    side_by_side = none
    for step, reached in zip(steps, names[:-1], strict=True):
        if step.cpu_s is not None:
            side_by_side += step.cpu_s * text_after[reached]
    once = sum((s.serial_s for s in steps if s.serial_s is not None), none)
    return Prediction(
        docs=docs_after,
        text_bytes=text_after,
        stored_bytes={
            INPUTS: none + float(sum(shard_bytes)),
            DATASET: tokens * stored_bytes_per_token,
        },
        kept_frac={s.name: s.kept_docs_frac for s in steps if s.kept_docs_frac is not None},
        tokens=tokens,
        text_bytes_per_token=text_bytes_per_token,
        stored_bytes_per_token=stored_bytes_per_token,
        cores=cores,
        cpu_hours=(side_by_side + once) * (1 / HOUR_S),
        wall_hours=(side_by_side * (stretch(shard_bytes, cores) / cores) + once) * (1 / HOUR_S),
    )


def _names(steps: Sequence[Step]) -> list[str]:
    """Of the inputs and the steps."""
    names = [INPUTS, *(step.name for step in steps)]
    if len({*names, DATASET}) < len(names) + 1:
        raise ConfigError(f"steps {names[1:]} need names of their own, not {INPUTS!r}, {DATASET!r}")
    return names


def _passed_on(start: Drawn, steps: Sequence[tuple[str, Drawn | None]]) -> dict[str, Drawn]:
    """What goes on from each step, and what there is before the first."""
    after = {INPUTS: start}
    for name, kept in steps:
        start = start if kept is None else start * kept
        after[name] = start
    return after
