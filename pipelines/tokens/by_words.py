"""The reference at speed: it encodes each word once, a table remembers the ids.

    " the cat the" --number_words--> 0 1 0 --the reference, of new words--> ids --join_words--> ids

A word is white space and what follows it up to more. That the ids of a text are those of its words
one behind the other holds where the tokenizer splits text at white space and nothing looks past it:

- the first pre-tokenizer parts words whatever stands beside them, and drops white space
  (`WhitespaceSplit`, BERT's) or has it begin a word (`Metaspace`); models, and pre-tokenizers
  behind it, see one word at a time;
- normalizers see a character and its marks, but for the one that makes one space of two. So each
  word that is not of printable ASCII is tried, when it is met, with a space behind it: a document
  in which another word stands behind one that this changes is encoded as a whole;
- no added token has white space in it or beside it.

So Unigram (T5, mT5, XLM-R) and WordPiece (BERT) come out as `tokenizers` makes them, by whatever
version of Unicode it knows.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I32, I64, U8, U32, Bools, parts, text_buffers
from tokenmill.pipelines.tokens.kernels import join_words, measure_words, number_words
from tokenmill.pipelines.tokens.reference import Ragged, TokenizersReference

WHITE = " \t\n\r"
DROPPING = ("WhitespaceSplit", "Whitespace", "BertPreTokenizer")
NORMALIZERS = (
    "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Strip",
    "StripAccents",
)  # fmt: skip
PART_BYTES = 1 << 20  # of text, numbered at once
SLOTS = 1 << 22
JOINED = 64  # new words that the reference is given as one text
MOST_BYTES, MOST_IDS = 1 << 26, 1 << 24  # remembered; then all is forgotten


def maker(reference: TokenizersReference) -> "Callable[[], ByWords] | None":
    """What makes a table for each thread; None where no white space parts words."""
    white = white_space(reference)
    return partial(ByWords, reference, white, _beginning_words(reference)) if white else None


def white_space(reference: TokenizersReference) -> str:
    """The characters of `WHITE` that part words for this tokenizer; none where words do not do."""
    data = reference.settings
    tokens = [t for t in data["added_tokens"] if not (reference.plain and t["special"])]
    normalize = _normalize(reference)
    if (
        any(map(_looks_around, tokens))
        or not all(map(_is_local, _parts(data["normalizer"], "normalizers")))
        or any(_changed(normalize, f"a{chr(c)}") for c in range(0x21, 0x7F))
    ):
        return ""
    first = next(iter(_parts(data["pre_tokenizer"], "pretokenizers")), {"type": ""})
    wanted = " ▁" if _begins_words(first) else WHITE if first["type"] in DROPPING else ""
    return "".join(c for c in WHITE if normalize(f"{c}x")[:1] in [*wanted])


def _parts(found: Mapping[str, Any] | None, inside: str) -> Sequence[Mapping[str, Any]]:
    if found is None:
        return []
    return found[inside] if found["type"] == "Sequence" else [found]


def _begins_words(part: Mapping[str, Any]) -> bool:
    return part["type"] == "Metaspace" and part["replacement"] == "▁" and bool(part["split"])


def _is_local(part: Mapping[str, Any]) -> bool:
    """Whether a normalizer sees no further than a character and its marks, or only more spaces."""
    if part["type"] == "Replace":
        text = part["pattern"].get("String", " ")
        return part["pattern"] == {"Regex": " {2,}"} or not any(c.isspace() for c in text)
    return part["type"] in NORMALIZERS


def _looks_around(token: Mapping[str, Any]) -> bool:
    beside = token["single_word"] or token["lstrip"] or token["rstrip"]
    return beside or any(c.isspace() or c == "▁" for c in token["content"])


def _normalize(reference: TokenizersReference) -> Callable[[str], str]:
    found = reference.tokenizer.normalizer
    return found.normalize_str if found else str


def _plain(word: str) -> bool:
    return word.isascii() and word.lstrip(WHITE).isprintable()


def _changed(normalize: Callable[[str], str], word: str) -> bool:
    """Whether it makes a difference to a word, or to a space, that one stands before the other."""
    return normalize(f"{word} x") != normalize(word) + normalize(" x")


def _beginning_words(reference: TokenizersReference) -> Bools | None:
    """Which ids begin a word, and stand nowhere else; None where that is not told."""
    data = reference.settings
    parts = _parts(data["pre_tokenizer"], "pretokenizers")
    marked = [part for part in parts if _begins_words(part) and part["prepend_scheme"] == "always"]
    if not marked or any(not (reference.plain and t["special"]) for t in data["added_tokens"]):
        return None
    found = np.zeros(reference.largest_id + 1, np.bool_)
    vocabulary = reference.tokenizer.get_vocab(with_added_tokens=True)
    found[[i for token, i in vocabulary.items() if token.startswith("▁")]] = True
    return found


class ByWords:
    """A table of words and their ids, for one thread. See `FastEngine`.

    white: characters that part words.  begins: as `_beginning_words`.
    """

    def __init__(self, reference: TokenizersReference, white: str, begins: Bools | None) -> None:
        self._reference = reference
        self._normalize = _normalize(reference)
        self._begins, self._white = begins, white
        self._space = np.zeros(256, np.uint8)
        self._space[[ord(c) for c in white]] = 1
        self._forget(SLOTS)

    def _forget(self, slots: int) -> None:
        self._n = 0  # words known; their bounds in letters and in ids have one more
        self._table: I32 = np.zeros(slots, np.int32)
        self._bounds: I64 = np.zeros(1, np.int64)
        self._id_bounds: I64 = np.zeros(1, np.int64)
        self._letters: U8 = np.zeros(0, np.uint8)
        self._ids: U32 = np.zeros(0, np.uint32)
        self._apart: U8 = np.zeros(0, np.uint8)

    def encode(self, text: pa.Array) -> Ragged:
        made = [self._part(text[some]) for some in parts(text_buffers(text).lengths, PART_BYTES)]
        lengths = [np.diff(part.offsets) for part in made]
        offsets = np.concatenate([np.zeros(1, np.int64), *lengths])
        ids = np.concatenate([np.zeros(0, np.uint32), *(part.ids for part in made)])
        return Ragged(ids, np.cumsum(offsets))

    def _part(self, text: pa.Array) -> Ragged:
        view = text_buffers(text)
        n_bytes = int(view.lengths.sum())
        most = n_bytes // 2 + len(text) + 1  # words there may be
        self._make_room(n_bytes, most)
        words, starts = np.empty(most, np.int64), np.zeros(len(text) + 1, np.int64)
        n = number_words(
            view.data, view.offsets, self._space, self._table, self._bounds, self._letters, self._n,
            words, starts,
        )  # fmt: skip
        self._learn(n)
        offsets, whole = np.empty(len(text) + 1, np.int64), np.empty(len(text), np.uint8)
        measure_words(words, starts, self._id_bounds, self._apart, offsets, whole)
        ids = np.empty(offsets[-1], np.uint32)
        join_words(words[: starts[-1]], self._id_bounds, self._ids, ids)
        return self._with_whole(text, Ragged(ids, offsets), np.flatnonzero(whole))

    def _make_room(self, n_bytes: int, most: int) -> None:
        full = self._bounds[self._n] + n_bytes > MOST_BYTES or self._id_bounds[self._n] > MOST_IDS
        if full or 2 * (self._n + most) > len(self._table):
            self._forget(max(SLOTS, 1 << (4 * most).bit_length()))
        self._bounds = _room(self._bounds, self._n + most + 1)
        self._letters = _room(self._letters, int(self._bounds[self._n]) + n_bytes)

    def _learn(self, n: int) -> None:
        """Have the reference encode the words from the first new one to `n`."""
        if n == self._n:
            return
        at = self._bounds[self._n : n + 1]
        letters = pa.py_buffer(self._letters[at[0] : at[-1]])
        new = pa.LargeStringArray.from_buffers(n - self._n, pa.py_buffer(at - at[0]), letters)
        texts = new.to_pylist()
        plain = [_plain(t) for t in texts]
        apart = [not p and _changed(self._normalize, t) for t, p in zip(texts, plain, strict=True)]
        found = self._encoded(texts, [not a for a in apart])
        ends = self._id_bounds[self._n] + np.cumsum([len(ids) for ids in found])
        ids = np.fromiter(chain.from_iterable(found), np.uint32)
        self._ids = _put(self._ids, self._id_bounds[self._n], ids)
        self._id_bounds = _put(self._id_bounds, self._n + 1, ends)
        self._apart = _put(self._apart, self._n, apart)
        self._n = n

    def _encoded(self, texts: Sequence[str], closed: Sequence[bool]) -> list[list[int]]:
        """The ids of words: of many in one text, which costs half, where ids tell them apart."""
        found: dict[int, list[int]] = {}
        if self._begins is not None:
            simple = [i for i, t in enumerate(texts) if closed[i] and self._is_simple(t)]
            groups = [simple[at : at + JOINED] for at in range(0, len(simple), JOINED)]
            joined = self._reference.encode(["".join(texts[i] for i in g) for g in groups])
            for group, ids in zip(groups, joined, strict=True):
                at = np.flatnonzero(self._begins[ids]).tolist()
                if len(at) == len(group) and at[0] == 0:
                    parted = (ids[a:b] for a, b in pairwise([*at, len(ids)]))
                    found.update(zip(group, parted, strict=True))
        alone = [i for i in range(len(texts)) if i not in found]
        found.update(zip(alone, self._reference.encode([texts[i] for i in alone]), strict=True))
        return [found[i] for i in range(len(texts))]

    def _is_simple(self, word: str) -> bool:
        """Whether a word stays one, begun by white space, when it is normalized."""
        if word[0] not in self._white or "▁" in word:
            return False
        return _plain(word) or len(self._normalize(word).split()) == 1

    def _with_whole(self, text: pa.Array, made: Ragged, rows: I64) -> Ragged:
        """With the ids of some documents as the reference makes them of the whole text."""
        if not len(rows):
            return made
        cut = np.split(made.ids, made.offsets[1:-1])
        whole = self._reference.encode(text.take(pa.array(rows)).to_pylist())
        for row, ids in zip(rows, whole, strict=True):
            cut[row] = np.array(ids, np.uint32)
        return Ragged(np.concatenate(cut), np.cumsum([0, *map(len, cut)]))


def _room(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """The array with at least `n` elements; the new ones are of any value."""
    more = max(n, 2 * len(array)) - len(array)
    return array if n <= len(array) else np.concatenate([array, np.empty(more, array.dtype)])


def _put(array: npt.NDArray[Any], at: int, values: Any) -> npt.NDArray[Any]:
    """The array with these values from `at` on."""
    array = _room(array, at + len(values))
    array[at : at + len(values)] = values
    return array
