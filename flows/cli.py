"""The command line: one console script, each command one call into the library.

Each command's module is imported when it is called, so that `--help` and the commands
that need neither Prefect nor Arrow start at once.

Exit codes: 0 done; 1 the answer is "no"; 2 the user's mistake, in one line; 3 some
inputs or shards failed, the rest is complete; 70 a bug of ours, with its traceback, which
must not look like an answer.
"""

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence

from tokenmill.flows.arguments import (
    add_contamination_arguments,
    add_export_arguments,
    add_probe_arguments,
    add_serve_arguments,
    add_train_lm_arguments,
    add_train_quality_arguments,
)

OK, NO, MISTAKE, PARTIAL, BUG = 0, 1, 2, 3, 70  # EX_SOFTWARE of sysexits.h


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the console script exits with what this returns."""
    args = parser().parse_args(argv)
    try:
        command = importlib.import_module(
            f"tokenmill.flows.commands.{args.command.replace('-', '_')}"
        )
        return int(command.run(args))
    except KeyboardInterrupt as e:
        told = str(e) or "the same command continues where this stopped"
        sys.stderr.write(f"interrupted; {told}\n")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        return OK
    except Exception as e:  # noqa: BLE001 - told, and by an exit code of its own
        code = exit_code_of(e)
        if code is None:
            traceback.print_exc()
            return BUG
        sys.stderr.write(f"tokenmill {args.command}: {e}\n")
        return code


def exit_code_of(error: Exception) -> int | None:
    """The exit code of an error whose message is all the user needs; None for a bug of ours.

    Told by name, so that nothing is imported for it.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"ConfigError", "PlanError", "InputError", "UnitError"}:
        return MISTAKE
    return PARTIAL if names & {"ShardError", "LedgerError"} else None


def parser() -> argparse.ArgumentParser:
    """The whole command line, as `--help` shows it."""
    top = argparse.ArgumentParser(
        prog="tokenmill",
        description="Turn raw text into training-ready Arrow, account for every document,"
        " and say what storage to buy.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _demo(commands)
    _prepare(commands)
    _measure(commands)
    _contamination(commands)
    _inspect(commands)
    _export(commands)
    _size(commands)
    _claims(commands)
    _probe(commands)
    _serve(commands)
    _train_quality(commands)
    _train_lm(commands)
    _steps(commands)
    return top


def _command(commands, name: str, summary: str) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=summary, description=summary)
    made.add_argument(
        "--json", action="store_true", help="print machine-readable output to stdout and no more"
    )
    return made


def _add_runner(
    command: argparse.ArgumentParser, runners: Sequence[str] = ("threads", "dask", "slurm")
) -> None:
    """Where the work is done; `flows.settings.run_settings` reads what is given."""
    command.add_argument(
        "--runner",
        choices=runners,
        help="where the work is done: in this process, by a Dask cluster, in jobs of SLURM",
    )
    command.add_argument(
        "--address", metavar="URL", help="of a Dask scheduler, as tcp://10.0.0.1:8786"
    )
    command.add_argument("--workers", type=int, help="shards worked on at a time")


def _demo(commands) -> None:
    demo = _command(commands, "demo", "the whole job on real text found on this machine")
    demo.add_argument("--out", default="tokenmill-demo", help="where to put it (%(default)s)")


def _prepare(commands) -> None:
    prepare = _command(commands, "prepare", "ingest, filter, deduplicate, tokenize to Arrow")
    prepare.add_argument(
        "recipe", help="a recipe file, or the name of one that ships with tokenmill"
    )
    prepare.add_argument(
        "--out",
        required=True,
        help="run directory, or s3://bucket/run; the same command continues it",
    )
    prepare.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the recipe, as output.seq_len=2048; may be given again",
    )
    _add_runner(prepare)
    prepare.add_argument(
        "--estimate",
        metavar="PATH",
        help="what tokenmill measure predicted for this recipe, to be held against the run; without"
        " it, an estimate.json made for this recipe in or beside the run directory, or beside the"
        " recipe",
    )
    prepare.add_argument(
        "--dry-run", action="store_true", help="show inputs, shards, steps and disk; write nothing"
    )


def _measure(commands) -> None:
    measure = _command(commands, "measure", "predict a run of a recipe before it is made")
    measure.add_argument(
        "recipe", help="a recipe file, or the name of one that ships with tokenmill"
    )
    measure.add_argument(
        "--out", required=True, help="estimate.json, for tokenmill size --corpus; a file"
    )
    measure.add_argument(
        "--probes",
        type=int,
        default=10_000,
        metavar="N",
        help="documents drawn, of which all duplicates are counted (%(default)s)",
    )
    measure.add_argument(
        "--sample",
        default="20%",
        metavar="BYTES|FRACTION",
        help="what is tokenized of the inputs (20%%)",
    )
    measure.add_argument(
        "--budget",
        default="100%",
        metavar="BYTES|FRACTION",
        help="what may be read of them; of less than all, unique is a model or bounds (100%%)",
    )
    measure.add_argument(
        "--grow-to",
        metavar="TIMES|DOCS",
        help="unique documents of a larger corpus: 1.5x of this one, or documents at exact or near",
    )
    measure.add_argument("--seed", type=int, default=0, help="of what is drawn (%(default)s)")
    measure.add_argument("--cores", type=int, help="of the run that is predicted; those it has")
    measure.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the recipe, as output.seq_len=2048; may be given again",
    )
    _add_runner(measure)


def _contamination(commands) -> None:
    contamination = _command(
        commands, "contamination", "which benchmark items a corpus holds, and in which documents"
    )
    add_contamination_arguments(contamination)
    _add_runner(contamination, ("threads", "dask"))


def _inspect(commands) -> None:
    inspect = _command(commands, "inspect", "look at documents, removals, duplicates side by side")
    inspect.add_argument("run", help="run directory, or s3://bucket/run")
    inspect.add_argument(
        "--reason",
        help="list the documents and images removed or failed for this reason, or the documents"
        " cut into pieces: cut",
    )
    inspect.add_argument(
        "--doc", type=_doc_id, metavar="DOC_ID", help="show one document, its fate and its images'"
    )
    inspect.add_argument(
        "--documents", action="store_true", help="list documents of the dataset, decoded"
    )
    inspect.add_argument("--limit", type=int, default=10, help="rows to list (%(default)s)")


def _doc_id(text: str) -> int:
    value = int(text) if text.isdecimal() else -1
    if not 0 <= value < 2**64:
        raise argparse.ArgumentTypeError(f"{text} is no document id: 0 to 2**64 - 1")
    return value


def _export(commands) -> None:
    add_export_arguments(_command(commands, "export", "a run's tokens for Megatron, Parquet, MDS"))


def _steps(commands) -> None:
    steps = _command(commands, "steps", "the steps a recipe can name, and what they take")
    steps.add_argument("name", nargs="?", help="of one step, whose settings are shown")


def _size(commands) -> None:
    size = _command(commands, "size", "what storage a corpus and a cluster ask for")
    size.add_argument(
        "plan",
        nargs="?",
        help="plan file, or the name of an example that ships; without one every default is"
        " assumed",
    )
    size.add_argument(
        "--corpus",
        metavar="PATH",
        help="run directory, here or on s3://, report.json or estimate.json, in place of the plan's"
        " corpus.path",
    )
    size.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=V1,V2",
        help="compare the plan with other settings, as model.params=8e9,70e9; given again, every"
        " combination",
    )
    size.add_argument("--all", action="store_true", help="show every section of the sheet")
    size.add_argument("--out", metavar="FOLDER", help="write requirements.md, .html and .json")


def _claims(commands) -> None:
    claims = _command(commands, "claims", "published sizing figures, recomputed or explained")
    claims.add_argument("--id", metavar="CLAIM", help="show one claim in full")


def _probe(commands) -> None:
    add_probe_arguments(_command(commands, "probe", "does this storage feed the planned cluster"))


def _train_quality(commands) -> None:
    add_train_quality_arguments(
        _command(commands, "train-quality", "a classifier of good and bad text, for step quality")
    )


def _train_lm(commands) -> None:
    add_train_lm_arguments(
        _command(commands, "train-lm", "a language model of good text, for step perplexity")
    )


def _serve(commands) -> None:
    serve = _command(commands, "serve", "the flows as deployments of your Prefect server")
    add_serve_arguments(serve)
    _add_runner(serve)


if __name__ == "__main__":
    sys.exit(main())
