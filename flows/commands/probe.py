"""`tokenmill probe`: does the storage of a dataset feed the planned cluster?"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from flows.cli import NO, OK
from flows.sheet_files import as_text, write_texts
from flows.show import as_json, console, table
from pipelines.errors import ConfigError
from pipelines.probe.document import (
    LIMITS,
    checkpoint_blocks,
    conditions,
    depths_table,
    probe_html,
    probe_markdown,
    reads_table,
    summary,
    verdicts,
    whole_job,
)
from pipelines.probe.fill import fill, remove_filler
from pipelines.probe.run import Settings, probe
from pipelines.probe.team import ProbeError
from sizing.document.section import Table
from sizing.inputs import size
from sizing.units import UnitError, parse_bytes


def run(args: argparse.Namespace) -> int:
    """Read a dataset as training would, and show whether its storage keeps up."""
    settings, folder = parse_settings(args), Path(args.dataset)
    sheet = size(args.plan)
    if args.fill is not None:
        width = int(sheet.sources[0].token_width_bytes.value)
        seq_len = sheet.plan.model.seq_len
        fill(folder, _bytes("--fill", args.fill), width=width, seq_len=seq_len)
    try:
        data = probe(folder, sheet, settings, plan=args.plan or "of defaults")
    except ProbeError as e:
        raise ConfigError(f"{folder}: {e}") from e
    finally:
        if args.remove:
            remove_filler(folder)
    written = [] if args.out is None else write_probe(Path(args.out), data)
    if args.json:
        as_json(data)
    else:
        show(data)
        where = "--out FOLDER writes probe.md, .html and .json"
        console().print("\n".join(map(str, written)) or where)
    return OK if data["verdict"]["outcome"] == "PASS" else NO


def parse_settings(args: argparse.Namespace) -> Settings:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    for name in ("accelerators", "most", "processes", "seconds", "chunk_rows"):
        value = getattr(args, name)
        if value is not None and not value > 0:
            raise ConfigError(f"--{name.replace('_', '-')} {value}: must be over 0")
    if args.remove and args.fill is None:
        raise ConfigError("--remove deletes what --fill wrote; give both")
    n_bytes = args.checkpoint_bytes
    return Settings(
        order=args.order,
        split=args.split,
        accelerators=args.accelerators,
        most=args.most,
        processes=args.processes,
        seconds=args.seconds,
        chunk_rows=args.chunk_rows,
        checkpoint=None if args.checkpoint is None else Path(args.checkpoint),
        checkpoint_bytes=None if n_bytes is None else _bytes("--checkpoint-bytes", n_bytes),
    )


def write_probe(folder: Path, data: Mapping[str, Any]) -> list[Path]:
    """Write probe.md, .html and .json, each whole or not at all.

    Raises:
        PlanError: the folder cannot be written.
    """
    texts = {
        "probe.md": probe_markdown(data),
        "probe.html": probe_html(data),
        "probe.json": as_text(data),
    }
    return write_texts(folder, texts)


def show(data: Mapping[str, Any]) -> None:
    """Print the verdict and what it rests on."""
    out = console()
    out.print(Text(summary(data)))
    blocks = [
        verdicts(data),
        reads_table(data),
        whole_job(data),
        depths_table(data),
        LIMITS[data["limit"]],
        *checkpoint_blocks(data),
        conditions(data),
    ]
    for block in blocks:
        out.print()
        out.print(_drawn(block) if isinstance(block, Table) else Text(block))
    out.print()


def _drawn(of: Table) -> Any:
    names = [f">{c.name}" if c.kind == "number" else c.name for c in of.columns]
    return table(of.caption, names, of.rows)


def _bytes(option: str, text: str) -> int:
    try:
        return parse_bytes(text)
    except UnitError as e:
        raise ConfigError(f"{option}: {e}") from e
