"""Text to token ids, exactly as `tokenizers` makes them, with the document ends we state.

The post-processor of a tokenizer file (which may add [CLS], <s>, …) is not run: which
ids stand at the ends of a document is the recipe's word. Nor does literal text such as
"<|endoftext|>" become a control token unless the recipe says so.
"""

import functools
import hashlib
import os
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tokenizers
from pydantic import AfterValidator

from dedup.arrow_text import text_buffers
from pipelines.config import Config
from pipelines.errors import ConfigError

DEEPSEEK = "<\uff5c{}\u2581of\u2581sentence\uff5c>"
END_TOKENS = (
    "<|endoftext|>",
    "<|end_of_text|>",
    DEEPSEEK.format("end"),
    "</s>",
    "<eos>",
    "[SEP]",
)
START_TOKENS = ("<|begin_of_text|>", DEEPSEEK.format("begin"), "<s>", "<bos>", "[CLS]")
ENCODE_BYTES = 1 << 18  # text handed to the engine at once; its Encoding objects cost ~30x that
UINT16_IDS = 1 << 16


def _absolute_if_file(path: str) -> str:
    """A hub id stays as it is; a file is named wholly, so that a run can be looked at later."""
    return os.path.abspath(path) if os.path.isfile(path) else path


class Tokenizer(Config):
    """Which tokenizer, and what stands around a document.

    path: a `tokenizer.json`, or the id of a model on the Hugging Face hub.
    eos, bos: append or prepend the end- or start-of-document token: true for the one the
        vocabulary has by a common name, a string for that very token, false for none.
    special_tokens_in_text: what "<|endoftext|>" written in a document becomes: the ids of
        its characters (plain), or the control token itself (id).
    """

    path: Annotated[str, AfterValidator(_absolute_if_file)]
    eos: bool | str = True
    bos: bool | str = False
    special_tokens_in_text: Literal["plain", "id"] = "plain"


class Tokens(NamedTuple):
    """Documents as ids: document `i` is `ids[offsets[i]:offsets[i + 1]]`.

    ids: (n_tokens,) of the engine's dtype.  offsets: (n_docs + 1,) int64.
    """

    ids: npt.NDArray[np.generic]
    offsets: npt.NDArray[np.int64]


class Engine:
    """A loaded tokenizer that encodes text columns. Make it with `load_engine`."""

    def __init__(self, config: Tokenizer, dtype: Literal["auto", "uint16", "uint32", "int32"]):
        self.name = f"tokenizers {tokenizers.__version__}"
        self._tokenizer = open_tokenizer(config.path)
        if getattr(self._tokenizer.model, "dropout", None):
            raise ConfigError(
                f"{config.path}: has BPE dropout {self._tokenizer.model.dropout}, which draws other"
                " ids each time; set it to null in the file"
            )
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = config.special_tokens_in_text == "plain"
        self.eos_id = _end_id(self._tokenizer, config, config.eos, END_TOKENS, "eos")
        self.bos_id = _end_id(self._tokenizer, config, config.bos, START_TOKENS, "bos")
        self.largest_id = max(self._tokenizer.get_vocab(with_added_tokens=True).values())
        self.dtype = _id_dtype(dtype, self.largest_id, config.path)
        # the file's own text, so that the same recipe over another vocabulary is another run
        self.digest = hashlib.md5(self._tokenizer.to_str().encode()).hexdigest()

    def encode(self, text: pa.Array) -> Tokens:
        """Encode a text column without nulls; every document gets its bos and eos."""
        parts: list[npt.NDArray[np.generic]] = []
        counts: list[int] = []
        head = [] if self.bos_id is None else [self.bos_id]
        tail = [] if self.eos_id is None else [self.eos_id]
        for piece in _pieces(text):
            encoded = self._tokenizer.encode_batch_fast(piece.to_pylist(), add_special_tokens=False)
            for document in encoded:
                ids = np.array([*head, *document.ids, *tail], self.dtype)
                parts.append(ids)
                counts.append(len(ids))
        offsets = np.zeros(len(text) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        return Tokens(np.concatenate(parts) if parts else np.empty(0, self.dtype), offsets)


def load_engine(
    config: Tokenizer, dtype: Literal["auto", "uint16", "uint32", "int32"] = "auto"
) -> Engine:
    """Load the tokenizer, once a process as long as its file stays the same.

    Raises:
        ConfigError: no such file or hub model, not a tokenizer, no such end token,
            or ids that do not fit `dtype`.
    """
    try:
        found = os.stat(config.path)
        stamp = found.st_mtime_ns, found.st_size
    except OSError:
        stamp = None  # a hub id, or a path that loading will complain about
    return _loaded(config, dtype, stamp)


@functools.lru_cache(maxsize=4)
def _loaded(
    config: Tokenizer, dtype: Literal["auto", "uint16", "uint32", "int32"], stamp: object
) -> Engine:
    return Engine(config, dtype)


def open_tokenizer(path: str) -> tokenizers.Tokenizer:
    """A tokenizer by file or hub id.

    Raises:
        ConfigError: neither, or not a tokenizer.
    """
    if os.path.isfile(path):
        try:
            return tokenizers.Tokenizer.from_file(path)
        except Exception as e:  # the library raises no narrower one
            raise ConfigError(f"{path}: not a tokenizer.json ({e})") from e
    if path.endswith(".json") or path.count("/") > 1 or path.startswith((".", "/", "~")):
        raise ConfigError(f"{path}: no such tokenizer file; name a tokenizer.json or a hub id")
    try:
        return tokenizers.Tokenizer.from_pretrained(path)
    except Exception as e:  # whatever the network or the hub answers
        raise ConfigError(
            f"tokenizer {path!r} is no file here and could not be had from the hub"
            f" ({type(e).__name__}); download its tokenizer.json and name the file"
        ) from e


def _end_id(
    tokenizer: tokenizers.Tokenizer,
    config: Tokenizer,
    wanted: bool | str,
    common: tuple[str, ...],
    key: str,
) -> int | None:
    if wanted is False:
        return None
    names = common if wanted is True else (wanted,)
    for name in names:
        found = tokenizer.token_to_id(name)
        if found is not None:
            return int(found)
    raise ConfigError(
        f"tokenizer.{key}: {config.path} has no token {' or '.join(names)};"
        f' name its token (tokenizer.{key}: "<...>") or turn it off ({key}: false)'
    )


def _id_dtype(dtype: str, largest_id: int, path: str) -> np.dtype[np.generic]:
    if dtype == "auto":
        return np.dtype(np.uint16 if largest_id < UINT16_IDS else np.int32)
    if largest_id > np.iinfo(dtype).max:
        raise ConfigError(
            f"output.dtype: {path} has ids up to {largest_id}, which {dtype} cannot hold; use auto"
        )
    return np.dtype(dtype)


def _pieces(text: pa.Array) -> Iterator[pa.Array]:
    """Slices of about `ENCODE_BYTES`, one document at least."""
    ends = text_buffers(text).offsets
    start = 0
    while start < len(text):
        stop = int(np.searchsorted(ends, ends[start] + ENCODE_BYTES, side="right")) - 1
        stop = max(stop, start + 1)
        yield text.slice(start, stop - start)
        start = stop
