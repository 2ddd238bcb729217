"""What becomes of each character when a text is folded: frozen, from Unicode 14.

Interpreters carry different versions of Unicode; what counts as contaminated must not differ
with them. `python -m tests.dedup.text.frozen` makes the tables again from the running
interpreter, which must be Python 3.11. Named HTML characters are the standard's list, which is
closed.

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

from tokenmill.dedup.text.unicode import packaged

FOLD_VERSION = "2"  # of runs; raise it with any change of what a text is folded to
FILE = Path(__file__).with_name("fold_tables.npz")
LOOKALIKES = FILE.with_name("lookalikes.json")

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt: soft hyphen, joiners, bidi
# marks, variation selectors, fillers, tags
_INVISIBLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip

# signs that stand for ASCII punctuation and are not punctuation to Unicode: acute accents and
# modifier letters for apostrophes and quotes, Greek breathings, minus signs, solidi, tildes
_SIGNS = (
    0xB4, 0x2B9, 0x2BA, 0x2BB, 0x2BC, 0x2BD, 0x2BE, 0x2BF, 0x2C6, 0x2C8, 0x2CA, 0x2CB, 0x2D7,
    0x2DC, 0x2EE, 0x374, 0x384, 0x1FBD, 0x1FBF, 0x1FEF, 0x1FFD, 0x1FFE, 0x2044, 0x2212, 0x2215,
    0x2217, 0x2223, 0x2236, 0x223C, 0x2796, 0xA78B, 0xA78C,
)  # fmt: skip


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
    return {chr(cp): "" for first, last in _INVISIBLE for cp in range(first, last + 1)}


def signs() -> dict[str, str]:
    return {chr(cp): "" for cp in _SIGNS}


@cache
def lookalikes() -> dict[str, str]:
    """Letters of other alphabets that look like a Latin letter, with that letter."""
    entries = " ".join(json.loads(LOOKALIKES.read_bytes())["code point, Latin letter"]).split()
    return {chr(int(entry[:-1], 16)): entry[-1] for entry in entries}


@cache
def tables() -> FoldTables:
    """Load the packaged tables.

    Raises:
        RuntimeError: the packaged file is of another version of Unicode than this module.
    """
    columns = {name: column.tolist() for name, column in packaged(FILE).items()}
    found: dict[str, Any] = {name: frozenset(columns[name]) for name in SETS}
    for name in MAPS:
        found[name] = dict(zip(columns[name], columns[f"{name}_to"], strict=True))
    return FoldTables(**found)
