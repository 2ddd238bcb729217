"""The options of `tokenmill contamination`."""

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
