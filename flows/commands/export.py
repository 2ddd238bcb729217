"""`tokenmill export`: a finished run in, files of another loader out."""

import argparse
from collections.abc import Iterator
from typing import Any

from tokenmill.flows.exits import OK, PARTIAL
from tokenmill.flows.progress import watcher, watching
from tokenmill.flows.show import as_json, show, table
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import folder_here, place
from tokenmill.pipelines.runs.work import Phase
from tokenmill.pipelines.tokens.export.exported import asked
from tokenmill.pipelines.tokens.export.run import ExportReport, SplitReport, export
from tokenmill.sizing.units import UnitError, format_bytes, parse_bytes


def run(args: argparse.Namespace) -> int:
    """Export, and show what was written."""
    what = asked(
        args.format,
        shard_bytes=_size(args.shard_bytes),
        by_source=args.by_source,
        tokens_only=args.tokens_only,
    )
    out = folder_here(args.out).expanduser().absolute()
    with watching(quiet=args.json):
        report = export(place(args.run), out, what, _tell)
    as_json(report) if args.json else show(list(lines(report)))
    return PARTIAL if report["failed_shards"] else OK


def lines(report: ExportReport) -> Iterator[Any]:
    """What an export has."""
    rows = [
        (name, split["rows"], split["tokens"], split["files"], *_bytes(split))
        for name, split in report["splits"].items()
    ]
    columns = ("split", ">rows", ">tokens", ">files", ">bytes", ">for a byte of ids")
    yield table(f"tokens for {report['format']}", columns, rows)
    for name in report["without_tokens"]:
        yield f"split {name} has no tokens"
    if report["failed_shards"]:
        yield (
            f"{report['failed_shards']:,} shards of the run failed, their documents are missing;"
            " run prepare again to try them"
        )
    yield f"folder  {report['path']}"


def _bytes(split: SplitReport) -> tuple[str, str | None]:
    times = split["bytes_per_id_byte"]
    return format_bytes(split["bytes"]), None if times is None else f"{times:.3f}"


def _tell(done: int, total: int) -> None:
    """Have the progress shown."""
    if done == 0:
        watcher.get().start(Phase(name="export", works=()), total)
        return
    watcher.get().advance()
    if done == total:
        watcher.get().end()


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_bytes(text)
    except UnitError as e:
        raise ConfigError(f"--shard-bytes: {e}") from e
