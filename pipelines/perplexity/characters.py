"""What each character is to the words of a language model: CCNet's normalization, in a table.

A word is a run of letters, digits and marks; every other character, punctuation above all, is a
word by itself, and so is a character of a script that is written without spaces.

Departures from CCNet, whose models read pieces of SentencePiece: white space ends a word, where
CCNet deletes tabs and joins what they part; characters of format, as soft hyphens, are deleted; a
final sigma is a sigma. Lower case and classes are of a frozen version of Unicode (dedup.unicode).
"""

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.dedup import unicode
from tokenmill.dedup.arrays import read_only
from tokenmill.pipelines.perplexity.ccnet import became
from tokenmill.pipelines.perplexity.kernels import words as kernels

# Thai to Tibetan, Myanmar, Khmer, kana, ideographs
WITHOUT_SPACES = (
    (0x0E00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
DELETED = int(kernels.DELETED) << int(kernels.KIND)
FINAL_SIGMA, SIGMA = "\u03c2", "\u03c3"
# ideographs and characters of private use: five in six, and each stands alone as it is
AS_THEY_ARE = ((0x3400, 0x9FFF), (0xE000, 0xF8FF), (0x20000, 0x2F7FF), (0xF0000, 0x10FFFF))


class Characters(NamedTuple):
    """Tables of the word kernel, as it describes them; read-only, threads share them."""

    actions: npt.NDArray[np.uint32]
    many: npt.NDArray[np.uint32]


@cache
def characters() -> Characters:
    """Make the tables; once a process, a fraction of a second."""
    frozen = unicode.tables()
    cps = np.arange(unicode.N_CODE_POINTS)
    places = frozen.pages[cps >> 8].astype(np.int64) * unicode.PAGE + (cps & 255)
    lower = (cps + frozen.lower_delta[places]) & 0xFFFF_FFFF
    looked_at = frozen.flags[places] & unicode.UNASSIGNED == 0
    for first, last in AS_THEY_ARE:
        looked_at[first : last + 1] = False
    actions = _action(kernels.ALONE, cps)
    many = [0]  # place 0 is of none
    for cp, low in zip(cps[looked_at].tolist(), lower[looked_at].tolist(), strict=True):
        found = [_action_of(char) for char in _became(chr(low))]
        if len(found) == 1:
            actions[cp] = found[0]
        else:
            actions[cp] = _action(kernels.MANY, len(many)) if found else DELETED
            many += [len(found), *found] if found else []
    return Characters(read_only(actions), read_only(np.array(many, np.uint32)))


def _became(char: str) -> str:
    """What CCNet makes of a character in lower case."""
    if char == FINAL_SIGMA:
        return SIGMA
    return char if char.isspace() else became(char)


@cache
def _action_of(char: str) -> int:
    cp, kind = ord(char), unicodedata.category(char)
    if char == "\n":
        return int(_action(kernels.LINE_END, 0))
    if char.isspace() or kind[0] == "Z":
        return int(_action(kernels.SPACE, 0))
    if kind in ("Mn", "Cf"):
        return DELETED
    in_word = kind[0] in "LNM" or char == "_"
    alone = not in_word or any(first <= cp <= last for first, last in WITHOUT_SPACES)
    return int(_action(kernels.ALONE if alone else kernels.IN_WORD, cp))


def _action(kind: np.uint32, value: int | npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    return np.asarray((int(kind) << int(kernels.KIND)) | np.asarray(value), np.uint32)
