"""The options of `tokenmill train-quality`."""

import argparse


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
