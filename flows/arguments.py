"""What commands take: argparse and a file beside each, so that `--help` is answered at once.

    commands/measure.toml ── a table an option ──► argparse

    [--probes]
    default = 10_000          its type is the option's, unless that is told; text without either
    metavar = "N"
    help = "documents drawn"  the default is told behind it

`shared = true` takes what is not told here from commands/shared.toml. `one_of` names a group of
options of which one may be given. All else is as argparse calls it.
"""

import argparse
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("commands")
COMMANDS = {
    "demo": "the whole job on real text found on this machine",
    "prepare": "ingest, filter, deduplicate, tokenize to Arrow",
    "ingest": "what is new of a recipe's inputs, as the next run of a collection",
    "status": "how far a run is, and what failed, from any machine",
    "measure": "predict a run of a recipe before it is made",
    "contamination": "which benchmark items a corpus holds, and in which documents",
    "inspect": "look at documents, removals, duplicates side by side",
    "export": "a run's tokens for Megatron, Parquet, MDS; its text as Parquet, JSON Lines",
    "size": "what storage a corpus and a cluster ask for",
    "claims": "published sizing figures, recomputed or explained",
    "probe": "does this storage feed the planned cluster",
    "serve": "the flows as deployments of your Prefect server",
    "train-quality": "a classifier of good and bad text, for step quality",
    "train-lm": "a language model of good text, for step perplexity",
    "steps": "the steps a recipe can name, and what they take",
}


class Named(str):
    """What the user names that lies somewhere: held to the roots before anything is done."""

    __slots__ = ()


class FileOrName(Named):
    """A file, or else the name of something that ships."""

    __slots__ = ()


TYPES = {"place": Named, "file or name": FileOrName, "int": int, "float": float}


def parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The command line, as `--help` shows it; of `argv` the options of its command are enough."""
    top = argparse.ArgumentParser(
        prog="tokenmill",
        description="Turn raw text into training-ready Arrow, account for every document,"
        " and say what storage to buy.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument(
            "--json",
            action="store_true",
            help="print machine-readable output to stdout and no more",
        )
        if argv is None or name in argv:
            _add_options(command, _read(name))
    return top


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name.replace('-', '_')}.toml").read_text(encoding="utf-8"))


def _add_options(command: argparse.ArgumentParser, told: Mapping[str, Any]) -> None:
    shared, groups = _read("shared"), dict[str, Any]()
    for name, own in told.items():
        if not isinstance(own, dict):  # of the command itself
            if name == "negative":
                name, own = "_negative_number_matcher", re.compile(own)
            setattr(command, name, own)
            continue
        option = {**(shared[name] if own.pop("shared", False) else {}), **own}
        group = option.pop("one_of", None)
        if group is not None and group not in groups:
            groups[group] = command.add_mutually_exclusive_group()
        if option.get("action") in ("append", "extend"):
            option.setdefault("default", [])
        elif "default" in option:
            option.setdefault("type", type(option["default"]))
            if "%(default)" not in option["help"]:
                option["help"] += " (%(default)s)"
        if isinstance(kind := option.get("type"), str):
            option["type"] = TYPES[kind]
        groups.get(group, command).add_argument(name, **option)
