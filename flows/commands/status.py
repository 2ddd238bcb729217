"""`tokenmill status`: how far a run is, from what lies in its directory, whoever works on it."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tokenmill.flows.asked import whole
from tokenmill.flows.exits import NO, OK, PARTIAL
from tokenmill.flows.show import as_json, show, table
from tokenmill.flows.troubles import bounded, failures
from tokenmill.pipelines.core.places import below, place
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import RUNNING
from tokenmill.pipelines.runs.standing import LEAST_SPEED, Seen, in_words, look
from tokenmill.pipelines.storage.mirror import exists, viewed

QUIET_S = 600.0  # without a receipt, after which a run seems to have stopped
LONGEST = 3  # times the longest work of the phase that it may be quiet besides


def run(args: argparse.Namespace) -> int:
    """Show how far a run is; the exit code tells whether it has finished."""
    with viewed(place(args.run)) as out:
        manifest = prepared_run(out)
        seen, identity = look(out), manifest["identity"]
        if seen is None and "report" in manifest:
            told, status = ended(Report.read(manifest["report"], args.run)), manifest["status"]
            code = PARTIAL if told["failures"] else OK
        else:
            told, status = going(seen, identity["failed_inputs"]) if seen else {}, RUNNING
            code = NO
            if exists(out / "99-array" / "run.pickle"):
                from tokenmill.flows.pools.array import idle

                status = idle(whole(place(args.run))) or status
    told = {"run": args.run, "name": identity["recipe"]["name"], "status": status, **told}
    as_json(told) if args.json else show(*_blocks(told))
    return code


def going(seen: Seen, unread: Mapping[str, str]) -> dict[str, Any]:
    """Of a run that has not ended.  unread: causes by input file."""
    now = seen.standing
    inputs = [f"{path}: {cause}" for path, cause in unread.items()]
    works = [f"{step} {key}: {error}" for step, key, error in seen.failures]
    alive = seen.age_s < max(QUIET_S, LONGEST * seen.longest_s)
    return {
        "phase": now.phase,
        "works": now.works,
        "works_done": now.done,
        "share": now.share,
        "bytes_per_s": now.bytes_per_s(),
        "seconds_left": now.seconds_left() if alive else None,
        "to_come": [stage.name for stage in now.behind],
        **_documents(now.kept, now.removed, now.failed),
        "failures": inputs + works,
        "last_receipt_s_ago": seen.age_s,
        "seems_alive": alive,
    }


def ended(report: Report) -> dict[str, Any]:
    """Of a run that has."""
    failed: Counter[str] = sum((Counter(row.failed) for row in report.ledger), Counter())
    removed = sum(sum(row.removed.values()) for row in report.ledger)
    return {
        "share": 1.0,
        **_documents(report.ledger[-1].docs_out, removed, failed),
        "failures": failures(report),
        "seconds": report.seconds,
    }


def _documents(kept: int, removed: int, failed: Counter[str]) -> dict[str, Any]:
    return {"docs_kept": kept, "docs_removed": removed, "docs_failed": dict(failed)}


def _blocks(told: dict[str, Any]) -> Iterator[Any]:
    yield table(f"{told['name']}: {told['run']}", ("what", "now"), _rows(told))
    yield bounded(told.get("failures", []), "--json")
    if "seems_alive" not in told:
        if told["status"] == RUNNING:
            yield "no phase is at work: none has begun, or the report is being written"
        return
    quiet = f"the last receipt was written {in_words(told['last_receipt_s_ago'])} ago"
    if told["status"] != RUNNING:
        yield quiet
    elif told["seems_alive"]:
        yield f"{quiet}: it seems to be at work"
    else:
        yield f"{quiet}: it seems to have stopped; the same command continues it"


def _rows(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "status", told["status"]
    if told.get("phase"):
        yield "phase", f"{told['phase']}, {told['works_done']:,} of {told['works']:,} works"
    if told.get("share") is not None:
        yield "done of the run", f"{told['share']:.0%}"
    if (told.get("bytes_per_s") or 0.0) >= LEAST_SPEED:
        yield "rate", f"{told['bytes_per_s'] / 1e6:,.1f} MB/s of text"
    if told.get("seconds_left") is not None:
        yield "time left", f"about {in_words(told['seconds_left'])}"
    if told.get("to_come"):
        yield "to come", ", ".join(told["to_come"])
    for name in ("kept", "removed") if "docs_kept" in told else ():
        yield f"documents {name}", f"{told[f'docs_{name}']:,}"
    for cause, docs in told.get("docs_failed", {}).items():
        yield f"documents failed, {cause}", f"{docs:,}"
    if "seconds" in told:
        yield "report", below(place(told["run"]), "report.html")
