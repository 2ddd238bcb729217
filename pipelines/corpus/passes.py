"""Passes: documents go through stages until a step needs the whole corpus.

    pass 0: read ── stages ── documents + keys + found ─┐    (10-filtered, 11-keys, 15-found, …)
              corpus-wide: exact, near, what is ignored │    (13-exact, 14-near, 16-ignored)
                           or stands there too often    │    (19-repeated)
    pass 1: documents ── drop, cut ── stages ───────────┴─ tokenize    (90-tokens)

A recipe without a corpus-wide step is one pass. Each shard goes through a pass as one
piece of work, a batch at a time, so memory does not depend on its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.steps import REPEATS, SAME, Repeats
from tokenmill.pipelines.corpus.spans.step import RepeatedSpans
from tokenmill.pipelines.corpus.steps import ExactDedup, NearDedup

# steps that need something of all documents at once: those that keep one of equal documents, and
# those that cut something out of documents
DEDUP = (ExactDedup, NearDedup, *SAME)
CUTTERS = (Decontaminate, RepeatedSpans, *REPEATS)
CORPUS_WIDE = (*DEDUP, *CUTTERS)


@dataclass(frozen=True)
class Pass:
    """One way of all shards through some stages.

    before: the corpus-wide steps whose findings are applied first.  stages: then run in order.
    after: corpus-wide steps that need keys of what is left; none in the last pass.
    """

    index: int
    before: tuple[Step, ...]
    stages: tuple[Step, ...]
    after: tuple[Step, ...]


def passes(steps: Sequence[Step]) -> list[Pass]:
    """Cut a recipe's steps into passes.

    A stage behind a corpus-wide step opens a new one, and so does any step behind one that cuts
    documents: it must see what is left of them.
    """
    groups: list[tuple[list[Step], list[Step]]] = [([], [])]
    for step in steps:
        is_corpus_wide = isinstance(step, CORPUS_WIDE)
        after = groups[-1][1]
        if after and (not is_corpus_wide or isinstance(after[-1], CUTTERS)):
            groups.append(([], []))
        groups[-1][is_corpus_wide].append(step)
    if groups[-1][1]:
        groups.append(([], []))
    made = []
    before: tuple[Step, ...] = ()
    for index, (stages, after) in enumerate(groups):
        made.append(Pass(index, before, tuple(stages), tuple(after)))
        before = tuple(after)
    return made


def decontamination(steps: Sequence[Step]) -> Decontaminate | None:
    """The step among these that frees documents from benchmarks; a recipe has one at most."""
    return next((step for step in steps if isinstance(step, Decontaminate)), None)


def repeats(steps: Sequence[Step]) -> Repeats | None:
    """The step among these that takes out what the corpus has too often; a pass has one at most."""
    return next((step for step in steps if isinstance(step, REPEATS)), None)


def repeated_spans(steps: Sequence[Step]) -> RepeatedSpans | None:
    """The step among these that takes out stretches of words; a recipe has one at most."""
    return next((step for step in steps if isinstance(step, RepeatedSpans)), None)


def duplicate_finders(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Those of the steps that find duplicates."""
    return tuple(step for step in steps if isinstance(step, DEDUP))


def keyed_passes(steps: Sequence[Step]) -> list[Pass]:
    """The passes that end in steps that find duplicates, and so make keys."""
    return [part for part in passes(steps) if duplicate_finders(part.after)]


def stage_names(part: Pass) -> list[str]:
    """What a shard goes through in this pass, in order."""
    steps = [step.name for step in (*part.before, *part.stages)]
    return (["read"] if part.index == 0 else []) + steps + ([] if part.after else ["tokenize"])
