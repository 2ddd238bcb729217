"""What failed in a run: told in lines, and by the exit code."""

from collections.abc import Iterable

from tokenmill.flows.exits import OK, PARTIAL
from tokenmill.pipelines.runs.finished import Failures
from tokenmill.sizing.document.section import count

MOST_FAILURES = 20
NOTHING = "nothing was made"


def exit_code(failed: Failures) -> int:
    """3 where an input or a shard failed or was damaged, or much of a source failed, else 0."""
    return OK if failed.none else PARTIAL


def failures(failed: Failures) -> list[str]:
    """A line for each shard that failed, and each cause that inputs failed for."""
    inputs = alike((f.path, f.message) for f in failed.failed_inputs)
    return [
        *(f"failed input: {told}" for told in inputs),
        *(f"failed shard {f.key} ({f.step}): {f.error}" for f in failed.failed_shards),
        *(f"damaged shard {d.key}: {d.message}" for d in failed.damaged_shards),
        *(f"source {s.source}: {s.message}" for s in failed.failed_sources),
    ]


def alike(unread: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each cause that files, (path, message) each, cannot be read for.

    >>> alike([("a", "a: no text"), ("b", "b: gone"), ("c", "c: no text")])
    ['a: no text (1 more file likewise)', 'b: gone']
    """
    of: dict[str, list[str]] = {}
    for path, message in unread:
        of.setdefault(message.removeprefix(f"{path}: "), []).append(message)
    return [
        first + (f" ({count(len(more), 'more file')} likewise)" if more else "")
        for first, *more in of.values()
    ]


def bounded(lines: list[str], where: str) -> list[str]:
    """The first of the lines; where: what lists them all."""
    more = len(lines) - MOST_FAILURES
    return lines[:MOST_FAILURES] + ([f"… and {more} more, see {where}"] if more > 0 else [])


def ended_as(failed: Failures, told: str, *, before: bool = False) -> str:
    """How a run ended, in one sentence. told: what it made.  before: it was found finished."""
    told = f"finished before, nothing to do: {told}" if before else told
    rest = told if told.endswith(NOTHING) else f"the rest is complete: {told}"
    return told if failed.none else f"{in_a_sentence(failed)}; {rest}"


def in_a_sentence(failed: Failures) -> str:
    """How many inputs and shards failed or are damaged, and the first of them."""
    counted = []
    for kind in Failures.model_fields:
        if n := len(getattr(failed, kind)):
            word, _, what = kind.partition("_")
            counted.append(f"{n:,} {what if n > 1 else what[:-1]} {word}")
    return f"{', '.join(counted)} ({failures(failed)[0]})"
