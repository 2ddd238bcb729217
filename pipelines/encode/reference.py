"""The exact way from text to ids: the library that the tokenizer's file belongs to.

Every other way has to make the same ids. A reference is slow and certain:

    tokenizer.json, hub id, .tiktoken, vocab.bpe    `tokenizers`
    .model (SentencePiece)                          `sentencepiece`, an extra
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import tokenizers

from tokenmill.pipelines.encode.files import open_tokenizer
from tokenmill.pipelines.errors import ConfigError


class Reference(Protocol):
    """What a tokenizer has to answer, whatever library it is of.

    name: library and version.  digest: of all that decides the ids.  largest_id: added tokens
    included.
    """

    name: str
    digest: str
    largest_id: int

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without any start or end."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a token of the vocabulary, or None."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids, control tokens included."""


class TokenizersReference:
    """A tokenizer of the `tokenizers` library."""

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
        self.digest = hashlib.md5(self.tokenizer.to_str().encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        found = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [document.ids for document in found]

    def token_to_id(self, token: str) -> int | None:
        found: int | None = self.tokenizer.token_to_id(token)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))


class SentencePieceReference:
    """A SentencePiece model file."""

    def __init__(self, path: str) -> None:
        try:
            import sentencepiece  # an extra, and only for such files
        except ImportError as e:
            raise ConfigError(
                f"{path}: needs the sentencepiece library; pip install 'tokenmill[sentencepiece]'"
            ) from e
        data = Path(path).read_bytes()
        self.name = f"sentencepiece {sentencepiece.__version__}"
        self._model: Any = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(data)
        except RuntimeError as e:
            raise ConfigError(f"{path}: not a SentencePiece model ({e})") from e
        self.largest_id = self._model.GetPieceSize() - 1
        self.digest = hashlib.md5(data).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        found: list[list[int]] = self._model.EncodeAsIds(list(texts), num_threads=1)
        return found

    def token_to_id(self, token: str) -> int | None:
        found = self._model.PieceToId(token)
        return None if self._model.IdToPiece(found) != token else int(found)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._model.DecodeIds([int(i) for i in ids]))


def open_reference(path: str, *, plain: bool = True) -> Reference:
    """Open the tokenizer at `path`.

    plain: the text of a control token is text; else it becomes that token.

    Raises:
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
