"""What becomes of each character when a text is folded: frozen, from Unicode 14.

As those of `text.unicode`: `python -m tests.dedup.text.frozen` makes the tables again from the
running interpreter, which must be Python 3.11. Named HTML characters are the standard's list, which
is closed.

The lookalikes are of confusables.txt 13.0.0, Unicode Technical Standard 39 (Copyright (c)
2020 Unicode, Inc.; Unicode License, https://www.unicode.org/license.txt), restricted to
letters of left-to-right alphabets whose prototype is one ASCII letter. Where the prototype
is "l" only because "I" looks like it, the letter stands for "I" here; but palochka for "l",
in both cases, as in the "apple.com" that made it known. Cyrillic ghe is left out: to the eye
it is no "r", and alone it abbreviates "year" and "city".
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tokenmill.dedup.text.unicode import code_points, packaged

FOLD_VERSION = "2"  # of runs; raise it with any change of what a text is folded to
FILE = Path(__file__).with_name("fold_tables.npz")
LISTED = json.loads(FILE.with_suffix(".json").read_bytes())


class FoldTables(NamedTuple):
    """What becomes of a character, alone, by kind of folding; `latin` and `inner` are sets.

    compat: its NFKC, where that makes other gram words; not of accents on a space, nor of
        lookalikes (the lunate sigma, which looks like c, is a sigma to NFKC).
    marks: its base without diacritics; of a diacritic nothing.
    twins: the letter that a Latin letter or symbol, or its small form, looks like: small
        capitals, IPA's alpha.
    latin: letters that are Latin or have a Latin NFKC.
    inner: combining marks and invisible characters, which a run of letters may hold.
    """

    compat: dict[str, str]
    marks: dict[str, str]
    twins: dict[str, str]
    latin: frozenset[str]
    inner: frozenset[str]


MAPS, SETS = ("compat", "marks", "twins"), ("latin", "inner")


def invisible() -> dict[str, str]:
    """Default_Ignorable_Code_Point of DerivedCoreProperties.txt."""
    return {chr(cp): "" for cp in code_points(*LISTED["default ignorable"])}


def signs() -> dict[str, str]:
    """Signs that stand for ASCII punctuation and are not punctuation to Unicode."""
    return {chr(cp): "" for cp in code_points(*LISTED["signs"])}


@cache
def lookalikes() -> dict[str, str]:
    """Letters of other alphabets that look like a Latin letter, with that letter."""
    entries = " ".join(LISTED["code point, Latin letter"]).split()
    return {chr(int(entry[:-1], 16)): entry[-1] for entry in entries}


@cache
def tables() -> FoldTables:
    """Load the packaged tables, as `dedup.text.unicode.tables` does."""
    columns = {name: column.tolist() for name, column in packaged(FILE).items()}
    found: dict[str, Any] = {name: frozenset(columns[name]) for name in SETS}
    for name in MAPS:
        found[name] = dict(zip(columns[name], columns[f"{name}_to"], strict=True))
    return FoldTables(**found)
