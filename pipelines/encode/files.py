"""Tokenizer files that the `tokenizers` library reads, or that are converted for it."""

import os
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from tokenmill.pipelines.encode.tiktoken_file import read_tiktoken
from tokenmill.pipelines.errors import ConfigError

GPT2_END = "<|endoftext|>"


def open_tokenizer(path: str) -> tokenizers.Tokenizer:
    """A tokenizer by its file (tokenizer.json, NAME.tiktoken, vocab.bpe) or hub id.

    Raises:
        ConfigError: no such file or hub model, or not a tokenizer.
    """
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
    if path.name == "vocab.bpe" or path.name == "merges.txt":
        return _read_gpt2_pair(path)
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as e:  # the library raises no narrower one
        raise ConfigError(f"{path}: not a tokenizer.json ({e})") from e


def _read_gpt2_pair(merges: Path) -> tokenizers.Tokenizer:
    """GPT-2's two files: the merges named, the vocabulary beside them."""
    beside = [merges.with_name(name) for name in ("encoder.json", "vocab.json")]
    vocab = next((p for p in beside if p.is_file()), None)
    if vocab is None:
        raise ConfigError(f"{merges}: no encoder.json or vocab.json beside it; put it there")
    try:
        model = models.BPE.from_file(str(vocab), str(merges))
    except Exception as e:  # the library raises no narrower one
        raise ConfigError(f"{merges}: not a vocabulary in GPT-2's format ({e})") from e
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([GPT2_END])
    return made
