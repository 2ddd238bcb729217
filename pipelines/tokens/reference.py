"""The exact way from text to ids: the library that the tokenizer's file belongs to.

Every other way has to make the same ids. A reference is slow and certain:

    tokenizer.json, hub id, .tiktoken, vocab.bpe    `tokenizers`
    .model (SentencePiece)                          `sentencepiece`, an extra

OpenAI's rank files (`.tiktoken`) are converted: such a file is a list of byte strings, each with
its rank; it holds neither how text is split before merging nor the control tokens. Both are known
by the file's name, as openai/tiktoken publishes them (tiktoken_ext/openai_public.py).
"""

import base64
import binascii
import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers

from tokenmill.dedup.arrays import I64, U32
from tokenmill.pipelines.core.config import readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.roots import held

_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CL100K = (  # as cl100k_base was first published; the pattern of today matches the same
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Encoding(NamedTuple):
    """What a rank file does not say. pattern: what is split off.  special: control tokens."""

    pattern: str
    special: dict[str, int]


_FIM = {"<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260}
ENCODINGS = {
    "r50k_base": Encoding(_R50K, {"<|endoftext|>": 50256}),
    "p50k_base": Encoding(_R50K, {"<|endoftext|>": 50256}),
    "cl100k_base": Encoding(_CL100K, {"<|endoftext|>": 100257, **_FIM, "<|endofprompt|>": 100276}),
    "o200k_base": Encoding(_O200K, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
}


def read_tiktoken(path: Path) -> tokenizers.Tokenizer:
    """Convert a rank file, its stem the encoding; ConfigError: another one, or no rank file."""
    encoding = ENCODINGS.get(path.stem)
    if encoding is None:
        raise ConfigError(
            f"{path}: its name tells no known encoding, which decides how text is split; name it"
            f" {', '.join(f'{name}.tiktoken' for name in ENCODINGS)}, or convert it to a"
            " tokenizer.json"
        )
    ranks = _read_ranks(path)
    letters = _byte_letters()
    names = {token: "".join([letters[b] for b in token]) for token in ranks}
    vocab = {names[token]: rank for token, rank in ranks.items()} | encoding.special
    if len(set(vocab.values())) < len(vocab):
        raise ConfigError(
            f"{path}: a token has the number of a control token of {path.stem};"
            " the file is not the published one"
        )
    merges = [(names[a], names[b]) for a, b in _merges(ranks)]
    made = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=False))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(encoding.pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(encoding.special))
    return made


def _read_ranks(path: Path) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    with readable(path) as f:
        data = f.read()
    for number, line in enumerate(data.splitlines(), 1):
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise ConfigError(
                f"{path} line {number}: not a token in base64 and its rank; this is no rank file"
            ) from None
    missing = [b for b in range(256) if bytes([b]) not in ranks]
    if missing:
        raise ConfigError(f"{path}: has no token for the byte {missing[0]}; the file is not whole")
    return ranks


def _merges(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Every pair of tokens that make a third, best rank first.

    tiktoken merges whatever two neighbours make a token; a list of merges has to name each way.
    """
    found = [
        (rank, ranks[token[:i]], ranks[token[i:]], token[:i], token[i:])
        for token, rank in ranks.items()
        for i in range(1, len(token))
        if token[:i] in ranks and token[i:] in ranks
    ]
    found.sort()
    return [(left, right) for *_, left, right in found]


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    letters = {b: chr(b) for b in shown} | {b: chr(256 + n) for n, b in enumerate(hidden)}
    return [letters[b] for b in range(256)]


GPT2_END = "<|endoftext|>"
SHOWN = 200  # characters of what a library says


def open_tokenizer(path: str) -> tokenizers.Tokenizer:
    """A tokenizer by file (tokenizer.json, NAME.tiktoken, vocab.bpe) or hub id; or ConfigError."""
    if os.path.isfile(path):
        return _open_file(Path(path))
    if Path(path).suffix in (".json", ".tiktoken", ".bpe", ".model") or (
        path.count("/") > 1 or path.startswith((".", "/", "~"))
    ):
        raise ConfigError(
            f"{path}: no such tokenizer file; name a tokenizer.json, .tiktoken, vocab.bpe or"
            " .model file, or a hub id"
        )
    try:
        return tokenizers.Tokenizer.from_pretrained(path)
    except Exception as e:  # whatever the network or the hub answers
        raise ConfigError(
            f"tokenizer {path!r} is no file here and could not be had from the hub"
            f" ({type(e).__name__}); download its tokenizer.json and name the file"
        ) from e


def _open_file(path: Path) -> tokenizers.Tokenizer:
    if path.suffix == ".tiktoken":
        return read_tiktoken(path)
    if path.name in ("vocab.bpe", "merges.txt"):
        return _read_gpt2_pair(path)
    try:
        with held(path) as name, giving_up():
            return tokenizers.Tokenizer.from_file(name)
    except (UnencodableError, OSError) as e:
        raise ConfigError(f"{path}: not a tokenizer.json ({e})") from e


def _read_gpt2_pair(merges: Path) -> tokenizers.Tokenizer:
    """GPT-2's two files: the merges named, the vocabulary beside them."""
    beside = [merges.with_name(name) for name in ("encoder.json", "vocab.json")]
    vocab = next((p for p in beside if p.is_file()), None)
    if vocab is None:
        raise ConfigError(f"{merges}: no encoder.json or vocab.json beside it; put it there")
    try:
        with held(vocab) as vocab_name, held(merges) as merges_name:
            model = models.BPE.from_file(vocab_name, merges_name)
    except Exception as e:  # the library raises no narrower one
        raise ConfigError(f"{merges}: not a vocabulary in GPT-2's format ({e})") from e
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([GPT2_END])
    return made


class UnencodableError(Exception):
    """A tokenizer gives up on a text: its regex backtracks too often, or it has no token for it."""


@contextlib.contextmanager
def giving_up() -> Iterator[None]:
    """Tell a library's failure, or its panic, which is no `Exception`, as `UnencodableError`."""
    try:
        yield
    except BaseException as e:
        if isinstance(e, Exception) or type(e).__name__ == "PanicException":
            raise UnencodableError(" ".join(str(e).split())[:SHOWN]) from None
        raise


class TokenizersReference:
    """A tokenizer of `tokenizers`; digest: of all that decides ids.  largest_id: added ones too."""

    def __init__(self, path: str, *, plain: bool = True) -> None:
        self.name = f"tokenizers {tokenizers.__version__}"
        self.tokenizer = open_tokenizer(path)
        dropout = getattr(self.tokenizer.model, "dropout", None)
        if dropout:
            raise ConfigError(
                f"{path}: has BPE dropout {dropout}, which draws other ids each time;"
                " set it to null in the file"
            )
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = plain
        self.plain = plain
        self.largest_id = max(self.tokenizer.get_vocab(with_added_tokens=True).values())
        # the file's own text, so that the same recipe over another vocabulary is another run
        self.digest = _digest(self.tokenizer.to_str().encode())

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that a tokenizer.json has of it but the vocabulary: of the model its type."""
        data: dict[str, Any] = json.loads(self.tokenizer.to_str())
        data["model"] = {"type": data["model"]["type"]}
        return data

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without start or end; UnencodableError: the library gives up."""
        with giving_up():
            found = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [document.ids for document in found]

    def added_tokens(self) -> list[str]:
        """The texts of control tokens and others that are not of the model, by their ids."""
        found = self.tokenizer.get_added_tokens_decoder()
        return [found[i].content for i in sorted(found)]

    def token_to_id(self, token: str) -> int | None:
        found: int | None = self.tokenizer.token_to_id(token)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids, control tokens included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))


class SentencePieceReference:
    """A SentencePiece model, `serialized` as its file; see `TokenizersReference`."""

    def __init__(self, path: str) -> None:
        try:
            import sentencepiece  # an extra, and only for such files
        except ImportError as e:
            raise ConfigError(
                f"{path}: needs the sentencepiece library; pip install 'tokenmill[sentencepiece]'"
            ) from e
        with readable(Path(path)) as f:
            data = f.read()
        self.name = f"sentencepiece {sentencepiece.__version__}"
        self._model: Any = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(data)
        except RuntimeError as e:
            raise ConfigError(f"{path}: not a SentencePiece model ({e})") from e
        self.serialized = data
        self.largest_id = self._model.GetPieceSize() - 1
        self.digest = _digest(data)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        with giving_up():
            found: list[list[int]] = self._model.EncodeAsIds(list(texts), num_threads=1)
        return found

    def added_tokens(self) -> list[str]:
        model, ids = self._model, range(self.largest_id + 1)
        return [model.IdToPiece(i) for i in ids if model.IsControl(i)]

    def token_to_id(self, token: str) -> int | None:
        found = self._model.PieceToId(token)
        return None if self._model.IdToPiece(found) != token else int(found)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._model.DecodeIds([int(i) for i in ids]))


class Ragged(NamedTuple):
    """Ids of documents: document `i` is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: U32
    offsets: I64


# what a tokenizer has to answer, whatever library it is of
Reference: TypeAlias = TokenizersReference | SentencePieceReference


def open_reference(path: str, *, plain: bool = True) -> Reference:
    """Open the tokenizer at `path`.

    plain: the text of a control token is text; else it becomes that token.
    ConfigError: no such file or hub model, or not a tokenizer.
    """
    if is_sentencepiece(path):
        if not plain:
            raise ConfigError(
                f"{path}: a SentencePiece model never reads control tokens in text;"
                " leave tokenizer.special_tokens_in_text at plain"
            )
        return SentencePieceReference(path)
    return TokenizersReference(path, plain=plain)


def is_sentencepiece(path: str) -> bool:
    """Whether a file is a SentencePiece model: by its name, `.model`, `.model.v3`, …"""
    name = Path(path).name
    return Path(path).is_file() and (name.endswith(".model") or ".model.v" in name)


def _digest(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()  # where FIPS forbids it otherwise
