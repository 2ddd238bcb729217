"""The phases of preparing a corpus.

set-up ─ pass 0 ─ what is corpus-wide ─ pass 1 ─ … ─ mix? ─ dataset files ─ dataset state

What is corpus-wide: see `pipelines.corpus.passes`. Mixing: `pipelines.tokens.mix.phases`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.shard import Plan, SourceShard
from tokenmill.pipelines.corpus.copies import counted
from tokenmill.pipelines.corpus.passes import corpus_steps, corpus_wide, passes
from tokenmill.pipelines.corpus.shown import shown
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.prepare.against import index_phase
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.prepare.shard import run_pass
from tokenmill.pipelines.runs.folder import KEYS, SPOOL
from tokenmill.pipelines.runs.packs import find_receipts
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import (
    Coming,
    Course,
    Finished,
    Phase,
    Phases,
    Spends,
    Work,
    do_one,
    do_phase,
)
from tokenmill.pipelines.tokens import dataset
from tokenmill.pipelines.tokens.mix.phases import mix
from tokenmill.pipelines.tokens.shards import TokenShard, splits


@dataclass(kw_only=True)
class Prepared(Finished):
    """What a finished run has to show, and how its dataset is laid out."""

    layouts: tuple[dataset.Layout, ...] = ()


# CPU seconds a GB of text, to one digit, as `make bench` has them: what is told of the share of a
# run that is done, and of the time it still takes, rests on these alone
READ, AGAIN, STAGE, KEYED, TOKENIZE = 3.0, 1.0, 5.0, 8.0, 15.0
CORPUS_WIDE, MIX, DATASET, TEXT = 2.0, 4.0, 1.0, 5.0


def course_of(recipe: Recipe) -> Course:
    """The stages of a run of the recipe."""
    coming = []
    for part in passes(recipe.steps):
        encoded = TOKENIZE if recipe.tokenizer else 0.0
        keyed = KEYED * len(part.finders) if part.after else encoded
        read = AGAIN if part.index else READ
        coming.append(Coming(_pass_name(recipe, part), read + STAGE * len(part.stages) + keyed))
        coming += [Coming(step.name, CORPUS_WIDE) for step in part.after]
    if recipe.output.shuffle:
        coming.append(Coming("mix", MIX))
    files = (DATASET if recipe.tokenizer else 0.0) + (TEXT if recipe.output.text else 0.0)
    return Course([*coming, Coming(recipe.tokenizing().made, files)])


def _spent_by(job: PrepareJob, part: Pass) -> Spends | None:
    """What the last pass is the last to read: documents before it, their keys and sidecars.

    What stands before other passes is looked at once more before the last one.
    """
    if part.index == 0 or part.after or job.recipe.run.keep_intermediates:
        return None
    keys = (KEYS.named(part.index - 1),) if job.recipe.run.keep_index else ()
    return Spends(f"pass-{part.index - 1}", (SPOOL.name, *keys))


def _pass_name(recipe: Recipe, part: Pass) -> str:
    return "filter" if part.after or recipe.tokenizer is None else "tokenize"


def phases(job: PrepareJob, plan: Plan) -> Phases[Prepared]:
    """Yield the phases of the job in order."""
    finished, course = Prepared(shards=plan.shards), course_of(job.recipe)
    upstream = {
        shard.key: digest_of([job.identity, repr(shard.to_json())]) for shard in plan.shards
    }
    shards = list(plan.shards)
    ready = yield from set_up(job, finished)
    parts = passes(job.recipe.steps)
    for part in parts:
        reading = do_phase(_reading(job, part, shards, upstream, ready), finished)
        receipts = yield from course.take(_pass_name(job.recipe, part), reading)
        shards = [shard for shard in shards if shard.key in receipts]
        if part.after:
            made = [receipts[s.key] for s in shards]
            digest = yield from corpus_wide(job, part, made, finished, course)
            if part is parts[-2]:  # who stays is known, but for what further stages take
                yield from course.take("shown", shown(job, parts[:-1], finished, digest))
                counting = counted(parts[:-1], finished, digest)
                digest = yield from course.take("copies", counting)
            upstream = {s.key: digest_of([receipts[s.key].digest, digest]) for s in shards}
    yield from _lay_out(job, [receipts[s.key] for s in shards], finished, course)
    yield from do_phase(index_phase(job, finished), finished)
    return finished


def _reading(
    job: PrepareJob, part: Pass, shards: list[SourceShard], upstream: dict[str, str], ready: str
) -> Phase[Any]:
    """A pass over the shards.

    upstream: digest of what is read of each, taken out: of many shards it is much to remember.
    """
    works = tuple(
        Work(
            step=f"pass-{part.index}",
            key=shard.key,
            inputs=digest_of([upstream.pop(shard.key), ready]),
            call=run_pass,
            args=(part, shard),
            chain=shard.chain if part.index == 0 else "",
        )
        for shard in shards
    )
    return Phase(name=_pass_name(job.recipe, part), works=works, spends=_spent_by(job, part))


def set_up(job: PrepareJob, finished: Finished) -> Phases[str]:
    """Make ready what corpus-wide steps need before the first pass; return a digest of it.

    Before all else: what is wrong with a benchmark is told before hours of reading.
    """
    works = [step.setup(job) for step in corpus_steps(job.recipe.steps)]
    phase = Phase(name="index", works=tuple(w for w in works if w is not None), whole=True)
    receipts = yield from do_phase(phase, finished)
    return digest_of(receipt.digest for receipt in receipts.values())


def _lay_out(
    job: PrepareJob, receipts: Sequence[Receipt], finished: Prepared, course: Course
) -> Phases[None]:
    """Write the dataset's files, and at last what makes them a dataset."""
    inputs, made = digest_of([job.identity, *(r.digest for r in receipts)]), job.tokenizing.made
    if job.recipe.output.shuffle:
        mixed = yield from course.take("mix", mix(job, receipts, finished), 2)
        plans = tuple(dataset.layout(job, of.split, shards, of) for shards, of in mixed)
    else:
        plans = tuple(dataset.layout(job, s, _token_shards(receipts, s)) for s in splits(job))
    works = tuple(
        Work(
            step=made,
            key=f"{plan.split}-{number:05d}",
            inputs=inputs,
            facts=dataset.FileFacts,
            call=dataset.write_file,
            args=(plan, number),
        )
        for plan in plans
        for number in range(plan.files)
    )
    if len(find_receipts(job.out, works).receipts) < len(works):
        # a dataset that an earlier run completed must not open half replaced
        dataset.close_dataset(job)
    phase = Phase(name=made, works=works, whole=True)
    files = yield from course.take(made, do_phase(phase, finished))
    digests = tuple(
        tuple(files[f"{plan.split}-{n:05d}"].digest for n in range(plan.files)) for plan in plans
    )
    state = Work(
        step="state",
        key="all",
        inputs=digest_of([inputs, *(d for split in digests for d in split)]),
        call=dataset.write_state,
        args=(plans, digests, sum(receipt.facts.absent for receipt in files.values())),
    )
    yield from do_one(state, finished)
    finished.layouts = plans


def _token_shards(receipts: Iterable[Receipt], split: str) -> list[TokenShard]:
    shards = []
    for receipt in receipts:  # facts of one at a time: they are packed, but while they are read
        key, of = receipt.key, receipt.facts["measured"]
        tokens = of["tokens"][split] if "tokens" in of else 0
        docs, text_bytes = of["docs"][split], of["text_bytes"][split]
        size = of["sizes"][split] if "sizes" in of else tokens if "tokens" in of else text_bytes
        shards.append(TokenShard(key, tokens, docs, text_bytes, size))
    return shards
