"""The fast way from text to ids: gigatoken, where it has shown that it makes the same ids.

It is given the reference's own file, without the control tokens where their text is to stay
text. Before it is used it must agree with the reference on `adversarial` texts; documents that
`guard` finds go to the reference; and of every batch a few are made both ways.
"""

import json
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.pipelines.encode.added import clashes
from tokenmill.pipelines.encode.adversarial import adversarial
from tokenmill.pipelines.encode.reference import Reference, TokenizersReference

# Its cache of split-off pieces has no bound (0.10.0). Prose adds little; 160 MB of random
# letters added 1.1 GB.
RENEW_TEXT_BYTES = 1 << 30
RENEW_GROWN_BYTES = 192 << 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LARGEST_ID = 1 << 24
MOST_CLASHES = 500  # of added tokens, looked for in every document
CHECKED_TOKENS = 64  # added tokens in the check; a vocabulary may have thousands, alike


class Ragged(NamedTuple):
    """Ids of some documents: document `i` is `ids[offsets[i]:offsets[i + 1]]`.

    ids: (n_tokens,) uint32.  offsets: (n_docs + 1,) int64.
    """

    ids: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]


class FastEngine:
    """Some engines of one vocabulary: one for each thread at work, since one serves one thread.

    composes: the tokenizer composes text (NFC) before splitting it.
    clashes: texts that it may read otherwise; see `added`.
    """

    def __init__(
        self, name: str, vocabulary: str, *, composes: bool, clashes: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.composes = composes
        self.clashes = tuple(clashes)
        self._vocabulary = vocabulary
        self._idle: list[_Renewed] = []
        self._lock = threading.Lock()

    def encode(self, text: pa.Array) -> Ragged:
        """The ids of each document, without any start or end."""
        with self._engine() as engine:
            return engine.encode(text)

    @contextmanager
    def _engine(self) -> Iterator["_Renewed"]:
        with self._lock:
            engine = self._idle.pop() if self._idle else None
        engine = engine or _Renewed(self._vocabulary)
        yield engine
        with self._lock:
            self._idle.append(engine)


class _Renewed:
    """An engine that is made anew when its cache has grown."""

    def __init__(self, vocabulary: str) -> None:
        self._vocabulary = vocabulary
        self._made: Any = None
        self._text_bytes = self._grown = 0

    def encode(self, text: pa.Array) -> Ragged:
        if self._made is None:
            self._made = _open(self._vocabulary)
        before = _resident()
        found = self._made.encode_batch(_awkward(text), parallel=False).layout
        ids, offsets = np.asarray(found.content.data), np.asarray(found.offsets.data)
        self._grown += max(0, _resident() - before - ids.nbytes - offsets.nbytes)
        self._text_bytes += int(text_buffers(text).lengths.sum())
        if self._text_bytes > RENEW_TEXT_BYTES or self._grown > RENEW_GROWN_BYTES:
            self._made, self._text_bytes, self._grown = None, 0, 0
        return Ragged(ids, offsets)


def _awkward(text: pa.Array) -> Any:
    """The column as an Awkward array over the same memory."""
    import awkward  # takes 0.24 s, and only those who encode need it

    view = text_buffers(text)
    first, last = view.offsets[[0, -1]]
    characters = awkward.contents.NumpyArray(
        view.data[first:last], parameters={"__array__": "char"}
    )
    offsets = awkward.index.Index64(view.offsets - first)
    strings = awkward.contents.ListOffsetArray(
        offsets, characters, parameters={"__array__": "string"}
    )
    return awkward.Array(strings)


def _open(vocabulary: str) -> Any:
    import gigatoken

    # By a file: `tokenizers` would number added tokens anew where others were taken out.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(vocabulary, encoding="utf-8")
        return gigatoken.Tokenizer(path)


def _resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def fast_engine(reference: Reference) -> tuple[FastEngine | None, str]:
    """The fast engine for a tokenizer, or None and why there is none for it."""
    if not isinstance(reference, TokenizersReference):
        return None, f"{reference.name} is the only one for such files"
    data = json.loads(reference.tokenizer.to_str())
    refusal = _refused(data, plain=reference.plain)
    if refusal:
        return None, refusal
    try:
        name = f"gigatoken {version('gigatoken')}"
    except PackageNotFoundError:
        return None, "gigatoken is not installed"
    tokens = [token["content"] for token in data["added_tokens"]]
    clashing = clashes(data["added_tokens"], plain=reference.plain)
    if reference.plain:
        data["added_tokens"] = [t for t in data["added_tokens"] if not t["special"]]
    data["post_processor"] = None  # which ids stand at the ends is the recipe's word
    composes = bool(_normalizers(data))
    made = FastEngine(name, json.dumps(data), composes=composes, clashes=clashing)
    texts = list(adversarial([*tokens[:CHECKED_TOKENS], *tokens[-CHECKED_TOKENS:]]))
    try:
        differing = differences(reference, texts, made.encode(pa.array(texts, pa.large_string())))
    except Exception as e:  # noqa: BLE001 - whatever it cannot read, the reference can
        said = next(iter(str(e).splitlines()), "")
        return None, f"{name} cannot be used with this vocabulary ({type(e).__name__}: {said})"
    if differing:
        return None, (
            f"{name} makes other ids of {len(differing)} of {len(texts)} test texts, the first"
            f" is {texts[differing[0]][:40]!r}"
        )
    return made, ""


def differences(reference: Reference, texts: Sequence[str], found: Ragged) -> list[int]:
    """The places of texts whose ids are not the reference's."""
    expected = reference.encode(texts)
    at = found.offsets
    return [
        i for i, ids in enumerate(expected) if found.ids[at[i] : at[i + 1]].tolist() != list(ids)
    ]


def _refused(data: dict[str, Any], *, plain: bool) -> str:
    """Why a vocabulary is not for the fast engine; the empty string if it may be."""
    model = data["model"]
    if model["type"] != "BPE":
        return f"the model is {model['type']}, not BPE"
    if model.get("byte_fallback"):
        return "the model falls back to bytes, as SentencePiece's do"
    if max(model["vocab"].values(), default=0) > LARGEST_ID:
        return f"it has ids over {LARGEST_ID}, for each of which gigatoken takes memory"
    others = [n for n in _normalizers(data) if n != "NFC"]
    if others:
        return f"it normalizes text by {', '.join(others)}"
    return _refused_tokens(data["added_tokens"], plain=plain)


def _refused_tokens(tokens: list[dict[str, Any]], *, plain: bool) -> str:
    single = next((t["content"] for t in tokens if t["single_word"]), None)
    if single is not None:
        return f"its added token {single!r} counts only as a word of its own"
    found = len(clashes(tokens, plain=plain))
    return f"its added tokens overlap in {found} ways" if found > MOST_CLASHES else ""


def _normalizers(data: dict[str, Any]) -> list[str]:
    found = data["normalizer"]
    if found is None:
        return []
    parts = found["normalizers"] if found["type"] == "Sequence" else [found]
    return [part["type"] for part in parts]
