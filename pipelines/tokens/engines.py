"""The fast way from text to ids: gigatoken, where it has shown that it makes the same ids.

Where gigatoken cannot read a vocabulary, nanotoken does (WordPiece, if it is installed), or else
the reference itself encodes each word once (`by_words`).

They are given the reference's own file, a SentencePiece model as a tokenizer.json, without the
control tokens where their text is to stay text. Before it is used it must agree with the reference
on `adversarial` texts, on which tokenizers tend to differ; `risky` documents go to the reference;
and of every batch a few are made both ways.

Two libraries that know different versions of Unicode split and compose some characters
differently: those that the older one has not heard of. Documents without them are safe, by
Unicode's stability policy (a character once assigned keeps its composition), and measured: of
all code points, in four vocabularies, gigatoken 0.10.0 and tokenizers 0.23.3 differ on 4,787,
all unassigned in Unicode 14, and, composing, on one mark that was not in canonical order.

Added tokens too may be read otherwise (`clashes`). `tokenizers` looks for tokens of one kind after
those of another: first those that are not normalized; and where control tokens stay text it still
steps over them. gigatoken takes whichever begins first. They agree but where tokens of two kinds
share characters.
"""

import json
import os
import re
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import U8, Bools, text_buffers
from tokenmill.dedup.text.unicode import UNASSIGNED
from tokenmill.pipelines.filters.kernels.controls import MAY_COMPOSE, find_work
from tokenmill.pipelines.filters.normalize import composing
from tokenmill.pipelines.filters.text.characters import point_flags
from tokenmill.pipelines.tokens.by_words import maker
from tokenmill.pipelines.tokens.reference import Ragged, Reference, TokenizersReference, giving_up

UNKNOWN = 4


def risky(text: pa.Array, *, composes: bool, clashes: Sequence[str] = ()) -> Bools:
    """(n_docs,) documents with characters that are newer than Unicode 14.

    composes: the tokenizer brings text to NFC first; then documents that are not in NFC yet
        count too.
    clashes: documents that contain one of these texts count too.
    """
    buffers = text_buffers(text)
    found = np.empty(len(text), np.uint8)
    find_work(buffers.data, buffers.offsets, _table(), found)
    risk: Bools = (found & UNKNOWN) != 0
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
def _table() -> U8:
    """(0x110000,) uint8, MAY_COMPOSE and UNKNOWN by code point."""
    unknown = point_flags() & UNASSIGNED != 0
    return composing() | np.where(unknown, UNKNOWN, 0).astype(np.uint8)


Kind = tuple[bool, bool]


def clashes(tokens: Sequence[Mapping[str, Any]], *, plain: bool) -> list[str]:
    """The shortest texts in which tokens of two kinds share characters, each once, in order.

    tokens: as a tokenizer.json lists them.  plain: control tokens stay text.
    """
    kinds = {t["content"]: (t["normalized"], plain and t["special"]) for t in tokens}
    return sorted({*_within(kinds), *_overlapping(kinds)})


def _within(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """Tokens that hold one of another kind."""
    for token, kind in kinds.items():
        n = len(token)
        parts = (token[a:b] for a in range(n) for b in range(a + 1, n + 1))
        if any(kinds.get(part, kind) != kind for part in parts):
            yield token


def _overlapping(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """Two tokens written as one, where the end of the first begins the second."""
    beginning: dict[str, list[str]] = defaultdict(list)
    for token in kinds:
        for stop in range(1, len(token)):
            beginning[token[:stop]].append(token)
    for token, kind in kinds.items():
        for start in range(1, len(token)):
            for other in beginning.get(token[start:], ()):
                if kinds[other] != kind:
                    yield token[:start] + other


PIECES = tuple(json.loads(Path(__file__).with_name("adversarial.json").read_bytes()))
EVERY = 61  # one code point in so many; no block has fewer but a few of hardly used letters


@cache
def _of_every_block() -> tuple[str, ...]:
    """Characters of the whole of Unicode, as far as any library knows them, 32 a text."""
    known = np.flatnonzero(point_flags()[:0x32000] & UNASSIGNED == 0)
    points = [c for c in known[::EVERY].tolist() if not 0xD800 <= c < 0xE000]
    parts = (points[at : at + 32] for at in range(0, len(points), 32))
    return tuple("".join(f"a{chr(c)} {chr(c)}" for c in part) for part in parts)


def adversarial(tokens: Iterable[str]) -> Iterator[str]:
    """Every piece alone, between letters, digits and spaces, and before each other; and so each
    of `tokens`, the texts of added tokens; and characters of all scripts.
    """
    tokens = list(tokens)
    for piece in (*PIECES, *tokens):
        yield piece
        yield f"a{piece}b {piece} 1{piece}2\n{piece}{piece}."
    yield "".join(PIECES)
    yield " ".join(PIECES)
    yield from (first + second for first, second in pairwise(PIECES))
    yield from _of_every_block()
    for token in tokens:
        half = len(token) // 2
        yield f"{token[:half]}{token}{token[half:]} {token[:-1]} {token[1:]}"


# Its cache of split-off pieces has no bound (0.10.0). Prose adds little; 160 MB of random
# letters added 1.1 GB.
RENEW_TEXT_BYTES = 1 << 30
RENEW_GROWN_BYTES = 192 << 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LARGEST_ID = 1 << 24
SPACES = {  # what vocabularies that fall back to bytes do to a text: SentencePiece's letter for " "
    "▁ before": {"type": "Prepend", "prepend": "▁"},
    "▁ for a space": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
}
MOST_CLASHES = 500  # of added tokens, looked for in every document
CHECKED_TOKENS = 64  # added tokens in the check; a vocabulary may have thousands, alike


class Encoder(Protocol):
    """What makes ids for one thread at a time."""

    def encode(self, text: pa.Array) -> Ragged:
        """The ids of each document, without any start or end."""
        ...


class FastEngine:
    """Some encoders of one vocabulary: one for each thread at work, since one serves one thread.

    make: a new encoder.
    composes: the tokenizer composes text (NFC) before splitting it.
    clashes: texts that it may read otherwise; see `added`.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Encoder],
        *,
        composes: bool = False,
        clashes: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.composes = composes
        self.clashes = tuple(clashes)
        self._make = make
        self._idle: list[Encoder] = []
        self._lock = threading.Lock()

    def encode(self, text: pa.Array) -> Ragged:
        """The ids of each document, without any start or end."""
        with self._lock:
            encoder = self._idle.pop() if self._idle else None
        encoder = encoder or self._make()  # others need not wait while it is made
        found = encoder.encode(text)
        with self._lock:
            self._idle.append(encoder)
        return found


class _Renewed:
    """An engine that is made anew when its cache has grown."""

    def __init__(self, vocabulary: str) -> None:
        self._vocabulary = vocabulary
        self._made: Any = None
        self._text_bytes = self._grown = 0

    def encode(self, text: pa.Array) -> Ragged:
        if self._made is None:
            self._made = _open("gigatoken", self._vocabulary)
        before = _resident()
        with giving_up():
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


def _open(library: str, vocabulary: str) -> Any:
    # By a file: `tokenizers` would number added tokens anew where others were taken out.
    with tempfile.TemporaryDirectory() as folder, giving_up():
        path = Path(folder) / "tokenizer.json"
        path.write_text(vocabulary, encoding="utf-8")
        return import_module(library).Tokenizer(path)


class _Nanotoken:
    """WordPiece. Its own cache has a bound."""

    def __init__(self, vocabulary: str) -> None:
        self._made = _open("nanotoken", vocabulary)

    def encode(self, text: pa.Array) -> Ragged:
        texts = text.to_pylist()
        with giving_up():
            found = self._made.encode_batch(texts, add_special_tokens=False, parallel=False)
        return Ragged(found.ids, found.offsets)


def _resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def fast_engine(reference: Reference) -> tuple[FastEngine | None, str]:
    """The fast engine for a tokenizer, or None and why there is none for it."""
    refusals = []
    for make in (_gigatoken, _nanotoken, _word_by_word):
        try:
            made, why = make(reference)
            why = why or (_differing(made, reference) if made else "")
        except Exception as e:  # noqa: BLE001 - whatever it cannot read, the reference can
            said = next(iter(str(e).splitlines()), "")
            kind = make.__name__.strip("_").replace("_", " ")
            why = f"{kind} cannot be used with this vocabulary ({type(e).__name__}: {said})"
            made = None
        if made and not why:
            return made, ""
        refusals += [why] if why else []
    return None, "; ".join(refusals)


def _gigatoken(reference: Reference) -> tuple[FastEngine | None, str]:
    try:
        name = f"gigatoken {version('gigatoken')}"
    except PackageNotFoundError:
        return None, "gigatoken is not installed"
    data, clashing = _vocabulary(reference)
    refusal = _refused(data, clashing)
    if refusal:
        return None, refusal
    make = partial(_Renewed, json.dumps(data))
    return FastEngine(name, make, composes="NFC" in _normalizers(data), clashes=clashing), ""


def _nanotoken(reference: Reference) -> tuple[FastEngine | None, str]:
    """An extra, for WordPiece."""
    if not isinstance(reference, TokenizersReference) or find_spec("nanotoken") is None:
        return None, ""
    if reference.settings["model"]["type"] != "WordPiece":
        return None, ""
    data, clashing = _vocabulary(reference)
    if len(clashing) > MOST_CLASHES:
        return None, ""
    make = partial(_Nanotoken, json.dumps(data))
    return FastEngine(f"nanotoken {version('nanotoken')}", make, clashes=clashing), ""


def _word_by_word(reference: Reference) -> tuple[FastEngine | None, str]:
    make = maker(reference) if isinstance(reference, TokenizersReference) else None
    return FastEngine(f"{reference.name}, word by word", make) if make else None, ""


def _vocabulary(reference: Reference) -> tuple[dict[str, Any], list[str]]:
    """The reference's file as a tokenizer.json, and texts that gigatoken may read otherwise.

    Without the control tokens where their text is to stay text.
    """
    if isinstance(reference, TokenizersReference):
        data = json.loads(reference.tokenizer.to_str())
        tokens, plain = data["added_tokens"], reference.plain
        data["added_tokens"] = [t for t in tokens if not (plain and t["special"])]
        data["post_processor"] = None  # which ids stand at the ends is the recipe's word
        return data, clashes(tokens, plain=plain)
    from gigatoken._load.sentencepiece import sentencepiece_to_tokenizer_json

    data = json.loads(sentencepiece_to_tokenizer_json(reference.serialized))
    # SentencePiece never merges to one of these, whatever letters they are written with
    apart = {token["content"] for token in data["added_tokens"] if token["special"]}
    apart |= {data["model"]["unk_token"], *(f"<0x{b:02X}>" for b in range(256))}
    merges = data["model"]["merges"]
    data["model"]["merges"] = [pair for pair in merges if "".join(pair) not in apart]
    # and looks for the user's own symbols when it has put its letter for a space before the text
    symbols = {token["content"] for token in data["added_tokens"] if not token["special"]}
    written = {symbol.replace("▁", " ") for symbol in symbols}
    written |= {symbol.removeprefix(" ") for symbol in written} - {""}
    data["added_tokens"] = []
    return data, sorted(written | ({"▁"} if written - symbols else set()))


def _differing(made: FastEngine, reference: Reference) -> str:
    """What it makes other ids of than the reference does, of the adversarial texts it may get."""
    tokens = reference.added_tokens()
    texts = list(adversarial([*tokens[:CHECKED_TOKENS], *tokens[-CHECKED_TOKENS:]]))
    column = pa.array(texts, pa.large_string())
    risk = risky(column, composes=made.composes, clashes=made.clashes)
    found = differences(reference.encode(texts), made.encode(column))
    wrong = [texts[i] for i in found if not risk[i]]
    if not wrong:
        return ""
    return (
        f"{made.name} makes other ids of {len(wrong)} of {len(texts)} test texts, the first is"
        f" {wrong[0][:40]!r}"
    )


def differences(expected: Sequence[Sequence[int]], found: Ragged) -> list[int]:
    """The places of texts whose ids are not the reference's."""
    at = found.offsets
    return [
        i for i, ids in enumerate(expected) if found.ids[at[i] : at[i + 1]].tolist() != list(ids)
    ]


def _refused(data: dict[str, Any], clashing: Sequence[str]) -> str:
    """Why a vocabulary is not for the fast engine; the empty string if it may be."""
    model = data["model"]
    if model["type"] != "BPE":
        return f"the model is {model['type']}, not BPE"
    if max(model["vocab"].values(), default=0) > LARGEST_ID:
        return f"it has ids over {LARGEST_ID}, for each of which gigatoken takes memory"
    allowed = SPACES if model.get("byte_fallback") else ("NFC",)
    others = [n for n in _normalizers(data) if n not in allowed]
    if others:
        return f"it normalizes text by {', '.join(others)}"
    single = next((t["content"] for t in data["added_tokens"] if t["single_word"]), None)
    if single is not None:
        return f"its added token {single!r} counts only as a word of its own"
    found = len(clashing)
    return f"its added tokens overlap in {found} ways" if found > MOST_CLASHES else ""


def _normalizers(data: dict[str, Any]) -> list[str]:
    """The types of the normalizers, but for `SPACES`, which are told by all that they do."""
    found = data["normalizer"]
    if found is None:
        return []
    parts = found["normalizers"] if found["type"] == "Sequence" else [found]
    return [next((n for n, of in SPACES.items() if of == part), part["type"]) for part in parts]
