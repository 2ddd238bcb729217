"""The whole job as phases of independent works, whoever does them.

    index? ─ pass 0 ─ exact ─ bands ─ near ─ pass 1 ─ … ─ dataset files ─ dataset state

`phases` yields one phase at a time and is sent how its works ended. What a later phase
reads is named by the receipts of the earlier ones, so that a work is done again when,
and only when, something it reads has changed.
"""

import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pipelines.dataset import Layout, close_dataset, layout, write_file, write_state
from pipelines.decontaminate import Decontaminate
from pipelines.dedup_steps import ExactDedup, NearDedup
from pipelines.duplicates import find_exact, find_near
from pipelines.edges import find_edges
from pipelines.errors import ConfigError, LedgerError
from pipelines.job import Done, Job, Outcome, Phase, Work, do
from pipelines.manifest import HOPELESS, cannot_write
from pipelines.passes import Pass, passes, run_pass
from pipelines.receipt import Receipt, digest_of, valid_receipt
from pipelines.recipe import step_name
from pipelines.shard import Plan, SourceShard
from pipelines.token_shards import splits
from pipelines.token_span import TokenShard
from pipelines.tokenize import load_engine


@dataclass(frozen=True, kw_only=True)
class ShardFailure:
    """A shard that could not be worked on: in which step, and why."""

    step: str
    key: str
    error: str


@dataclass(kw_only=True)
class Finished:
    """All that a run has to show: the receipts in order, and the shards that failed."""

    receipts: list[Receipt] = field(default_factory=list)
    failures: list[ShardFailure] = field(default_factory=list)
    shards: tuple[SourceShard, ...] = ()
    layouts: tuple[Layout, ...] = ()

    def of(self, step: str) -> list[Receipt]:
        return [r for r in self.receipts if r.step == step]


Phases: TypeAlias = Generator[Phase, Sequence[Outcome], Finished]
Execute: TypeAlias = Callable[[Job, Phase], Sequence[Outcome]]


def drive(job: Job, plan: Plan, execute: Execute) -> Finished:
    """Run all phases; `execute` does the works of one phase and says how each ended."""
    running = phases(job, plan)
    phase = next(running)
    while True:
        outcomes = execute(job, phase)
        try:
            phase = running.send(outcomes)
        except StopIteration as end:
            finished: Finished = end.value
            return finished


def one_by_one(job: Job, phase: Phase) -> list[Outcome]:
    """The plainest executor: each work in turn, in this thread."""
    return [attempt(job, work) for work in phase.works]


def attempt(job: Job, work: Work) -> Outcome:
    """Do the work; a shard that fails is an outcome, what concerns the whole run is raised."""
    try:
        return do(job, work)
    except Exception as e:  # noqa: BLE001 - whatever one shard meets, the others go on
        stop_if_hopeless(job, e)
        return Outcome(work=work, error=e)


def stop_if_hopeless(job: Job, error: BaseException) -> None:
    """Raise what no other shard can escape: a full disk, a wrong recipe, a broken ledger."""
    if isinstance(error, ConfigError | LedgerError):
        raise error
    if isinstance(error, OSError) and error.errno in HOPELESS:
        raise cannot_write(job.out, error) from error


def phases(job: Job, plan: Plan) -> Phases:
    """Yield the phases of the job in order."""
    finished = Finished(shards=plan.shards)
    upstream = {
        shard.key: digest_of([job.identity, repr(shard.to_json())]) for shard in plan.shards
    }
    shards = list(plan.shards)
    for part in passes(job.recipe.steps):
        common = yield from _index(job, part, finished)
        works = [
            Work(
                step=f"pass-{part.index}",
                key=shard.key,
                inputs=digest_of([upstream[shard.key], common]),
                call=run_pass,
                args=(part, shard),
                chain=shard.paths[0] if part.index == 0 and shard.compression else "",
            )
            for shard in shards
        ]
        made = yield from _do(Phase(name=_pass_name(part), works=tuple(works)), finished)
        shards = [shard for shard in shards if shard.key in made]
        if part.after:
            found = yield from _corpus_wide(job, part, [made[s.key] for s in shards], finished)
            upstream = {s.key: digest_of([made[s.key].digest, found]) for s in shards}
    yield from _lay_out(job, [made[s.key] for s in shards], finished)
    return finished


def _do(
    phase: Phase, finished: Finished
) -> Generator[Phase, Sequence[Outcome], dict[str, Receipt]]:
    """Yield a phase, record how it ended, and return the receipts by key."""
    made: dict[str, Receipt] = {}
    for outcome in (yield phase) if phase.works else ():
        if outcome.receipt is not None:
            made[outcome.work.key] = outcome.receipt
        elif phase.whole and outcome.error is not None:
            raise outcome.error
        else:
            finished.failures.append(
                ShardFailure(
                    step=outcome.work.step, key=outcome.work.key, error=_line(outcome.error)
                )
            )
    finished.receipts += [made[w.key] for w in phase.works if w.key in made]
    return made


def _index(job: Job, part: Pass, finished: Finished) -> Generator[Phase, Sequence[Outcome], str]:
    """Prepare what stages of this pass look things up in; return a digest of it."""
    works = tuple(
        Work(
            step="index",
            key=step_name(step),
            inputs=digest_of([job.identity, step.model_dump_json()]),
            call=prepare_stage,
            args=(step,),
        )
        for step in part.stages
        if isinstance(step, Decontaminate)
    )
    made = yield from _do(Phase(name="index", works=works, whole=True), finished)
    return digest_of(receipt.digest for receipt in made.values())


def prepare_stage(job: Job, step: Decontaminate) -> Done:
    """Build the index of a stage that needs one."""
    path = job.index(step_name(step))
    step.prepare(path)
    return Done(files=[path], facts={"benchmarks": list(step.bind(path).benchmarks)})


def _corpus_wide(
    job: Job, part: Pass, made: Sequence[Receipt], finished: Finished
) -> Generator[Phase, Sequence[Outcome], str]:
    """The corpus-wide steps behind a pass; return a digest of all they found."""
    keys = tuple(receipt.key for receipt in made)
    inputs = digest_of([job.identity, *(receipt.digest for receipt in made)])
    args = (part.index, part.after, keys)
    for step in part.after:
        name = f"{step_name(step)}-{part.index}"
        if isinstance(step, ExactDedup):
            works = [Work(step=name, key="all", inputs=inputs, call=find_exact, args=args)]
        elif isinstance(step, NearDedup):
            bands = [
                Work(
                    step=f"bands-{part.index}",
                    key=f"band-{band:02d}",
                    inputs=inputs,
                    call=find_edges,
                    args=(*args, band),
                )
                for band in range(step.lsh().bands)
            ]
            found = yield from _do(Phase(name="bands", works=tuple(bands), whole=True), finished)
            inputs = digest_of([inputs, *(r.digest for r in found.values())])
            works = [Work(step=name, key="all", inputs=inputs, call=find_near, args=args)]
        phase = Phase(name=step_name(step), works=tuple(works), whole=True)
        found = yield from _do(phase, finished)
        inputs = digest_of([inputs, *(r.digest for r in found.values())])
    return inputs


def _lay_out(
    job: Job, made: Sequence[Receipt], finished: Finished
) -> Generator[Phase, Sequence[Outcome], None]:
    """Write the dataset's files, and at last what makes them a dataset."""
    width = load_engine(job.recipe.tokenizer, job.recipe.output.dtype).dtype.itemsize
    plans = tuple(layout(job, split, _token_shards(made, split), width) for split in splits(job))
    inputs = digest_of([job.identity, *(receipt.digest for receipt in made)])
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
    files = yield from _do(Phase(name="dataset", works=works, whole=True), finished)
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
    yield from _do(Phase(name="state", works=(state,), whole=True), finished)
    finished.layouts = plans


def _token_shards(made: Iterable[Receipt], split: str) -> list[TokenShard]:
    return [
        TokenShard(r.key, m["tokens"][split], m["docs"][split], m["text_bytes"][split])
        for r in made
        for m in [r.facts["measured"]]
    ]


def _pass_name(part: Pass) -> str:
    return "tokenize" if not part.after else "filter"


def _line(error: BaseException | None) -> str:
    return "".join(traceback.format_exception_only(error)).strip().replace("\n", " ")
