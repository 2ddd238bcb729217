"""What becomes of each character when a text is folded: frozen, from Unicode 14.

Interpreters carry different versions of Unicode; what counts as contaminated must not differ
with them. `python -m tests.dedup.text.frozen` makes the tables again from the running interpreter,
which must be Python 3.11. Named HTML characters are the standard's list, which is
closed.

The lookalikes are of confusables.txt 13.0.0, Unicode Technical Standard 39 (Copyright (c)
2020 Unicode, Inc.; Unicode License, https://www.unicode.org/license.txt), restricted to
letters of left-to-right alphabets whose prototype is one ASCII letter. Where the prototype
is "l" only because "I" looks like it, the letter stands for "I" here; but palochka for "l",
in both cases, as in the "apple.com" that made it known. Cyrillic ghe is left out: to the eye
it is no "r", and alone it abbreviates "year" and "city".
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tokenmill.dedup.text.unicode import (
    packaged,
)

FOLD_VERSION = "2"  # of runs; raise it with any change of what a text is folded to
FILE = Path(__file__).with_name("fold_tables.npz")

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

# Greek, Coptic, Cyrillic, Armenian, Georgian, Cherokee, Canadian Aboriginal, Tifinagh, Lisu,
# Lycian, Carian, Old Italic, Deseret, Osage, Elbasan, Warang Citi: code point, Latin letter
_LOOKALIKES = """
    037FJ 0391A 0392B 0395E 0396Z 0397H 0399I 039AK 039CM 039DN 039FO 03A1P 03A4T 03A5Y
    03A7X 03B1a 03B3y 03B9i 03BDv 03BFo 03C1p 03C3o 03C5u 03DCF 03F2c 03F3j 03F9C 03FAM 1D26r
    2C85r 2C8EH 2C92I 2C94K 2C98M 2C9AN 2C9EO 2C9Fo 2CA2P 2CA3p 2CA4C 2CA5c 2CA6T 2CA8Y
    2CACX 2CD0L
    0405S 0406I 0408J 0410A 0412B 0415E 041AK 041CM 041DH 041EO 0420P 0421C 0422T 0423Y
    0425X 042Cb 0430a 0435e 043Eo 0440p 0441c 0443y 0445x 0455s 0456i 0458j 0461w
    0474V 0475v 04AEY 04AFy 04BBh 04BDe 04C0l 04CFl 0501d 050CG 051Bq 051CW 051Dw A647i
    054DU 054FS 0555O 0561w 0563q 0566q 0570h 0578n 057Cn 057Du 0581g 0584f 0585o
    10E7y 10FFo
    13A0D 13A1R 13A2T 13A5i 13A9Y 13AAA 13ABJ 13ACE 13B3W 13B7M 13BBH 13BDY 13C0G 13C2h
    13C3Z 13CFb 13D2R 13D4W 13D5S 13D9V 13DAS 13DEL 13DFC 13E2P 13E6K 13E7d 13F3G 13F4B
    AB75i AB81r AB83w AB93z ABA9v ABAAs ABAFc
    142FV 144CU 146DP 146Fd 1472b 148DJ 14AAL 1541x 157CH 157Dx 1587R 15AFb 15B4F 15C5A
    15DED 15EAD 15F0M 15F7B
    2D38V 2D39E 2D4Fl 2D54O 2D55Q 2D5DX
    A4D0B A4D1P A4D2d A4D3D A4D4T A4D6G A4D7K A4D9J A4DAC A4DCZ A4DDF A4DFM A4E0N A4E1L
    A4E2S A4E3R A4E6V A4E7H A4EAW A4EBX A4ECY A4EEA A4F0E A4F2I A4F3O A4F4U
    10282B 10286E 10287F 1028AI 10290X 10292O 10295P 10296S 10297T
    102A0A 102A1B 102A2C 102A5F 102ABO 102B0M 102B1T 102B2Y 102B4X 102CFH
    10301B 10302C 10309I 10311M 10315T 10317X
    10404O 10415C 1041BL 10420S 1042Co 1043Dc 10448s
    104B4R 104C2O 104CEU 104EAo 104F6u
    10513N 10516O 10518K 1051CC 1051DV 10525F 10526L 10527X
    118A0V 118A2F 118A3L 118A4Y 118A6E 118A9Z 118AEE 118B2L 118B5O 118B8U 118BCT 118C0v
    118C1s 118C2F 118C3i 118C4z 118C8o 118D7o 118D8u 118DCy
"""


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
    return {chr(int(entry[:-1], 16)): entry[-1] for entry in _LOOKALIKES.split()}


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
