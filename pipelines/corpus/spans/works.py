"""The phases of finding what stands twice: each work is of a group of shards, or a range of hashes.

minimizers ── known ── ngrams ── equal ── runs
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tokenmill.pipelines.corpus.spans.minimizers import find_known, spill_minimizers
from tokenmill.pipelines.corpus.spans.ngrams import find_equal_ngrams, spill_ngrams
from tokenmill.pipelines.corpus.spans.runs import find_runs
from tokenmill.pipelines.corpus.spans.size import sized
from tokenmill.pipelines.runs.work import Done


class SpanPhase(NamedTuple):
    """name: for people.  step: for receipts.  works: what `call` is told in each, by key."""

    name: str
    step: str
    call: Callable[..., Done]
    works: dict[str, tuple[Any, ...]]


def span_phases(text_bytes: Sequence[int]) -> list[SpanPhase]:
    """text_bytes: of each shard, in order."""
    size, groups = sized(text_bytes)
    of_groups = {f"group-{group.number:05d}": (group, size) for group in groups}
    of_ranges = {f"range-{number:05d}": (number, size) for number in range(size.ranges)}
    return [
        SpanPhase("span minimizers", "spans-minimizers", spill_minimizers, of_groups),
        SpanPhase("spans known", "spans-known", find_known, of_ranges),
        SpanPhase("span n-grams", "spans-ngrams", spill_ngrams, of_groups),
        SpanPhase("spans equal", "spans-equal", find_equal_ngrams, of_ranges),
        SpanPhase("repeated spans", "repeated_spans", find_runs, of_groups),
    ]
