"""The forms in which CCNet compares lines, and datatrove texts as near duplicates.

    ccnet_form    strip ── str.lower ── decimal digits to 0 ── a few marks and controls dropped
    simplified    str.lower ── numbers to 0 ── punctuation and controls to spaces ── white space to
                  one space ── NFD, marks of no width dropped

CCNet lists 34 marks of Chinese, Japanese and European typography. None of ASCII is among them:
"Read more." and "Read more" are two lines. Spaces inside stay, and so do those that dropping brings
to the ends. Tables are frozen at Unicode 14; `simplified` goes by Python's own tables and regular
expressions, at some 30 MB/s.

Sources: `normalize_for_dedup` of facebookresearch/cc_net, text_normalizer.py (Wenzek et al. 2020,
arXiv:1911.00359), with a twin in tests/reference/repeats.py; `simplify_text` of datatrove 0.10 with
its defaults, src/datatrove/utils/text.py, compared by tests/peers/test_datatrove_near.py.
"""

import re
import string
import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import U8, large_strings, read_only, text_buffers
from tokenmill.dedup.kernels import ccnet as kernels
from tokenmill.dedup.text.unicode import DECIMAL_ZEROS, N_CODE_POINTS, code_points, lower_of, tables

# In CCNet's order: full width and ideographic marks, quotes, dashes, an ellipsis, a triangle.
# "1" of full width is one of them, but is a digit first.
PUNCTUATION = code_points(
    "FF0C 3002 3001 201E 201D 201C 00AB 00BB FF11 300D 300C 300A 300B 00B4 2236 FF1A FF1F FF01"
    " FF08 FF09 FF1B 2013 2014 FF0E FF5E 2019 2026 2501 3008 3009 3010 3011 FF05 25BA"
)
CONTROLS = (*range(0x20), *range(0x7F, 0xA0))


def ccnet_form(lines: pa.Array) -> pa.Array:
    """(n,) large_string, the form of each line; lines are equal to CCNet if their forms are.

    lines: (n,) string or large_string, no nulls.

    >>> ccnet_form(pa.array([" Read «More» (12 of 345).\\t"])).to_pylist()
    ['read more (00 of 000).']
    """
    data, offsets = given = text_buffers(lines)
    out = np.empty(given.n_bytes * 3 // 2 + 1, np.uint8)  # "Ⱥ" grows from 2 bytes to 3
    out_offsets = np.empty(len(lines) + 1, np.int64)
    kernels.ccnet_lines(data, offsets, _low(), *tables(), _actions(), out, out_offsets)
    return large_strings(out[: out_offsets[-1]], out_offsets)


@cache
def _low() -> U8:
    """(128,) what becomes of each ASCII byte."""
    low = np.array([lower_of(byte) for byte in range(0x80)], np.uint8)
    low[ord("0") : ord("9") + 1] = ord("0")
    low[[c for c in CONTROLS if c < 0x80]] = kernels.DROPPED
    return read_only(low)


@cache
def _actions() -> U8:
    """(0x110000,) what becomes of each character in lower case; a digit first, then a mark."""
    actions = np.zeros(N_CODE_POINTS, np.uint8)
    actions[[*CONTROLS, *PUNCTUATION]] = kernels.DROP
    for zero in DECIMAL_ZEROS:
        actions[zero : zero + 10] = kernels.ZERO_DIGIT
    return read_only(actions)


MARKS = {*map(ord, string.punctuation), *PUNCTUATION, *CONTROLS} - {0x09, 0x0A}
_TO_SPACES = dict.fromkeys(MARKS, " ")
_NUMBER = re.compile(r"\d+(?:[.,\u060c\u066b\u2396\u2397\u2398]\d+)?")


def simplified(texts: pa.Array) -> pa.Array:
    """The form of each text.

    texts: (n,) string or large_string, no nulls.

    >>> simplified(pa.array(["Café no. 3,75\\n(a “good” one)"])).to_pylist()
    ['cafe no 0 a good one']
    """
    return pa.array([_simplified(text) for text in texts.to_pylist()], pa.large_string())


def _simplified(text: str) -> str:
    low = _NUMBER.sub("0", text.lower())
    spaced = " ".join(low.translate(_TO_SPACES).split())
    if spaced.isascii():
        return spaced
    decomposed = unicodedata.normalize("NFD", spaced)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").strip()
