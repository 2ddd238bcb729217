"""Passes: documents go through stages until a step needs the whole corpus; its phases follow.

    pass 0: read ── stages ── documents, key sidecar, sidecars ─┐    (10-filtered, 11-keys, …)
              corpus-wide: each step finds what leaves          │
    pass 1: documents ── what leaves ── stages ─────────────────┴─ tokenize    (90-tokens)

A recipe without a corpus-wide step is one pass. Each shard goes through a pass as one
piece of work, a batch at a time, so memory does not depend on its size.

No corpus-wide work is told of all shards: `rows` sets them down for the others. How many groups and
ranges there are follows from the documents alone, so that every runner does the same works.
"""

from collections.abc import Sequence

import pyarrow as pa

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.rows import write_rows
from tokenmill.pipelines.corpus.step import Chain, CorpusStep, Pass, Size, is_corpus_wide
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Course, Finished, Phases

TOKENIZE = "tokenize"  # the stage that every run ends with
PHASES_OF_STEP = 4  # of a corpus-wide step, about


def passes(steps: Sequence[Step]) -> list[Pass]:
    """Cut a recipe's steps into passes.

    A stage behind a corpus-wide step opens a new one, and so does any step behind one that cuts
    documents: it must see what is left of them.
    """
    groups: list[tuple[list[Step], list[CorpusStep]]] = [([], [])]
    for step in steps:
        stages, after = groups[-1]
        if after and (not is_corpus_wide(step) or after[-1].cuts):
            stages, after = [], []
            groups.append((stages, after))
        if is_corpus_wide(step):
            after.append(step)
        else:
            stages.append(step)
    if groups[-1][1]:
        groups.append(([], []))
    made: list[Pass] = []
    before: tuple[CorpusStep, ...] = ()
    for index, (stages, after) in enumerate(groups):
        n_keyed = sum(part.keyed is not None for part in made)
        keyed = n_keyed if any(step.has_keys for step in after) else None
        made.append(Pass(index, before, tuple(stages), tuple(after), keyed))
        before = tuple(after)
    return made


def corpus_steps(steps: Sequence[Step]) -> tuple[CorpusStep, ...]:
    """Those of the steps that need something of all documents."""
    return tuple(step for step in steps if is_corpus_wide(step))


def keyed_passes(steps: Sequence[Step]) -> list[Pass]:
    return [part for part in passes(steps) if part.keyed is not None]


def columns_after(steps: Sequence[Step], index: int) -> tuple[pa.Field, ...]:
    """The columns that documents have at the end of a pass for the steps up to there."""
    done = [s for part in passes(steps)[: index + 1] for s in (*part.before, *part.stages)]
    return tuple(field for step in done for field in step.annotations())


def stage_names(part: Pass) -> list[str]:
    """What a shard goes through in this pass, in order."""
    steps = [step.stage_name for step in (*part.before, *part.stages)]
    return (["read"] if part.index == 0 else []) + steps + ([] if part.after else [TOKENIZE])


def corpus_wide(
    run: RunFolder,
    part: Pass,
    made: Sequence[Receipt],
    finished: Finished,
    course: Course | None = None,
) -> Phases[str]:
    """The corpus-wide steps behind a pass, `made` its receipts; a digest of all they found."""
    course = course or Course()
    inputs = digest_of([run.identity, *(receipt.digest for receipt in made)])
    chain = Chain(part, made, finished, inputs)
    keys = tuple(receipt.key for receipt in made)
    docs = tuple(receipt.stats[-1][1].docs_out for receipt in made)
    setting_down = chain.phase("rows", "rows", write_rows, {"all": (keys, docs)})
    rows = yield from course.take("rows", setting_down)
    size = Size(**rows["all"].facts)
    for step in part.after:
        yield from course.take(step.name, step.phases(chain, size), PHASES_OF_STEP)
    return chain.inputs
