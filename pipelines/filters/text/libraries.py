"""Words by the libraries that datatrove asks where spaCy's rules do not split.

    "我爱北京"  ──►  我 爱 北京  ──►  where each stands in the text

None of them comes with tokenmill. On pages of a manual they split 0.3 MB/s (pyvi), 0.8 (jieba),
1.1 (sudachi), 1.6 (pythainlp) and 7.8 (indicnlp).
"""

from array import array
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I64

PACKAGES = {  # and what to install
    "jieba": "jieba",
    "sudachi": "sudachipy sudachidict_core",
    "pythainlp": "pythainlp",
    "pyvi": "spacy pyvi",
    "indicnlp": "indic-nlp-library",
}
MODULES = {"sudachi": ("sudachipy", "sudachidict_core"), "pyvi": ("spacy", "pyvi")}
SUDACHI_CHARS = 12_000  # it takes 49,149 bytes at a time


class Places(NamedTuple):
    """starts, ends: (n_words,) bytes in all texts.  begins: starts of words that follow at once."""

    starts: I64
    ends: I64
    begins: I64


def check_library(kind: str) -> None:
    """ValueError, with what to install, where the library of a kind of words is missing."""
    if any(find_spec(module) is None for module in MODULES.get(kind, (kind,))):
        raise ValueError(f"words: {kind} needs a library; pip install {PACKAGES[kind]}")


def places_of(texts: Iterable[str], split: Callable[[str], Iterable[str]]) -> Places:
    """Where the words of texts stand that follow one another without a gap.

    White space around a word is no part of it; a word that does not stand in the text is left out.
    """
    starts, ends, begins = array("q"), array("q"), array("q")
    first = 0  # byte of the text at hand
    for text in texts:
        at, byte, end = 0, first, -1  # the same place as character and as byte; of the last word
        for word in map(str.strip, split(text)):
            here = text.find(word, at) if word else -1
            if here < 0:
                continue
            byte += len(text[at:here].encode())
            if byte == end:
                begins.append(byte)
            starts.append(byte)
            at, byte = here + len(word), byte + len(word.encode())
            end = byte
            ends.append(byte)
        first = byte + len(text[at:].encode())
    return Places(*(np.frombuffer(found, np.int64) for found in (starts, ends, begins)))


def splitter(kind: str) -> Callable[[str], Iterable[str]]:
    """What splits a text as datatrove 0.10 has it split."""
    if kind == "jieba":
        return _jieba().cut  # type: ignore[no-any-return]
    if kind == "sudachi":
        words = _sudachi()()  # of one thread
        return lambda text: (
            word.surface()
            for i in range(0, len(text), SUDACHI_CHARS)
            for word in words.tokenize(text[i : i + SUDACHI_CHARS])
        )
    if kind == "pyvi":
        return _vietnamese()
    if kind == "indicnlp":
        from indicnlp.tokenize.indic_tokenize import trivial_tokenize

        return lambda text: trivial_tokenize(text, "hi")  # as all of them but Urdu
    from pythainlp.tokenize import word_tokenize

    return lambda text: word_tokenize(text, keep_whitespace=False, engine="newmm-safe")


@cache
def _jieba() -> Any:
    """With its dictionary, which by itself it would keep in a folder that others can write to."""
    import jieba

    made = jieba.Tokenizer()
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made


@cache
def _sudachi() -> Any:
    from sudachipy import Dictionary, SplitMode

    return partial(Dictionary().create, mode=SplitMode.A)


@cache
def _vietnamese() -> Callable[[str], list[str]]:
    import spacy

    rules = spacy.blank("vi")  # which asks pyvi

    def split(text: str) -> list[str]:
        with rules.memory_zone():
            return [word.text for word in rules.tokenizer(text)]

    return split
