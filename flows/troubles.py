"""What failed in a run: told in lines, and by the exit code."""

from typing import Any

from flows.cli import OK, PARTIAL

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
