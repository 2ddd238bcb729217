"""A user's own KenLM model, as CCNet reads its: by the kenlm library (the extra `lm`).

    text --normalize--> --SentencePiece--> pieces, one line --KenLM--> perplexity
    text --lines--> --normalize--> words at spaces ------------KenLM--> perplexity

A document of pieces has lost its newlines by CCNet's normalization: it is one line there, too.

Source: cc_net/perplexity.py and cc_net/mine.py of facebookresearch/cc_net (MIT): `DocLM`, its line
of no words counting for one, and `SentencePiece`.
"""

import functools
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F64
from tokenmill.pipelines.core.config import readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.ngram_model import DECIMALS
from tokenmill.pipelines.filters.models.text import normalize
from tokenmill.sizing.roots import held

LIBRARY, PIECES = "kenlm", "sentencepiece"  # modules
BINARY = b"mmap lm http://kheafield.com/code format version"  # a file of either begins so
ARPA = b"\\data\\"
Normalization = Literal["ccnet", "none"]


class KenlmModel:
    """Perplexities by KenLM; pieces: a SentencePiece model, else words part at white space."""

    def __init__(self, path: Path, *, normalization: Normalization, pieces: Path | None) -> None:
        self._model = load_kenlm(path)
        self._pieces = None if pieces is None else load_pieces(pieces)
        self._normalize = normalization == "ccnet"

    def perplexities(self, text: pa.Array) -> F64:
        """(n_docs,) float64, one decimal as CCNet's, NaN of no words; text: strings, no nulls."""
        return np.array([self._perplexity(one) for one in text.to_pylist()], np.float64)

    def _perplexity(self, text: str) -> float:
        log, n_words, n_lines = 0.0, 0, 0
        for line in self._lines(text):
            log += self._model.score(line)
            n_words += len(line.split())
            n_lines += 1
        if n_words == 0:
            return float("nan")
        return float(round(10.0 ** (-log / (n_words + n_lines)), DECIMALS))

    def _lines(self, text: str) -> list[str]:
        if self._pieces is not None:
            whole = normalize(text) if self._normalize else text
            return " ".join(self._pieces.encode(whole, out_type=str)).split("\n")
        if self._normalize:
            return [normalize(line) for line in text.split("\n")]
        return text.replace("\0", " ").split("\n")  # it would end a line for the library


@functools.cache  # once a process
def load_kenlm(path: Path) -> Any:
    """The library's model of a trusted file; ConfigError: no library, or it cannot read it."""
    if find_spec(LIBRARY) is None:
        raise ConfigError(
            f"{path}: a KenLM model needs the kenlm library; pip install 'tokenmill[lm]', which"
            " builds it with CMake and a C++ compiler"
        )
    import kenlm  # optional

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        with held(path) as name:
            return kenlm.Model(name, config)
    except (OSError, MemoryError) as e:
        raise ConfigError(f"{path}: KenLM cannot read it ({e}); copy it again") from e


@functools.cache
def load_pieces(path: Path) -> Any:
    """The library's model; ConfigError where the library is missing, or cannot read the file."""
    if find_spec(PIECES) is None:
        raise ConfigError(f"{path}: needs sentencepiece; pip install 'tokenmill[sentencepiece]'")
    import sentencepiece  # optional

    try:
        with readable(path) as f:
            return sentencepiece.SentencePieceProcessor(model_proto=f.read())
    except RuntimeError as e:
        raise ConfigError(f"{path}: not a SentencePiece model ({e})") from e
