"""`tokenmill probe`: does the storage of a dataset feed the planned cluster?"""

import argparse
import contextlib
import math
import sys
from typing import Any

from tokenmill.flows.commands.shared import bytes_of
from tokenmill.flows.exits import NO, OK
from tokenmill.flows.sheets import write_texts
from tokenmill.flows.show import as_json, show
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, folder_here, place
from tokenmill.pipelines.probe.checkpoints import check_writable
from tokenmill.pipelines.probe.document import probe_files, sections
from tokenmill.pipelines.probe.run import Settings, probe
from tokenmill.pipelines.probe.shards import silent
from tokenmill.sizing.document.section import Table
from tokenmill.sizing.requirements import size
from tokenmill.sizing.sheet import Sheet

NUMBERS = ("accelerators", "most", "processes", "seconds", "chunk_rows", "connections")


def run(args: argparse.Namespace) -> int:
    """Read a dataset as training would, and show whether its storage keeps up."""
    settings, folder = parse_settings(args), place(args.dataset)
    sheet = size(args.plan)
    out = None if args.out is None else folder_here(args.out)
    if out is not None and check_writable(out, "cannot write there", " --out"):
        with contextlib.suppress(OSError):  # something else may lie there by now
            out.rmdir()  # until there is something to write
    try:
        data = _probed(args, folder, sheet, settings)
    except KeyboardInterrupt:
        from tokenmill.pipelines.probe.fill import is_filler

        stays = args.fill is not None and is_filler(folder)
        raise KeyboardInterrupt(
            "what --fill wrote stays, the same command reads it" if stays else "nothing is left"
        ) from None
    written = [] if out is None else write_texts(out, probe_files(data))
    if args.json:
        as_json(data)
    else:
        where = "--out FOLDER writes probe.md, .html and .json"
        page = (block for section in sections(data) for block in section.blocks)
        shown = (b for b in page if isinstance(b, str) or (isinstance(b, Table) and not b.folded))
        show(*shown, "\n".join(map(str, written)) or where)
    return OK if data["verdict"]["outcome"] == "PASS" else NO


def _probed(
    args: argparse.Namespace, folder: Place, sheet: Sheet, settings: Settings
) -> dict[str, Any]:
    """Fill the folder if that is asked for, and probe it."""
    from tokenmill.pipelines.probe.fill import fill, remove_filler

    tell = silent if args.json else _tell
    if args.fill is not None:
        width = int(sheet.sources[0].token_width_bytes.value)
        seq_len = sheet.plan.model.seq_len
        n_bytes = bytes_of("--fill", args.fill)
        fill(folder, n_bytes, width=width, seq_len=seq_len, tell=tell)
    try:
        return probe(folder, sheet, settings, plan=args.plan or "of defaults", tell=tell)
    finally:
        if args.remove:
            remove_filler(folder)


def _tell(what: str) -> None:
    """What is being done, on stderr."""
    sys.stderr.write(f"{what} …\n")


def parse_settings(args: argparse.Namespace) -> Settings:
    """What the command line asks for; ConfigError names the option and the way out."""
    for name in NUMBERS:
        value = getattr(args, name)
        if value is not None and not 0 < value < math.inf:
            raise ConfigError(f"--{name.replace('_', '-')} {value}: must be over 0, and a number")
    if args.remove and args.fill is None:
        raise ConfigError("--remove deletes what --fill wrote; give both")
    n_bytes = args.checkpoint_bytes
    if n_bytes is not None and args.checkpoint is None:
        raise ConfigError(f"--checkpoint-bytes {n_bytes}: is of --checkpoint FOLDER; give both")
    given = {name: getattr(args, name) for name in ("order", "split", *NUMBERS)}
    return Settings(
        **given,
        checkpoint=None if args.checkpoint is None else folder_here(args.checkpoint),
        checkpoint_bytes=None if n_bytes is None else bytes_of("--checkpoint-bytes", n_bytes),
    )
