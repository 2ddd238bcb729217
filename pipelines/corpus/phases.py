"""The phases of the corpus-wide steps behind a pass, each of independent works.

    rows ─┬─ exact:  keys, a group a work ── equal, a range a work ─────────── kept, a group a work
          ├─ near:   keys ── bands, a range of a band a work ── forests ── … ── near ── kept
          ├─ counting images or paragraphs:  units ── keys, a group a work ── counts, a range of a
          │                                  bucket a work ── found, a group a work
          └─ near images, n-grams that count for nothing: one work

No work is told of all shards: `rows` sets them down for the others. How many groups and ranges
there are follows from the documents alone, so that every runner does the same works.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.contamination.ignored import find_ignored
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.count import count_units, write_repeated
from tokenmill.pipelines.corpus.counted.spilled import spill_units
from tokenmill.pipelines.corpus.counted.steps import Counted, NearImages
from tokenmill.pipelines.corpus.counted.table import write_units
from tokenmill.pipelines.corpus.equal import find_equal, write_duplicates
from tokenmill.pipelines.corpus.near import join_forests, levels
from tokenmill.pipelines.corpus.near_images import find_near_images
from tokenmill.pipelines.corpus.pairs import find_edges
from tokenmill.pipelines.corpus.passes import DEDUP, Pass
from tokenmill.pipelines.corpus.spans.step import RepeatedSpans
from tokenmill.pipelines.corpus.spans.works import span_phases
from tokenmill.pipelines.corpus.spill import spill_keys
from tokenmill.pipelines.corpus.spill_rows import Size, write_rows
from tokenmill.pipelines.corpus.steps import NearDedup
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.receipt import Receipt, digest_of
from tokenmill.pipelines.runs.work import Done, Finished, Phase, Phases, Work, do_phase

Args: TypeAlias = tuple[Any, ...]

FINDERS: dict[type[Step], Callable[..., Done]] = {
    NearImages: find_near_images,
    Decontaminate: find_ignored,
}


def corpus_wide(
    job: PrepareJob, part: Pass, made: Sequence[Receipt], finished: Finished
) -> Phases[str]:
    """The corpus-wide steps behind a pass; return a digest of all they found.

    made: the receipts of the pass, in order of the shards.
    """
    found = digest_of([job.identity, *(receipt.digest for receipt in made)])
    chain = _Chain(part, finished, found)
    keys = tuple(receipt.key for receipt in made)
    docs = tuple(receipt.stats[-1][1].docs_out for receipt in made)
    rows = yield from chain.phase("rows", "rows", write_rows, {"all": (keys, docs)})
    size = Size(**rows["all"].facts)
    for step in part.after:
        name = step.name
        if isinstance(step, NearDedup):
            yield from _near(chain, step, size)
        elif isinstance(step, DEDUP):
            yield from _equal(chain, name, size)
        elif isinstance(step, RepeatedSpans):
            for phase in span_phases([receipt.stats[-1][1].bytes_out for receipt in made]):
                yield from chain.phase(*phase)
        elif isinstance(step, Counted):
            yield from _counted(chain, name)
        else:
            yield from chain.phase(name, name, FINDERS[type(step)], {"all": ()})
    return chain.inputs


class _Chain:
    """Phases that each read what the ones before wrote.

    inputs: digest of all that was written so far.
    """

    def __init__(self, part: Pass, finished: Finished, inputs: str) -> None:
        self._part, self._finished, self.inputs = part, finished, inputs

    def phase(
        self, name: str, step: str, call: Callable[..., Done], works: Mapping[str, Args]
    ) -> Phases[dict[str, Receipt]]:
        """Do works, by their keys, that are told the pass, its steps and what is given of each."""
        index, steps = self._part.index, self._part.after
        phase = Phase(
            name=name,
            works=tuple(
                Work(
                    step=f"{step}-{index}",
                    key=key,
                    inputs=self.inputs,
                    call=call,
                    args=(index, steps, *args),
                )
                for key, args in works.items()
            ),
            whole=True,
        )
        made = yield from do_phase(phase, self._finished)
        self.inputs = digest_of([self.inputs, *(receipt.digest for receipt in made.values())])
        return made


def _equal(chain: _Chain, name: str, size: Size) -> Phases[None]:
    """Documents of equal keys."""
    yield from chain.phase(f"{name} keys", f"keys-{name}", spill_keys, _groups(name, size.all))
    ranges = {f"range-{n:05d}": (name, n) for n in range(size.ranges)}
    yield from chain.phase(name, name, find_equal, ranges)
    yield from chain.phase(
        f"{name} kept", f"kept-{name}", write_duplicates, _groups(name, size.new)
    )


def _near(chain: _Chain, step: NearDedup, size: Size) -> Phases[None]:
    """Documents whose signatures are alike."""
    yield from chain.phase("near keys", "keys-near", spill_keys, _groups("near", size.all))
    bands = {
        f"band-{band:03d}-{n:05d}": (band, n)
        for band in range(step.lsh().bands)
        for n in range(size.ranges)
    }
    yield from chain.phase("bands", "bands", find_edges, bands)
    counts = levels(len(bands))
    for level, n_files in enumerate(counts[1:-1], 1):
        forests = {f"forest-{level}-{n:05d}": (level, n) for n in range(n_files)}
        yield from chain.phase("forests", "forests", join_forests, forests)
    yield from chain.phase("near", "near", join_forests, {"all": (len(counts) - 1, 0)})
    yield from chain.phase("near kept", "kept-near", write_duplicates, _groups("near", size.new))


def _counted(chain: _Chain, name: str) -> Phases[None]:
    """Images or paragraphs that stand too often."""
    told = yield from chain.phase(f"{name} units", f"units-{name}", write_units, {"all": ()})
    facts = told["all"].facts
    groups = {f"group-{n:05d}": (n,) for n in range(facts["groups"])}
    yield from chain.phase(f"{name} keys", f"keys-{name}", spill_units, groups)
    counts = {
        f"bucket-{bucket:05d}-{n:05d}": (bucket, n)
        for bucket, ranges in enumerate(facts["ranges"])
        for n in range(ranges)
    }
    yield from chain.phase(name, name, count_units, counts)
    groups = {f"group-{n:05d}": (n,) for n in range(facts["shard_groups"])}
    yield from chain.phase(f"{name} found", f"found-{name}", write_repeated, groups)


def _groups(name: str, groups: Iterable[int]) -> dict[str, Args]:
    return {f"group-{group:05d}": (name, group) for group in groups}
