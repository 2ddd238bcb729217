"""Which documents another library may read otherwise, for it knows another version of Unicode.

Two libraries that know different versions of Unicode split and compose some characters
differently: those that the older one has not heard of. Documents without them are safe, by
Unicode's stability policy (a character once assigned keeps its composition), and measured: of
all code points, in four vocabularies, gigatoken 0.10.0 and tokenizers 0.23.3 differ on 4,787,
all unassigned in Unicode 14, and, composing, on one mark that was not in canonical order.
"""

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.dedup.unicode import PAGE, UNASSIGNED, tables
from tokenmill.pipelines.filters.kernels.controls import find_work
from tokenmill.pipelines.normalize import MAY_COMPOSE, composing

UNKNOWN = 4


def risky(text: pa.Array, *, composes: bool, clashes: Sequence[str] = ()) -> npt.NDArray[np.bool_]:
    """(n_docs,) documents with characters that are newer than Unicode 14.

    composes: the tokenizer brings text to NFC first; then documents that are not in NFC yet
        count too.
    clashes: documents that contain one of these texts count too.
    """
    buffers = text_buffers(text)
    found = np.empty(len(text), np.uint8)
    find_work(buffers.data, buffers.offsets, _table(), found)
    risk: npt.NDArray[np.bool_] = (found & UNKNOWN) != 0
    if composes:
        in_doubt = np.flatnonzero(~risk & ((found & MAY_COMPOSE) != 0))
        part = text.take(pa.array(in_doubt))
        changed = pc.not_equal(pc.utf8_normalize(part, "NFC"), part)
        risk[in_doubt] = changed.to_numpy(zero_copy_only=False)
    if clashes:
        either = "|".join(map(re.escape, clashes))
        risk |= pc.match_substring_regex(text, either).to_numpy(zero_copy_only=False)
    return risk


@cache
def _table() -> npt.NDArray[np.uint8]:
    """(0x110000,) uint8, MAY_COMPOSE and UNKNOWN by code point."""
    frozen = tables()
    rows = frozen.pages.astype(np.int64)[:, None] * PAGE + np.arange(PAGE)
    flags = frozen.flags[rows.reshape(-1)]
    return composing() | np.where((flags & UNASSIGNED) != 0, UNKNOWN, 0).astype(np.uint8)
