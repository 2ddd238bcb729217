"""What the rules of OBELICS measure of a text: its words, marks, and windows that repeat.

Marks are characters of no word, as points. Function words hold English sentences together; lists of
keywords lack them.
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I32, I64, U8, U64, read_only, text_buffers
from tokenmill.dedup.kernels.words import hash_words
from tokenmill.dedup.text import unicode
from tokenmill.dedup.text.words import split_words
from tokenmill.pipelines.core.step import ratio
from tokenmill.pipelines.filters.kernels import node_facts as kernels
from tokenmill.pipelines.filters.kernels.node_facts import IN_TOKEN, POINT, SPECIAL
from tokenmill.pipelines.filters.kernels.urls import fill
from tokenmill.pipelines.filters.text.characters import code_points, point_flags

POINTS = ",;:?!."

# Code points of OBELICS, obelics/utils/filtering_utils.py (commit 0fca7ba): ASCII's punctuation,
# digits and whitespace, some marks and letters, and the emoji of one character of emoji 1.6.1.
MARKS = (
    "9-D 20-40 5B-60 7B-7E 81-85 91-93 95-99 9C-9D A1-A8 AA-AB AD AF-B4 B7-BF D7 F7-F8 131 26A"
    " 2BA-2BC 2C8 2CC 2D0 2D8 2DA 2DC 3C0 413 60C 647 66A 66C 6E9 93E 940 947 94D 97D 9BE E51"
    " 2002-2003 2005 2008-200B 2010-2011 2013-2016 2018-201A 201C-2020 2022 2024 2026 202F-2030"
    " 2032-2033 2039-203A 203F 2043-2044 20A8 20AA 20AC 2103 2190-2193 21D3 2206 2208 2212 221A"
    " 221E-221F 223C 2248 2256 2264-2265 2295 22C5 2550 25A0 25AC 25B2 25B4 25B7 25BA-25BC 25C6"
    " 25CF 25E6 2605-2606 261B 263B 2661 266B 2713 2726 2731 2756 27A4 27A9 2800 3000-3002"
    " 300A-300D 3010-3011 309C 30B7 30C3-30C4 30F3 30FB-30FC 4E00 4E0A 58EB FD3E-FD3F FEFF FF01"
    " FF08-FF09 FF0C FF0E FF11 FF1A-FF1B FF1F FF3E FF5E FFFC-FFFD"
)
EMOJI = (
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2"
    " 25AA-25AB 25B6 25C0 25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626"
    " 262A 262E-262F 2638-263A 2640 2642 2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F"
    " 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8"
    " 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 2708-270D 270F 2712"
    " 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797"
    " 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F0CF"
    " 1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F201-1F202 1F21A 1F22F 1F232-1F23A 1F250-1F251"
    " 1F300-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F4FD"
    " 1F4FF-1F53D 1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590"
    " 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1"
    " 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6D7 1F6DD-1F6E5 1F6E9"
    " 1F6EB-1F6EC 1F6F0 1F6F3-1F6FC 1F7E0-1F7EB 1F7F0 1F90C-1F93A 1F93C-1F945 1F947-1F9FF"
    " 1FA70-1FA74 1FA78-1FA7C 1FA80-1FA86 1FA90-1FAAC 1FAB0-1FABA 1FAC0-1FAC5 1FAD0-1FAD9"
    " 1FAE0-1FAE7 1FAF0-1FAF6"
)


@cache
def marks_table() -> U8:
    """(0x110000,) uint8, the bits of every code point."""
    table = np.zeros(unicode.N_CODE_POINTS, np.uint8)
    table[code_points(MARKS)] |= SPECIAL
    table[code_points(EMOJI)] |= SPECIAL
    table[point_flags() & unicode.WORD != 0] |= IN_TOKEN
    table[ord("'")] |= IN_TOKEN
    table[[ord(point) for point in POINTS]] |= POINT
    return read_only(table)


PADDING = 16  # bytes that may be read behind the last word


class NodeFacts(NamedTuple):
    """Of each text, (n_texts,) float64.

    n_words: pieces between whitespace, less special characters at their ends, if any is left.
    char_repetition: share of windows of characters that are one of the most frequent.
    word_repetition: share of windows of words that occur again in the text.
    special: special characters per character.  points: per token.  n_tokens: points and `[\\w']+`.
    shares: for each list of words, the share of words that are in it; 0 of no words.
    """

    n_words: F64
    char_repetition: F64
    word_repetition: F64
    special: F64
    points: F64
    n_tokens: F64
    shares: tuple[F64, ...]


def node_facts(
    text: pa.Array, *, char_ngram: int, word_ngram: int, lists: Sequence[U64]
) -> NodeFacts:
    """Measure texts.

    text: (n_texts,) string or large_string.  lists: as `word_table` gives them.
    """
    chars = _char_facts(text, char_ngram)
    words, text_words = _stripped_words(text)
    n_words = np.diff(text_words)
    repetition = np.empty(len(text), np.float64)
    tables = _tables(int(n_words.max(initial=1)))
    kernels.repeated_windows(words, text_words, word_ngram, *tables, repetition)
    return NodeFacts(
        n_words.astype(np.float64),
        chars[kernels.REPETITION],
        repetition,
        _share(chars[kernels.N_SPECIAL], chars[kernels.N_CHARS]),
        _share(chars[kernels.N_POINTS], chars[kernels.N_TOKENS]),
        chars[kernels.N_TOKENS],
        tuple(_share(_how_many(words, text_words, known), n_words) for known in lists),
    )


def word_table(words: Collection[str]) -> U64:
    """(2**k,) uint64, what `node_facts` knows the words of a list by; their case is not changed."""
    encoded = [word.encode() for word in sorted(set(words) - {""})]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
    table = np.zeros(1 << max(2, (2 * len(encoded)).bit_length()), np.uint64)
    fill(read_only(_hashes(np.array(bytearray(b"".join(encoded)), np.uint8), ends)), table)
    return read_only(table)


def _char_facts(text: pa.Array, ngram: int) -> F64:
    """(N_CHAR_FACTS, n_texts), a row for each count of the kernel."""
    buffers = text_buffers(text)
    most = int(buffers.lengths.max(initial=1))
    out = np.empty((len(text), kernels.N_CHAR_FACTS), np.float64)
    points, tally = np.empty(most, np.uint32), np.zeros(most + 1, np.int64)
    kernels.char_facts(*buffers, marks_table(), ngram, points, *_tables(most), tally, out)
    return out.T


def _stripped_words(text: pa.Array) -> tuple[U64, I64]:
    """(n_words,) hashes of lower-cased words, and (n_texts + 1,) where each text's begin."""
    found = split_words(text_buffers(text), "whitespace")
    letters, every_end = np.empty_like(found.letters), np.empty_like(found.ends)
    text_words = np.empty_like(found.doc_words)
    kernels.strip_words(*found, marks_table(), letters, every_end, text_words)
    ends = every_end[: text_words[-1]]
    return _hashes(letters[: ends[-1] if len(ends) else 0], ends), text_words


def _hashes(letters: U8, ends: I64) -> U64:
    padded = np.zeros((len(letters) + 2 * PADDING) // 8 * 8, np.uint8)
    padded[: len(letters)] = letters
    out = np.empty(len(ends), np.uint64)
    hash_words(padded.view("<u8"), ends, out)
    return out


def _tables(most: int) -> tuple[U64, I32]:
    """Keys and counts for as many windows."""
    slots = 1 << max(2, (2 * most - 1).bit_length())
    return np.empty(slots, np.uint64), np.empty(slots, np.int32)


def _how_many(words: U64, text_words: I64, known: U64) -> F64:
    """(n_texts,) words of each that are known."""
    out = np.zeros(len(text_words) - 1, np.float64)
    if known.any():
        kernels.count_known(words, text_words, known, out)
    return out


def _share(part: npt.ArrayLike, whole: npt.ArrayLike) -> F64:
    """Part / whole; 0 of nothing, as OBELICS has it."""
    return np.nan_to_num(ratio(part, whole), nan=0.0)


# articles, demonstratives, quantifiers; pronouns and possessives; prepositions; conjunctions and
# what joins clauses; auxiliaries; particles and adverbs of degree, time and place; contractions
_WORDS = """
a an the this that these those all any both each either every few fewer half less little many more
most much neither no none one several some such enough other others another

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves anybody anyone anything
everybody everyone everything nobody nothing somebody someone something oneself who whom whose which
what whoever whatever whichever

about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by concerning despite down during except excluding following
for from in including inside into like near of off on onto opposite out outside over past per
regarding round since than through throughout till to together toward towards under underneath
unlike until up upon versus via with within without

and but or nor so yet because although though if unless whereas whether while when whenever where
wherever why how however once then there therefore thus hence instead otherwise rather lest provided
else

am is are was were be been being do does did doing done have has had having can could may might must
shall should will would ought need dare used get gets got

not never ever even just only also too very quite again already always often still soon now here
away back forth almost perhaps maybe well own same next

i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'll we're
we've we'd we'll they're they've they'd they'll that's there's what's who's let's isn't aren't
wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't
mustn't cannot
"""
ENGLISH = frozenset(_WORDS.split())
