"""Text to token ids, exactly as the tokenizer's own library makes them, with the ends we state.

    batch --guard--> safe documents --gigatoken--> ids ──┬─ a few made both ways
                     the others ---reference-----> ids ──┴─> ids with bos, eos

The post-processor of a tokenizer file (which may add [CLS], <s>, …) is not run: which
ids stand at the ends of a document is the recipe's word. Nor does literal text such as
"<|endoftext|>" become a control token unless the recipe says so.
"""

import functools
import os
import threading
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, U32, Bools, parts, text_buffers
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.tokens.engines import FastEngine, differences, fast_engine, risky
from tokenmill.pipelines.tokens.kernels import place
from tokenmill.pipelines.tokens.options import IdType, Tokenizer
from tokenmill.pipelines.tokens.reference import Ragged, Reference, UnencodableError, open_reference

DEEPSEEK = "<\uff5c{}\u2581of\u2581sentence\uff5c>"
END, BEGIN = DEEPSEEK.format("end"), DEEPSEEK.format("begin")
COMMON = {
    "eos": ("<|endoftext|>", "<|end_of_text|>", END, "</s>", "<eos>", "[SEP]"),
    "bos": ("<|begin_of_text|>", BEGIN, "<s>", "<bos>", "[CLS]"),
}
ENCODE_BYTES = 1 << 18  # text handed to the reference at once, about; its objects cost ~30x that
CHECKED_DOCS, CHECKED_CHARS = 8, 250  # of each batch, made both ways
UINT16_IDS = 1 << 16


class Tokens(NamedTuple):
    """Documents as ids of the engine's dtype: document `i` is `ids[offsets[i]:offsets[i + 1]]`.

    slow: (n_docs,) those that the reference encoded.  by: documents by the engine's name.
    """

    ids: npt.NDArray[np.generic]
    offsets: I64
    slow: Bools
    by: dict[str, int]


class MismatchError(Exception):
    """The fast engine made other ids than the reference; encode with the reference instead."""


class Engine:
    """A loaded tokenizer that encodes text columns. Make it with `load_engine`.

    name: of the library that encodes most, with its version.
    why: the reason if that is not the fast one, else empty.
    image_id: what stands for an image: the vocabulary's own token of that name, else one more
        than its largest; None where documents have no images.
    """

    def __init__(self, config: Tokenizer, dtype: IdType, image_token: str | None) -> None:
        self.reference = open_reference(config.path, plain=config.special_tokens_in_text == "plain")
        self._wanted = config.engine
        self.eos_id = _end_id(self.reference, config, "eos", config.eos)
        self.bos_id = _end_id(self.reference, config, "bos", config.bos)
        self.largest_id = self.reference.largest_id
        self.image_id, named = None, config.path
        if image_token is not None:
            own = self.reference.token_to_id(image_token)
            self.image_id = self.largest_id + 1 if own is None else own
            named += "" if own is not None else f" with {image_token!r} added"
        self.dtype = _id_dtype(dtype, max(self.largest_id, self.image_id or 0), named)
        self.digest = self.reference.digest
        self._found: tuple[FastEngine | None, str] | None = None
        self._finding = threading.Lock()

    def _chosen(self) -> tuple[FastEngine | None, str]:
        """Opened when something is to be encoded: who asks a finished run asks for the digest."""
        with self._finding:
            if self._found is None and self._wanted == "auto":
                self._found = fast_engine(self.reference)
            return self._found or (None, "the recipe says so")

    @property
    def _fast(self) -> FastEngine | None:
        return self._chosen()[0]

    @property
    def why(self) -> str:
        return self._chosen()[1]

    @property
    def name(self) -> str:
        return self._fast.name if self._fast else self.reference.name

    def encode(self, text: pa.Array, *, ends: bool = True, checked: bool = True) -> Tokens:
        """Encode a text column without nulls; every document gets its bos and eos.

        ends: without them, where False: text that is part of a document.
        checked: the beginnings of a few documents are made both ways first.
        MismatchError: a document that was made both ways came out differently, or the fast
            engine gave up on one.
        UnencodableError: the reference gave up on one.
        """
        n = len(text)
        slow = np.ones(n, np.bool_)
        if self._fast is not None:
            slow = risky(text, composes=self._fast.composes, clashes=self._fast.clashes)
        made = []
        fast = functools.partial(self._encode_fast, checked=checked)
        for here, encode in ((~slow, fast), (slow, self._encode_exactly)):
            rows = np.flatnonzero(here)
            if len(rows):
                made.append((rows, encode(text if len(rows) == n else text.take(pa.array(rows)))))
        ids, offsets = self._laid_out(n, made, ends=ends)
        return Tokens(ids, offsets, slow, self.counted(slow))

    def counted(self, slow: Bools) -> dict[str, int]:
        """Documents by the engine that encoded them. slow: (n_docs,) as in `Tokens`."""
        n = int(slow.sum())
        by = {} if self._fast is None or n == len(slow) else {self._fast.name: len(slow) - n}
        return by | ({self.reference.name: n} if n else {})

    def _encode_fast(self, text: pa.Array, *, checked: bool) -> Ragged:
        assert self._fast is not None
        if checked:
            self._check(self._fast, text)
        return _made_by(self._fast, text)

    def _check(self, fast: FastEngine, text: pa.Array) -> None:
        places = sorted({i * len(text) // CHECKED_DOCS for i in range(CHECKED_DOCS)})
        texts = pc.utf8_slice_codeunits(text.take(pa.array(places)), 0, CHECKED_CHARS)
        some = texts.to_pylist()
        differing = differences(self.reference.encode(some), _made_by(fast, texts))
        if differing:
            raise MismatchError(
                f"{fast.name} and {self.reference.name} make other ids of"
                f" {some[differing[0]][:60]!r}"
            )

    def _encode_exactly(self, text: pa.Array) -> Ragged:
        ids: list[U32] = []
        lengths = [0]
        for some in parts(text_buffers(text).lengths, ENCODE_BYTES):
            documents = self.reference.encode(text[some].to_pylist())
            lengths += map(len, documents)
            ids.append(np.fromiter(chain.from_iterable(documents), np.uint32))
        return Ragged(np.concatenate(ids), np.cumsum(lengths))

    def _laid_out(
        self, n: int, made: list[tuple[I64, Ragged]], *, ends: bool
    ) -> tuple[npt.NDArray[np.generic], I64]:
        bos, eos = (-1 if i is None or not ends else i for i in (self.bos_id, self.eos_id))
        offsets = np.zeros(n + 1, np.int64)
        for rows, of in made:
            offsets[rows + 1] = np.diff(of.offsets) + (bos >= 0) + (eos >= 0)
        np.cumsum(offsets, out=offsets)
        ids = np.empty(int(offsets[-1]), self.dtype)
        for rows, of in made:
            place(of.ids, of.offsets[:-1], of.offsets[1:], rows, bos, eos, ids, offsets)
        return ids, offsets


def _made_by(fast: FastEngine, text: pa.Array) -> Ragged:
    """What the fast engine makes; where it gives up the reference may not."""
    try:
        return fast.encode(text)
    except UnencodableError as e:
        raise MismatchError(f"{fast.name} gave up: {e}") from None


def load_engine(
    config: Tokenizer, dtype: IdType = "auto", image_token: str | None = None
) -> Engine:
    """Load the tokenizer, once a process as long as its file stays the same.

    ConfigError: no such file or hub model, not a tokenizer, no such end token,
        or ids that do not fit `dtype`.
    """
    try:
        found = os.stat(config.path)
        stamp = found.st_mtime_ns, found.st_size
    except OSError:
        stamp = None  # a hub id, or a path that loading will complain about
    return _loaded(config, dtype, image_token, stamp)


@functools.lru_cache(maxsize=4)
def _loaded(config: Tokenizer, dtype: IdType, image_token: str | None, stamp: object) -> Engine:
    return Engine(config, dtype, image_token)


def _end_id(reference: Reference, config: Tokenizer, key: str, wanted: bool | str) -> int | None:
    if wanted is False:
        return None
    names = COMMON[key] if wanted is True else (wanted,)
    for name in names:
        found = reference.token_to_id(name)
        if found is not None:
            return found
    raise ConfigError(
        f"tokenizer.{key}: {config.path} has no token {' or '.join(names)};"
        f' name its token (tokenizer.{key}: "<...>") or turn it off ({key}: false)'
    )


def _id_dtype(dtype: str, largest_id: int, path: str) -> np.dtype[np.generic]:
    if dtype == "auto":
        dtype = "uint16" if largest_id < UINT16_IDS else "int32"
    if largest_id > np.iinfo(dtype).max:
        raise ConfigError(
            f"output.dtype: {path} has ids up to {largest_id}, which {dtype} cannot hold"
            f"; use {'uint32' if largest_id > np.iinfo(np.int32).max else 'auto'}"
        )
    return np.dtype(dtype)
