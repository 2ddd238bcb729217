"""`tokenmill export`: a finished run in, files of another loader out."""

import argparse
from collections.abc import Iterator
from typing import Any, get_args

from tokenmill.flows.commands.shared import bytes_of
from tokenmill.flows.exits import OK, PARTIAL
from tokenmill.flows.progress import watcher, watching
from tokenmill.flows.show import as_json, show, table
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import folder_here, place
from tokenmill.pipelines.runs.work import Phase
from tokenmill.pipelines.tokens.export.exported import asked
from tokenmill.pipelines.tokens.export.run import ExportReport, SplitReport, export
from tokenmill.pipelines.tokens.export.text import TextForm, TextReport, export_text
from tokenmill.sizing.units import format_bytes


def run(args: argparse.Namespace) -> int:
    """Export, and show what was written."""
    out = folder_here(args.out).expanduser().absolute()
    if args.text or args.format == "jsonl":
        form = _text_form(args)
        with watching(quiet=args.json):
            texts = export_text(place(args.run), out, form, _tell)
        as_json(texts) if args.json else show(*text_lines(texts))
        return OK
    size = args.shard_bytes
    what = asked(
        args.format,
        shard_bytes=None if size is None else bytes_of("--shard-bytes", size),
        by_source=args.by_source,
        tokens_only=args.tokens_only,
    )
    with watching(quiet=args.json):
        report = export(place(args.run), out, what, _tell)
    as_json(report) if args.json else show(list(lines(report)))
    return PARTIAL if report["failed_shards"] else OK


def _text_form(args: argparse.Namespace) -> TextForm:
    if args.format not in get_args(TextForm):
        raise ConfigError(f"--text: {args.format} holds ids; take --format parquet or jsonl")
    if not args.text:
        raise ConfigError("--format jsonl is of documents; add --text")
    for name in ("shard_bytes", "by_source", "tokens_only"):
        if getattr(args, name) not in (None, False):
            raise ConfigError(f"--{name.replace('_', '-')} is not for --text; leave it out")
    form: TextForm = args.format
    return form


def text_lines(report: TextReport) -> Iterator[str]:
    """What an export of text has, and whether it is what went to the tokenizer."""
    size = format_bytes(report["bytes"])
    yield f"{report['docs']:,} documents, {format_bytes(report['text_bytes'])} of text, in {size}"
    if report["made_of"] == "text":
        yield "as the run kept it, byte for byte"
    elif report["exact"] is None:
        yield (
            "decoded from ids of a tokenizer that changes texts or spaces before it encodes: not"
            " byte for byte what was encoded; output.text keeps that"
        )
    else:
        but = "" if report["exact"] else ", but for those that make other ids"
        yield f"decoded from ids: byte for byte what was encoded{but}"
    if report["other_ids"]:
        first = ", ".join(report["first_other_ids"])
        yield f"{report['other_ids']:,} make other ids (same_ids is false): {first}"
    yield f"folder  {report['path']}"


def lines(report: ExportReport) -> Iterator[Any]:
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
