"""A library that is not installed is named by all that needs it, with what to install."""

import re
import sys
from pathlib import Path

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.equal import SameUrl
from tokenmill.pipelines.filters.models.kenlm import load_kenlm, load_pieces
from tokenmill.pipelines.filters.models.language_models import check_library
from tokenmill.pipelines.filters.text.spacy import check_installed
from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.tokens.reference import SentencePieceReference
from tokenmill.pipelines.train.quality import train

NOT_THERE = "/no/such/model"
NEEDED = {
    "kenlm lm": lambda: load_kenlm(Path(NOT_THERE)),
    "sentencepiece sentencepiece": lambda: load_pieces(Path(NOT_THERE)),
    "sentencepiece sentencepiece to encode": lambda: SentencePieceReference(NOT_THERE),
    "py3langid language": lambda: check_library("py3langid"),
    "eldc eldc": lambda: check_library("eldc"),
    "spacy spacy": lambda: check_installed("en"),
    "sklearn quality": train.check_library,
    "resiliparse web": Html,
    "brotli web": Html,
    "chardet web": Html,
    "lz4 web": Html,
    "w3lib web": lambda: SameUrl(url="normalized"),
    "trafilatura trafilatura": lambda: Html(extractor="trafilatura"),
}


@pytest.mark.parametrize("needed", NEEDED)
def test_what_is_missing_is_told_with_the_way_out(needed, monkeypatch):
    library, extra, *_ = needed.split()
    monkeypatch.setitem(sys.modules, library, None)
    told = re.escape(f"pip install 'tokenmill[{extra}]'")
    name = {"sklearn": "scikit-learn"}.get(library, library)
    with pytest.raises((ConfigError, ValueError), match=f"needs? .*{name}.*; {told}"):
        NEEDED[needed]()
