"""OpenAI's rank files (`.tiktoken`) as tokenizers of the `tokenizers` library.

A rank file is a list of byte strings, each with its rank; it holds neither how text is split
before merging nor the control tokens. Both are known by the file's name, as openai/tiktoken
publishes them (tiktoken_ext/openai_public.py).
"""

import base64
import binascii
from pathlib import Path
from typing import NamedTuple

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers

from tokenmill.pipelines.errors import ConfigError

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
    """Convert a rank file; its stem names the encoding.

    Raises:
        ConfigError: another encoding, or not a rank file.
    """
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
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
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
    found = []
    for token, rank in ranks.items():
        ways = [
            (rank, ranks[token[:i]], ranks[token[i:]], token[:i], token[i:])
            for i in range(1, len(token))
            if token[:i] in ranks and token[i:] in ranks
        ]
        found += ways
    found.sort()
    return [(left, right) for *_, left, right in found]


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in shown]
    letters = {b: chr(b) for b in shown} | {b: chr(256 + n) for n, b in enumerate(hidden)}
    return [letters[b] for b in range(256)]
