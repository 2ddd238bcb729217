"""What commands take: argparse alone, so that `--help` and a mistyped flag are answered at once."""

import argparse
import re
from collections.abc import Sequence
from typing import Any

COLUMN = "column of the text, where its name does not tell"
HERE = ("auto", "threads", "processes")
RUNNERS = (*HERE, "dask", "slurm")  # array is of prepare alone
FORMATS = ("megatron", "parquet", "mds")  # those of pipelines.tokens.export, which imports Arrow


class Named(str):
    """What the user names that lies somewhere: held to the roots before anything is done."""

    __slots__ = ()


class FileOrName(Named):
    """A file, or else the name of something that ships."""

    __slots__ = ()


def parser() -> argparse.ArgumentParser:
    """The whole command line, as `--help` shows it."""
    top = argparse.ArgumentParser(
        prog="tokenmill",
        description="Turn raw text into training-ready Arrow, account for every document,"
        " and say what storage to buy.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (summary, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        _flags(command, ("json", "print machine-readable output to stdout and no more"))
        add_arguments(command)
    return top


def _inputs(command: argparse.ArgumentParser, option: str, text: str, **more: Any) -> None:
    command.add_argument(
        option, type=Named, nargs="+", action="extend", metavar="PATH", help=text, **more
    )


def _out(command: argparse.ArgumentParser, text: str, metavar: str | None = None) -> None:
    command.add_argument("--out", type=Named, required=True, metavar=metavar, help=text)


def _options(command: argparse.ArgumentParser, *options: tuple[str, Any, str | None, str]) -> None:
    """Options that take a value: name, default or else what reads a value, metavar, help.

    Values are of the type of their default, which the help tells.
    """
    for name, default, metavar, text in options:
        given = {"type": default}
        if not callable(default):
            given = {"type": type(default), "default": default}
            text = f"{text} (%(default)s)"
        command.add_argument(f"--{name}", metavar=metavar, help=text, **given)


def _repeated(command: argparse.ArgumentParser, name: str, metavar: str, text: str) -> None:
    command.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=text)


def _flags(command: argparse.ArgumentParser, *options: tuple[str, str]) -> None:
    for name, text in options:
        command.add_argument(f"--{name}", action="store_true", help=text)


def _runner(command: argparse.ArgumentParser, runners: Sequence[str] = RUNNERS) -> None:
    """Where the work is done; `flows.commands.shared.run_settings` reads what is given."""
    command.add_argument(
        "--runner",
        choices=runners,
        help="where the work is done: by threads, by processes of this machine (auto: whichever is"
        " faster), by a Dask cluster, in jobs of SLURM"
        f"{', in job arrays without Dask' if 'array' in runners else ''}",
    )
    _options(
        command,
        ("address", str, "URL", "of a Dask scheduler, as tcp://10.0.0.1:8786"),
        ("workers", int, None, "shards worked on at a time"),
    )


def _recipe(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "recipe",
        type=FileOrName,
        help="a recipe file, or the name of one that ships with tokenmill",
    )


def _set(command: argparse.ArgumentParser, example: str = "") -> None:
    text = f"override a setting of the recipe{example}; may be given again"
    _repeated(command, "set", "KEY=VALUE", text)


def _demo(demo: argparse.ArgumentParser) -> None:
    _options(demo, ("out", Named("tokenmill-demo"), None, "where to put it"))


def _prepare(prepare: argparse.ArgumentParser) -> None:
    _recipe(prepare)
    _out(prepare, "run directory, or s3://bucket/run; the same command continues it")
    _set(prepare, ", as output.seq_len=2048")
    _runner(prepare, (*RUNNERS, "array"))
    estimate = (
        "what tokenmill measure predicted for this recipe, to be held against the run; without"
        " it, an estimate.json made for this recipe in or beside the run directory, or beside the"
        " recipe"
    )
    plan = (
        "plan file, or the name of an example that ships: tell what storage it takes to train on"
        " the dataset, and write requirements.md, .html and .json into the run directory"
    )
    log = (
        "write a line of JSON for each work and phase, behind what the file has; - is stderr, in"
        " place of progress"
    )
    _options(
        prepare,
        ("estimate", Named, "PATH", estimate),
        ("plan", FileOrName, "PATH", plan),
        ("log-json", Named, "FILE", log),
    )
    _flags(prepare, ("dry-run", "show inputs, shards, steps and disk; write nothing"))


def _ingest(ingest: argparse.ArgumentParser) -> None:
    ingest.description = (
        "Take those files of a recipe's inputs that no run of the collection has taken, and prepare"
        " them as its next run, against all before. A run that was stopped is continued first."
        " Where nothing is new, nothing is done, and the exit code is 0."
    )
    _recipe(ingest)
    text = "collection: a folder or s3://bucket/prefix of runs, of this recipe alone"
    ingest.add_argument("--into", type=Named, required=True, metavar="COLLECTION", help=text)
    _set(ingest, ", as output.seq_len=2048")
    _runner(ingest)
    _flags(ingest, ("again", "take files that changed since they were taken once more"))


def _status(status: argparse.ArgumentParser) -> None:
    status.description = (
        "Tell how far a run is: from what lies in its directory, so that it may be asked from any"
        " machine that reads it, whoever works on it. Exit code 0 is finished, 3 finished but for"
        " inputs or shards that failed, 1 not finished."
    )
    status.add_argument("run", type=Named, help="run directory, or s3://bucket/run")


def _measure(measure: argparse.ArgumentParser) -> None:
    _recipe(measure)
    _out(measure, "estimate.json, for tokenmill size --corpus; a file")
    share = "BYTES|FRACTION"
    all_read = "what may be read of them; of less than all, unique is a model or bounds"
    grown = "unique documents of a larger corpus: 1.5x of this one, or documents at exact or near"
    _options(
        measure,
        ("probes", 10_000, "N", "documents drawn, of which all duplicates are counted"),
        (
            "sample",
            str,
            share,
            "what goes through all steps; a fifth, 8 MB at least and 64 at most",
        ),
        ("budget", "100%", share, all_read),
        ("grow-to", str, "TIMES|DOCS", grown),
        ("seed", 0, None, "of what is drawn"),
        ("cores", int, None, "of the run that is predicted; those it has"),
    )
    _flags(measure, ("quick", "an answer in a minute: 256 MB are read at most, as by --budget"))
    _set(measure, ", as output.seq_len=2048")
    _runner(measure)


def _contamination(contamination: argparse.ArgumentParser) -> None:
    contamination.add_argument(
        "paths",
        type=Named,
        nargs="+",
        metavar="PATH",
        help="a file, folder or pattern of the corpus; a source",
    )
    items = (
        "items to look for; NAME alone of a well-known one reads it from the hub; may be"
        " given again"
    )
    _repeated(contamination, "benchmark", "NAME=PATH[:FIELDS]", items)
    _out(contamination, "folder of the reports; the same command continues it")
    in_a_row = "words that must stand in a row; auto is 8 to 13 by the items' lengths"
    disguises = (
        "disguises to see through: all, none, or some of entities, line_breaks, compat,"
        " invisible, signs, marks (accents), confusables, markup, with commas between them;"
        " without it all but marks"
    )
    edited = (
        "share of an item's word pairs that an edited copy of it still has in one place; none"
        " looks for n-grams alone, in half the time"
    )
    share = (
        "share of an item, of its n-grams that no other item has, from which on in one document it"
        " is dirty; gpt3: any n-gram of it that counts, as published"
    )
    kinds = (
        "for --fail-on-hit: some of dirty, widespread, edited, context, part, only-context,"
        " untestable, paraphrase, with commas between them; without it the first four"
    )
    others = (
        "look for items in other words too: on, or a score from which on a place of a document"
        " counts; on is 3.4, and more finds less"
    )
    _options(
        contamination,
        ("ngram", "auto", "N", in_a_row),
        ("verdict", "0.5", "SHARE", share),
        ("most-docs", "10", "N", "n-grams in more documents count for nothing; none is no limit"),
        ("folding", str, "LIST", disguises),
        ("containment", "0.45", "SHARE", edited),
        ("paraphrases", "none", "SCORE", others),
        ("text-column", str, "NAME", COLUMN),
        ("fail-on", str, "LIST", kinds),
    )
    _flags(contamination, ("fail-on-hit", "exit with 1 if any item is in the corpus"))
    _runner(contamination, (*HERE, "dask"))


def _inspect(inspect: argparse.ArgumentParser) -> None:
    inspect.add_argument("run", type=Named, help="run directory or collection, or s3://bucket/run")
    reason = (
        "list the documents and images removed or failed for this reason, or the documents"
        " cut into pieces: cut"
    )
    _options(
        inspect,
        ("reason", str, None, reason),
        ("doc", _doc_id, "DOC_ID", "show one document, its fate and its images'"),
    )
    _flags(inspect, ("documents", "list documents of the dataset, decoded"))
    _options(inspect, ("limit", 10, None, "rows to list"))


def _doc_id(text: str) -> int:
    value = int(text) if text.isdecimal() else -1
    if not 0 <= value < 2**64:
        raise argparse.ArgumentTypeError(f"{text} is no document id: 0 to 2**64 - 1")
    return value


def _export(export: argparse.ArgumentParser) -> None:
    export.description = (
        "Write the dataset of a finished run as files of another loader: its token ids, document by"
        " document or, packed, sequence by sequence; or, with --text, its documents, as they were"
        " kept or decoded from their ids. The same command continues an export that was stopped."
    )
    export.add_argument("run", type=Named, help="run directory or collection, here or on s3://")
    export.add_argument(
        "--format",
        required=True,
        choices=(*FORMATS, "jsonl"),
        help="megatron: a .bin and .idx for each split; parquet: all columns, compressed by zstd;"
        " mds: a folder of shards for each split, for mosaicml-streaming; jsonl: with --text",
    )
    _out(export, "empty or new, or an export", "FOLDER")
    of_a_file = "of a file, as 256MB: by default 512 MB of parquet, 67 MB of mds"
    _options(export, ("shard-bytes", str, "SIZE", of_a_file))
    _flags(
        export,
        ("text", "parquet, jsonl: the documents as text, and what is known of each"),
        ("by-source", "megatron: a pair of files for each source, to be blended by weight"),
        ("tokens-only", "parquet, mds: without doc_id, id, source, url and the like"),
    )


def _size(size: argparse.ArgumentParser) -> None:
    size.add_argument(
        "plan",
        type=FileOrName,
        nargs="?",
        help="plan file, or the name of an example that ships; without one every default is"
        " assumed",
    )
    measured = (
        "run directory or collection, here or on s3://, report.json or estimate.json, in place of"
        " the plan's corpus.path"
    )
    _options(size, ("corpus", Named, "PATH", measured))
    others = (
        "compare the plan with other settings, as model.params=8e9,70e9; given again, every"
        " combination"
    )
    _repeated(size, "vary", "KEY=V1,V2", others)
    _flags(size, ("all", "show every section of the sheet"))
    _options(size, ("out", Named, "FOLDER", "write requirements.md, .html and .json"))


def _claims(claims: argparse.ArgumentParser) -> None:
    _options(claims, ("id", str, "CLAIM", "show one claim in full"))
    _flags(claims, ("systems", "sheets of systems that others built, beside what they published"))


def _probe(probe: argparse.ArgumentParser) -> None:
    probe.description = (
        "Read a dataset as training would, without an accelerator, and tell whether its storage"
        " feeds the planned cluster, by MLPerf Storage's rule. Exit code 0 is PASS, 1 is FAIL or"
        " UNDECIDED."
    )
    probe.epilog = (
        "One host is probed, this one. For a storage that many hosts share, start the same command"
        " on several of them at the same time, each on a dataset of its own there (--fill, once"
        " before): accelerators fed, bytes and requests a second add up, utilisation does not."
        " Where twice the hosts no longer give twice the sum, the storage is what limits."
    )
    probe.add_argument(
        "dataset",
        type=Named,
        help="a saved dataset, or a run directory, on the storage: a folder, or s3://bucket/prefix",
    )
    _options(
        probe,
        ("plan", FileOrName, None, "plan file, or the name of an example that ships"),
        ("split", str, None, "of the dataset (train)"),
    )
    probe.add_argument(
        "--order",
        choices=("sequential", "chunked", "random", "mmap"),
        help="in which training reads (as the plan says): record batches one after another, runs"
        " of rows at random, single rows at random, or single rows through a memory map that the"
        " kernel reads ahead in",
    )
    written = (
        "first write a dataset of random token ids, as 150GB, into a new folder; one that is"
        " there from an earlier --fill of the same size is read again"
    )
    _options(
        probe,
        ("chunk-rows", int, "N", "of a run in order chunked (64)"),
        ("accelerators", int, "N", "this host must feed (those of a node)"),
        ("most", int, "N", "to be tried (those of the job)"),
        ("processes", int, "N", "that stand for accelerators (twice the cores, 8 at most)"),
        ("connections", 8, "N", "requests of a process to a bucket at once"),
    )
    probe.add_argument(
        "--seconds", type=float, default=120.0, help="for reading, in all (%(default)g)"
    )
    _options(
        probe,
        ("checkpoint", Named, "FOLDER", "write checkpoints here too, and read them back"),
        ("checkpoint-bytes", str, "SIZE", "of a node's checkpoint, at most (1GB)"),
        ("fill", str, "SIZE", written),
    )
    probe._negative_number_matcher = re.compile(r"-\d")  # -1GB is a size that is told to be none
    _flags(probe, ("remove", "delete what --fill wrote when all is read"))
    _options(probe, ("out", Named, "FOLDER", "write probe.md, .html and .json"))


def _serve(serve: argparse.ArgumentParser) -> None:
    serve.description = (
        "Serve the flows to your Prefect server, until interrupted: each is run by a form of its"
        " UI, and prepare by a schedule too. Needs a server: PREFECT_API_URL names it."
    )
    serve.epilog = (
        "Whoever reaches the server can have files read and written here. Set TOKENMILL_ROOTS to"
        " the folders and s3:// prefixes, with colons between them, that runs may use; keep the"
        " server on 127.0.0.1, or behind PREFECT_SERVER_API_AUTH_STRING."
    )
    serve.add_argument(
        "recipe",
        type=FileOrName,
        nargs="?",
        help="what prepare-corpus or ingest-collection runs, unless its form says otherwise",
    )
    where = serve.add_mutually_exclusive_group()
    where.add_argument("--out", type=Named, help="run directory of the recipe")
    where.add_argument(
        "--into",
        type=Named,
        metavar="COLLECTION",
        help="collection that ingest-collection takes what is new into",
    )
    when = serve.add_mutually_exclusive_group()
    when.add_argument("--cron", metavar="CRON", help="run the recipe then, as '0 3 * * *'")
    when.add_argument(
        "--interval", type=float, metavar="SECONDS", help="run the recipe once in so many seconds"
    )
    _set(serve)
    _options(
        serve,
        ("limit", 1, "N", "runs at a time"),
        (
            "pages-port",
            int,
            "PORT",
            "of this machine, for report pages that artifacts link to (4201)",
        ),
    )
    _runner(serve)


def _train_quality(train: argparse.ArgumentParser) -> None:
    train.description = (
        "Train a classifier of good and bad text, as GPT-3's: logistic regression over counts of"
        " hashed words. The step quality applies it. Some documents, by their ids, are not trained"
        " on, but tell how well it does."
    )
    for side in ("good", "bad"):
        text = f"files, folders or patterns of {side} documents, in any format that is read"
        _inputs(train, f"--{side}", text, required=True)
    _out(train, "the model, as quality.npz; a .md is put by it", "FILE")
    _options(
        train,
        ("documents", 100_000, "N", "of each side at most, drawn by id"),
        ("holdout", 0.2, "SHARE", "of documents, to evaluate with"),
        ("features", 1 << 20, "N", "that words are hashed to, a power of two"),
        ("alpha", 9.0, "ALPHA", "of the Pareto rule whose effect is told"),
        ("seed", 0, "SEED", "of what is drawn"),
        ("text-column", str, "NAME", COLUMN),
    )


def _train_lm(train: argparse.ArgumentParser) -> None:
    train.description = (
        "Train an n-gram language model of good text, and say where the perplexities of documents"
        " part in head, middle and tail. The step perplexity applies it. Some documents, by their"
        " ids, are not trained on, but tell how well it foretells."
    )
    text = "files, folders or patterns of good text, in any format that is read"
    _inputs(train, "--text", text, required=True)
    cutoffs = (
        "documents whose perplexities tell where head and tail part, as the crawl itself"
        " (without: those of --text that it is not trained on)"
    )
    _inputs(train, "--cutoffs", cutoffs, default=[])
    _out(train, "the model, as lm.npz; a .md is put by it", "FILE")
    words = "trained on at most, drawn by documents' ids; some 120 bytes of memory each"
    rare = "n-grams of 3 words or more that occur at most so often are left out"
    _options(
        train,
        ("arpa", Named, "FILE", "write it for KenLM too, as lm.arpa"),
        ("order", 4, "N", "words of the longest n-grams"),
        ("vocabulary", 1 << 18, "N", "words of the model at most, the most frequent"),
        ("min-count", 2, "N", "how often a word must occur to be one of them"),
        ("prune", 1, "N", rare),
        ("words", 20_000_000, "N", words),
        ("seed", 0, "N", "of what is drawn"),
        ("holdout", 0.05, "X", "share of documents that it is not trained on"),
        ("head", 30.0, "X", "percentile of perplexity below which a document is head"),
        ("tail", 60.0, "X", "percentile from which on it is tail"),
        ("text-column", str, "NAME", COLUMN),
    )


def _steps(steps: argparse.ArgumentParser) -> None:
    steps.add_argument("name", nargs="?", help="of one step, whose settings are shown")


COMMANDS = {
    "demo": ("the whole job on real text found on this machine", _demo),
    "prepare": ("ingest, filter, deduplicate, tokenize to Arrow", _prepare),
    "ingest": ("what is new of a recipe's inputs, as the next run of a collection", _ingest),
    "status": ("how far a run is, and what failed, from any machine", _status),
    "measure": ("predict a run of a recipe before it is made", _measure),
    "contamination": (
        "which benchmark items a corpus holds, and in which documents",
        _contamination,
    ),
    "inspect": ("look at documents, removals, duplicates side by side", _inspect),
    "export": ("a run's tokens for Megatron, Parquet, MDS", _export),
    "size": ("what storage a corpus and a cluster ask for", _size),
    "claims": ("published sizing figures, recomputed or explained", _claims),
    "probe": ("does this storage feed the planned cluster", _probe),
    "serve": ("the flows as deployments of your Prefect server", _serve),
    "train-quality": ("a classifier of good and bad text, for step quality", _train_quality),
    "train-lm": ("a language model of good text, for step perplexity", _train_lm),
    "steps": ("the steps a recipe can name, and what they take", _steps),
}
