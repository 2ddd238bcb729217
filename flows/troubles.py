"""What failed in a run: told in lines, and by the exit code."""

from typing import Any

from tokenmill.flows.cli import OK, PARTIAL

MOST_FAILURES = 20


def exit_code(report: dict[str, Any]) -> int:
    """3 where an input or a shard failed or was damaged, else 0."""
    troubles = report["failed_inputs"], report["failed_shards"], report["damaged_shards"]
    return PARTIAL if any(troubles) else OK


def failures(report: dict[str, Any]) -> list[str]:
    """A line for each input or shard that failed."""
    lines = [f"failed input: {f['message']}" for f in report["failed_inputs"]]
    lines += [
        f"failed shard {f['key']} ({f['step']}): {f['error']}" for f in report["failed_shards"]
    ]
    return lines + [f"damaged shard {d['key']}: {d['message']}" for d in report["damaged_shards"]]


def bounded(lines: list[str], where: str) -> list[str]:
    """The first of the lines; where: what lists them all."""
    more = len(lines) - MOST_FAILURES
    return lines[:MOST_FAILURES] + ([f"… and {more} more, see {where}"] if more > 0 else [])


def ended_as(report: dict[str, Any], told: str, *, before: bool = False) -> str:
    """How a run ended, in one sentence. told: what it made.  before: it was found finished."""
    told = f"finished before, nothing to do: {told}" if before else told
    if exit_code(report) == OK:
        return told
    return f"{in_a_sentence(report)}; the rest is complete: {told}"


def in_a_sentence(report: dict[str, Any]) -> str:
    """How many inputs and shards failed or are damaged, and the first of them."""
    counted = []
    for kind in ("failed_inputs", "failed_shards", "damaged_shards"):
        if n := len(report[kind]):
            word, _, what = kind.partition("_")
            counted.append(f"{n:,} {what if n > 1 else what[:-1]} {word}")
    return f"{', '.join(counted)} ({failures(report)[0]})"
