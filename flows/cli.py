"""The command line: one console script, each command one call into the library.

    commands/measure.toml ── a table an option ──► argparse

    [--probes]
    default = 10_000          its type is the option's, unless that is told; text without either
    metavar = "N"
    help = "documents drawn"  the default is told behind it

`shared = true` takes what is not told here from commands/shared.toml. `one_of` names a group of
options of which one may be given. All else is as argparse calls it. A command's module is imported
when it is called, so that `--help` and what needs neither Prefect nor Arrow start at once.
"""

import argparse
import gc
import importlib
import os
import re
import sys
import tomllib
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenmill.flows import stopping
from tokenmill.flows.exits import BUG, MISTAKE, OK, exit_code_of

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the console script exits with what this returns."""
    # works are spread over processes: threads of NumPy's in each would only start, 0.03 s, and wait
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # what is imported stays: by the defaults 0.45 s of 3 were spent on looking for what does not
    gc.set_threshold(50_000, 20, 20)
    argv = sys.argv[1:] if argv is None else argv
    args, unknown = parser(argv).parse_known_args(argv)
    if unknown:  # argparse tells so too, but with the usage of no command
        sys.stderr.write(
            f"tokenmill {args.command}: {' '.join(unknown)}: is none of its options, nor asked for;"
            f" tokenmill {args.command} --help lists them\n"
        )
        return MISTAKE
    with stopping.as_by_the_keyboard():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        command = importlib.import_module(
            f"tokenmill.flows.commands.{args.command.replace('-', '_')}"
        )
        _hold(args)
        code = int(command.run(args))
        sys.stdout.flush()  # here, where a reader that has gone is known
        return code
    except KeyboardInterrupt as e:
        return stopping.told(str(e))
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still held
        return OK
    except Exception as e:  # noqa: BLE001 - told, and by an exit code of its own
        if stopping.has_come():  # what it was at, or its terminal, ended under it
            return stopping.told()
        known = exit_code_of(e)
        if known is None:
            traceback.print_exc()
            return BUG
        sys.stderr.write(f"tokenmill {args.command}: {e}\n")
        return known


def _hold(args: argparse.Namespace) -> None:
    """Hold what is named to the roots."""
    values = [v for of in vars(args).values() for v in (of if isinstance(of, list) else [of])]
    given = [v for v in values if isinstance(v, Named) and v != "-"]  # which is a stream
    if given:
        from tokenmill.pipelines.core.places import file_or_name, within_roots

        for name in given:
            (file_or_name if isinstance(name, FileOrName) else within_roots)(name)


if __name__ == "__main__":
    sys.exit(main())
