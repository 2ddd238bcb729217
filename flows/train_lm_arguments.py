"""The options of `tokenmill train-lm`."""

import argparse


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
