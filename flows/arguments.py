"""What commands take: argparse alone, so that `--help` and a mistyped flag are answered at once."""

import argparse


def add_contamination_arguments(contamination: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    contamination.add_argument(
        "paths", nargs="+", metavar="PATH", help="a file, folder or pattern of the corpus; a source"
    )
    contamination.add_argument(
        "--benchmark",
        action="append",
        default=[],
        metavar="NAME=PATH[:FIELDS]",
        help="items to look for; NAME alone of a well-known one reads it from the hub; may be"
        " given again",
    )
    contamination.add_argument(
        "--out", required=True, help="folder of the reports; the same command continues it"
    )
    contamination.add_argument(
        "--ngram",
        default="auto",
        metavar="N",
        help="words that must stand in a row; auto is 8 to 13 by the items' lengths (%(default)s)",
    )
    contamination.add_argument(
        "--most-docs",
        default="10",
        metavar="N",
        help="n-grams in more documents count for nothing; none is no limit (%(default)s)",
    )
    contamination.add_argument(
        "--folding",
        metavar="LIST",
        help="disguises to see through: all, none, or some of entities, line_breaks, compat,"
        " invisible, signs, marks (accents), confusables, with commas between them; without it all"
        " but marks",
    )
    contamination.add_argument(
        "--containment",
        default="0.6",
        metavar="SHARE",
        help="share of an item's word pairs that an edited copy of it still has in one place; none"
        " looks for n-grams alone, in half the time (%(default)s)",
    )
    contamination.add_argument(
        "--text-column", metavar="NAME", help="column of the text, where its name does not tell"
    )
    contamination.add_argument(
        "--fail-on-hit", action="store_true", help="exit with 1 if any item is in the corpus"
    )


ABOUT = (
    "Write the dataset of a finished run as files of another loader: its token ids, document by"
    " document or, packed, sequence by sequence. The text itself is not in a run's dataset, and"
    " so in no export. The same command continues an export that was stopped."
)
FORMATS = ("megatron", "parquet", "mds")  # those of pipelines.export, which imports Arrow


def add_export_arguments(export: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    export.description = ABOUT
    export.add_argument("run", help="run directory, here or on s3://")
    export.add_argument(
        "--format",
        required=True,
        choices=FORMATS,
        help="megatron: a .bin and .idx for each split; parquet: all columns, compressed by zstd;"
        " mds: a folder of shards for each split, for mosaicml-streaming",
    )
    export.add_argument("--out", required=True, metavar="FOLDER", help="empty or new, or an export")
    export.add_argument(
        "--shard-bytes",
        metavar="SIZE",
        help="of a file, as 256MB: by default 512 MB of parquet, 67 MB of mds",
    )
    export.add_argument(
        "--by-source",
        action="store_true",
        help="megatron: a pair of files for each source, to be blended by weight",
    )
    export.add_argument(
        "--tokens-only",
        action="store_true",
        help="parquet, mds: without doc_id, id, source, url and the like",
    )


def add_probe_arguments(probe: argparse.ArgumentParser) -> None:
    """Say what the command does, and what it takes."""
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
    probe.add_argument("dataset", help="a saved dataset, or a run directory, on the storage")
    probe.add_argument("--plan", help="plan file, or the name of an example that ships")
    probe.add_argument("--split", help="of the dataset (train)")
    probe.add_argument(
        "--order",
        choices=("sequential", "chunked", "random", "mmap"),
        help="in which training reads (as the plan says): record batches one after another, runs"
        " of rows at random, single rows at random, or single rows through a memory map that the"
        " kernel reads ahead in",
    )
    probe.add_argument("--chunk-rows", type=int, metavar="N", help="of a run in order chunked (64)")
    probe.add_argument(
        "--accelerators", type=int, metavar="N", help="this host must feed (those of a node)"
    )
    probe.add_argument("--most", type=int, metavar="N", help="to be tried (those of the job)")
    probe.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="that stand for accelerators (twice the cores, 8 at most)",
    )
    probe.add_argument(
        "--seconds", type=float, default=120.0, help="for reading, in all (%(default)g)"
    )
    probe.add_argument(
        "--checkpoint", metavar="FOLDER", help="write checkpoints here too, and read them back"
    )
    probe.add_argument(
        "--checkpoint-bytes", metavar="SIZE", help="of a node's checkpoint, at most (1GB)"
    )
    probe.add_argument(
        "--fill",
        metavar="SIZE",
        help="first write a dataset of random token ids, as 150GB, into a new folder; one that is"
        " there from an earlier --fill of the same size is read again",
    )
    probe.add_argument(
        "--remove", action="store_true", help="delete what --fill wrote when all is read"
    )
    probe.add_argument("--out", metavar="FOLDER", help="write probe.md, .html and .json")


def add_serve_arguments(serve: argparse.ArgumentParser) -> None:
    """Say what the command does, and what it takes."""
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
        "recipe", nargs="?", help="what prepare-corpus runs, unless its form says otherwise"
    )
    serve.add_argument("--out", help="run directory of the recipe")
    when = serve.add_mutually_exclusive_group()
    when.add_argument("--cron", metavar="CRON", help="run the recipe then, as '0 3 * * *'")
    when.add_argument(
        "--interval", type=float, metavar="SECONDS", help="run the recipe once in so many seconds"
    )
    serve.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the recipe; may be given again",
    )
    serve.add_argument(
        "--limit", type=int, default=1, metavar="N", help="runs at a time (%(default)s)"
    )


def add_train_lm_arguments(train: argparse.ArgumentParser) -> None:
    """Say what the command does, and what it takes."""
    train.description = (
        "Train an n-gram language model of good text, and say where the perplexities of documents"
        " part in head, middle and tail. The step perplexity applies it. Some documents, by their"
        " ids, are not trained on, but tell how well it foretells."
    )
    train.add_argument(
        "--text",
        nargs="+",
        action="extend",
        required=True,
        metavar="PATH",
        help="files, folders or patterns of good text, in any format that is read",
    )
    train.add_argument(
        "--cutoffs",
        nargs="+",
        action="extend",
        default=[],
        metavar="PATH",
        help="documents whose perplexities tell where head and tail part, as the crawl itself"
        " (without: those of --text that it is not trained on)",
    )
    train.add_argument(
        "--out", required=True, metavar="FILE", help="the model, as lm.npz; a .md is put by it"
    )
    train.add_argument("--arpa", metavar="FILE", help="write it for KenLM too, as lm.arpa")
    for option, default, of in (
        ("order", 4, "words of the longest n-grams"),
        ("vocabulary", 1 << 18, "words of the model at most, the most frequent"),
        ("min-count", 2, "how often a word must occur to be one of them"),
        ("prune", 1, "n-grams of 3 words or more that occur at most so often are left out"),
        (
            "words",
            20_000_000,
            "trained on at most, drawn by documents' ids; some 120 bytes of memory each",
        ),
        ("seed", 0, "of what is drawn"),
    ):
        train.add_argument(
            f"--{option}", type=int, default=default, metavar="N", help=f"{of} (%(default)s)"
        )
    for option, default, of in (
        ("holdout", 0.05, "share of documents that it is not trained on"),
        ("head", 30.0, "percentile of perplexity below which a document is head"),
        ("tail", 60.0, "percentile from which on it is tail"),
    ):
        train.add_argument(
            f"--{option}", type=float, default=default, metavar="X", help=f"{of} (%(default)s)"
        )
    train.add_argument(
        "--text-column", metavar="NAME", help="column of the text, where its name does not tell"
    )


def add_train_quality_arguments(train: argparse.ArgumentParser) -> None:
    """Say what the command does, and what it takes."""
    train.description = (
        "Train a classifier of good and bad text, as GPT-3's: logistic regression over counts of"
        " hashed words. The step quality applies it. Some documents, by their ids, are not trained"
        " on, but tell how well it does."
    )
    for side in ("good", "bad"):
        train.add_argument(
            f"--{side}",
            nargs="+",
            action="extend",
            required=True,
            metavar="PATH",
            help=f"files, folders or patterns of {side} documents, in any format that is read",
        )
    train.add_argument(
        "--out", required=True, metavar="FILE", help="the model, as quality.npz; a .md is put by it"
    )
    train.add_argument(
        "--documents",
        type=int,
        default=100_000,
        metavar="N",
        help="of each side at most, drawn by id (%(default)s)",
    )
    train.add_argument(
        "--holdout",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="of documents, to evaluate with (%(default)s)",
    )
    train.add_argument(
        "--features",
        type=int,
        default=1 << 20,
        metavar="N",
        help="that words are hashed to, a power of two (%(default)s)",
    )
    train.add_argument(
        "--alpha",
        type=float,
        default=9.0,
        help="of the Pareto rule whose effect is told (%(default)s)",
    )
    train.add_argument("--seed", type=int, default=0, help="of what is drawn (%(default)s)")
    train.add_argument(
        "--text-column", metavar="NAME", help="column of the text, where its name does not tell"
    )
