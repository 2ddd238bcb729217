r"""Make equal texts equal bytes: one kind of newline, no control characters, Unicode composed.

    text --> line ends and control characters --> NFC --> text

What is replaced, in this order, and nothing else:

    \r\n, \r, VT, FF, FS, GS, RS, NEL (U+000D, B, C, 1C-1E, 85)   "\n"
    US (U+001F)                                                    " "
    other controls: U+0000-0008, E-1B, 7F-84, 86-9F                nothing
    U+FEFF, byte order mark, wherever it stands                    nothing
    with `unicode: nfc`, what Unicode Normalization Form C says    (UAX #15)

Tabs, spaces, blank lines, whitespace at the ends, U+2028, U+2029 and format characters other
than U+FEFF stay. Composition comes last, since a control can keep two characters apart.
Doing it twice changes nothing more.
"""

import unicodedata
from functools import cache, partial
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import U8, large_strings, text_buffers
from tokenmill.pipelines.core.step import KEEP, StageResult, Step, keep_where, with_text
from tokenmill.pipelines.filters.kernels import controls

NORMALIZE_VERSION = 1  # raise it when any text comes out otherwise than before

N_CODE_POINTS = 0x110000
NEVER_COMPOSE = (  # nor are they reordered, in any version of Unicode: its stability policy
    (0x0000, 0x0300),  # up to the first combining mark
    (0x3400, 0xA000),  # CJK ideographs and Yijing hexagrams
    (0xAC00, 0xD7A4),  # Hangul syllables; the jamo behind them may compose
    (0xD800, 0xF900),  # surrogates and private use
    (0x20000, 0x2F800),  # CJK ideographs, up to the compatibility ones
    (0x2FA20, N_CODE_POINTS),  # CJK ideographs, tags and variation selectors, private use
)
JAMO_THAT_COMPOSE = ((0x1161, 0x1176), (0x11A8, 0x11C3))  # vowels; final consonants


class Normalize(Step):
    """Make equal texts equal bytes: replace line ends and control characters, then compose (NFC).
    Documents are never removed; bytes edited are accounted.

    unicode: "nfc" composes (Unicode Normalization Form C); `None` does not.
    """

    name: ClassVar[str] = "normalize"
    edits_texts: ClassVar[bool] = True

    unicode: Literal["nfc"] | None = "nfc"

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        kept_all = np.full(batch.num_rows, KEEP, np.uint8)
        result = keep_where(self.name, batch, kept_all, ())
        work = work_needed(batch["text"])
        if self.unicode is None:
            work &= controls.HAS_CONTROLS
        if not work.any():
            return result
        return with_text(result, normalized(batch["text"], work))


def work_needed(text: pa.Array) -> U8:
    """(n_docs,) uint8 of MAY_COMPOSE, without which a text is in NFC, and HAS_CONTROLS."""
    buffers = text_buffers(text)
    work = np.empty(len(text), np.uint8)
    controls.find_work(buffers.data, buffers.offsets, composing(), work)
    return work


def normalized(text: pa.Array, work: U8) -> pa.Array:
    """Do the work that `work_needed` found; the other documents stay as they are."""
    for bit, do in (
        (controls.HAS_CONTROLS, without_controls),
        (controls.MAY_COMPOSE, partial(pc.utf8_normalize, form="NFC")),
    ):
        wanted = (work & bit) != 0
        if wanted.any():
            mask = pa.array(wanted)
            text = pc.replace_with_mask(text, mask, do(text.filter(mask)))
    return text


def without_controls(text: pa.Array) -> pa.Array:
    """Replace line ends and control characters of every document; same type."""
    buffers = text_buffers(text)
    first, last = buffers.offsets[[0, -1]]
    out = np.empty(last - first, np.uint8)
    offsets = np.empty(len(text) + 1, np.int64)
    controls.replace_controls(buffers.data, buffers.offsets, out, offsets)
    return large_strings(out, offsets).cast(text.type)


@cache
def composing() -> U8:
    """(0x110000,) uint8, MAY_COMPOSE for characters that NFC may change, join or reorder.

    Characters that this interpreter's Unicode has not yet assigned are among them; the others
    can, by Unicode's stability policy, never become so.
    """
    table = np.full(N_CODE_POINTS, controls.MAY_COMPOSE, np.uint8)
    for first, last in NEVER_COMPOSE:
        table[first:last] = 0
    in_doubt = [chr(cp) for cp in np.flatnonzero(table)]
    table[[ord(char) for char in in_doubt if _stands_alone(char)]] = 0
    pairs = [unicodedata.decomposition(char).split() for char in in_doubt]
    joined = [int(pair[1], 16) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"]
    table[joined] = controls.MAY_COMPOSE
    for first, last in JAMO_THAT_COMPOSE:
        table[first:last] = controls.MAY_COMPOSE
    return table


def _stands_alone(char: str) -> bool:
    """Whether NFC leaves a character as it is and where it is; it may yet join one before it."""
    return (
        unicodedata.category(char) != "Cn"
        and not unicodedata.combining(char)
        and unicodedata.is_normalized("NFC", char)
    )
