"""The phases of preparing a corpus.

index? ─ pass 0 ─ what is corpus-wide ─ pass 1 ─ … ─ mix? ─ dataset files ─ dataset state

What is corpus-wide: see `pipelines.corpus.phases`. Mixing: `pipelines.tokens.mix.phases`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.core.digest import digest_of
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.corpus.passes import Pass, decontamination, passes
from tokenmill.pipelines.corpus.phases import corpus_wide
from tokenmill.pipelines.prepare.against import index_phase
from tokenmill.pipelines.prepare.shard import run_pass
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.receipt import Receipt, valid_receipt
from tokenmill.pipelines.runs.work import Done, Finished, Phase, Phases, Work, do_phase
from tokenmill.pipelines.tokens.dataset import (
    Layout,
    close_dataset,
    layout,
    write_file,
    write_state,
)
from tokenmill.pipelines.tokens.mix.phases import mix
from tokenmill.pipelines.tokens.shards import TokenShard, splits


@dataclass(kw_only=True)
class Prepared(Finished):
    """What a finished run has to show, and how its dataset is laid out."""

    layouts: tuple[Layout, ...] = ()


def phases(job: PrepareJob, plan: Plan) -> Phases[Prepared]:
    """Yield the phases of the job in order."""
    finished = Prepared(shards=plan.shards)
    upstream = {
        shard.key: digest_of([job.identity, repr(shard.to_json())]) for shard in plan.shards
    }
    shards = list(plan.shards)
    indexed = yield from _index(job, finished)
    for part in passes(job.recipe.steps):
        works = [
            Work(
                step=f"pass-{part.index}",
                key=shard.key,
                inputs=digest_of([upstream[shard.key], indexed]),
                call=run_pass,
                args=(part, shard),
                chain=shard.chain if part.index == 0 else "",
            )
            for shard in shards
        ]
        made = yield from do_phase(Phase(name=_pass_name(part), works=tuple(works)), finished)
        shards = [shard for shard in shards if shard.key in made]
        if part.after:
            found = yield from corpus_wide(job, part, [made[s.key] for s in shards], finished)
            upstream = {s.key: digest_of([made[s.key].digest, found]) for s in shards}
    yield from _lay_out(job, [made[s.key] for s in shards], finished)
    yield from do_phase(index_phase(job, finished), finished)
    return finished


def _index(job: PrepareJob, finished: Finished) -> Phases[str]:
    """Make the benchmarks ready that documents are freed from, if any; return a digest of them.

    Before all else: what is wrong with a benchmark is told before hours of reading.
    """
    step = decontamination(job.recipe.steps)
    works = (index_work(job, step),) if step else ()
    phase = Phase(name="index", works=works, whole=True)
    made = yield from do_phase(phase, finished)
    return digest_of(receipt.digest for receipt in made.values())


def index_work(job: PrepareJob, step: Decontaminate, built: BenchmarkIndex | None = None) -> Work:
    """The work of making the benchmarks ready.

    built: their index, if there is one already, which is then only saved.
    """
    args = (step, built)
    return Work(step="index", key="all", inputs=job.identity, call=index_benchmarks, args=args)


def index_benchmarks(job: PrepareJob, step: Decontaminate, built: BenchmarkIndex | None) -> Done:
    """Read the benchmarks and index their n-grams."""
    index = built or BenchmarkIndex.build(step)
    return Done(files=index.save(job.index), facts={"benchmarks": list(index.benchmarks)})


def _lay_out(job: PrepareJob, made: Sequence[Receipt], finished: Prepared) -> Phases[None]:
    """Write the dataset's files, and at last what makes them a dataset."""
    width = job.recipe.engine().dtype.itemsize
    inputs = digest_of([job.identity, *(receipt.digest for receipt in made)])
    if job.recipe.output.shuffle:
        mixed = yield from mix(job, made, finished)
        plans = tuple(layout(job, s, of.shards, width, of.mixed) for s, of in mixed.items())
    else:
        plans = tuple(layout(job, s, _token_shards(made, s), width) for s in splits(job))
    works = tuple(
        Work(
            step="dataset",
            key=f"{plan.split}-{number:05d}",
            inputs=inputs,
            call=write_file,
            args=(plan, number),
        )
        for plan in plans
        for number in range(plan.files)
    )
    if not all(valid_receipt(job.out, w.step, w.key, w.inputs) for w in works):
        close_dataset(job)  # a dataset that an earlier run completed must not open half replaced
    files = yield from do_phase(Phase(name="dataset", works=works, whole=True), finished)
    digests = tuple(
        tuple(files[f"{plan.split}-{n:05d}"].digest for n in range(plan.files)) for plan in plans
    )
    state = Work(
        step="state",
        key="all",
        inputs=digest_of([inputs, *(d for split in digests for d in split)]),
        call=write_state,
        args=(plans, digests),
    )
    yield from do_phase(Phase(name="state", works=(state,), whole=True), finished)
    finished.layouts = plans


def _token_shards(made: Iterable[Receipt], split: str) -> list[TokenShard]:
    return [
        TokenShard(
            r.key,
            m["tokens"][split],
            m["docs"][split],
            m["text_bytes"][split],
            m.get("sizes", m["tokens"])[split],
        )
        for r in made
        for m in [r.facts["measured"]]
    ]


def _pass_name(part: Pass) -> str:
    return "tokenize" if not part.after else "filter"
