"""KenLM's models, scored as CCNet's own code scores them; needs the kenlm library."""

import io
import re

import pyarrow as pa
import pytest
import sentencepiece
from hypothesis import given

from tests.pipelines.filters.texts import texts
from tests.pipelines.train.lm.models import saved, saved_arpa
from tests.reference import perplexity as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.kenlm import KenlmModel, load_kenlm, load_pieces
from tokenmill.pipelines.filters.models.perplexity import kind_of

DOCS = [
    "The CÁT sat\non a mat .\n\n",
    "zebra",
    " ",
    "",
    "\n",
    "a dog ran . \u00a0 1984",
    "</s> <s>",
]


pytestmark = pytest.mark.peers  # it is built with a C++ compiler: no part of what tests need


@pytest.fixture(scope="module")
def kenlm():
    return pytest.importorskip("kenlm")


@pytest.fixture(scope="module")
def arpa(tmp_path_factory):
    return saved_arpa(tmp_path_factory.mktemp("arpa"))


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    out, path = io.BytesIO(), tmp_path_factory.mktemp("pieces") / "sp.model"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on a mat .", "a dog ran .", "the zebra"] * 20),
        model_writer=out, vocab_size=40, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    path.write_bytes(out.getvalue())
    return path


def ccnet_perplexity(model, content, normalize):
    """`DocLM.do` of cc_net/perplexity.py."""
    if not content:
        return None
    log, length = 0, 0
    for line in content.split("\n"):
        line = reference.normalize(line) if normalize else line
        log += model.score(line)
        length += len(line.split()) + 1
    return round(10.0 ** (-log / length), 1)


def same(got, wanted):
    """But for documents without a word, which CCNet gives the perplexity of an empty line."""
    return all(g == w or g != g for g, w in zip(got, wanted, strict=True))


@pytest.mark.parametrize("normalization", ["ccnet", "none"])
@given(doc=texts)
def test_perplexities_are_ccnets(kenlm, arpa, normalization, doc):
    model = KenlmModel(arpa, normalization=normalization, pieces=None)
    docs = [*DOCS, doc.replace("\0", "\0" if normalization == "ccnet" else " ")]
    got = model.perplexities(pa.array(docs)).tolist()
    theirs = load_kenlm(arpa)
    assert same(got, [ccnet_perplexity(theirs, d, normalization == "ccnet") for d in docs])
    assert [g != g for g in got[:-1]] == [False, False, True, True, True, False, False]


@given(doc=texts)
def test_pieces_are_those_that_ccnet_scores(kenlm, arpa, pieces, doc):
    """`SentencePiece.do` with `normalize`, and `DocLM` without, as cc_net/mine.py has them."""
    model = KenlmModel(arpa, normalization="ccnet", pieces=pieces)
    cut, theirs = load_pieces(pieces), load_kenlm(arpa)
    docs = [*DOCS, doc]
    tokenized = [" ".join(cut.encode_as_pieces(reference.normalize(d))) for d in docs]
    wanted = [ccnet_perplexity(theirs, d, False) for d in tokenized]
    assert same(model.perplexities(pa.array(docs)).tolist(), wanted)


def test_what_ends_a_text_for_the_library_ends_none(kenlm, arpa):
    model = KenlmModel(arpa, normalization="none", pieces=None)
    one, two = model.perplexities(pa.array(["the cat\0zebra zebra", "the cat zebra zebra"]))
    assert one == two


def test_a_file_is_told_by_how_it_begins(arpa, tmp_path):
    assert kind_of(arpa) == "kenlm"
    assert kind_of(saved(tmp_path)) == "train-lm"
    binary = tmp_path / "en.arpa.bin"
    binary.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0")
    assert kind_of(binary) == "kenlm"
    with pytest.raises(ConfigError, match="nowhere.bin: cannot be read"):
        kind_of(tmp_path / "nowhere.bin")


def test_damaged_files_are_told(kenlm, arpa, tmp_path):
    whole = arpa.read_bytes()
    for i, damaged in enumerate((
        whole[: len(whole) // 2],
        b"\\data\\\nngram 1=3\n",
        b"\\data\\\n" + bytes(100),
        b"mmap lm http://kheafield.com/code format version 5\n\0",
        b"mmap lm http://kheafield.com/code format version 5\n\0" + b"\xff" * 4000,
    )):  # fmt: skip
        path = tmp_path / f"{i}.arpa"
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match=re.escape(f"{path}: KenLM cannot read it (")) as e:
            load_kenlm(path)
        assert "\n" not in str(e.value)


def test_a_file_of_no_pieces_is_told(arpa):
    with pytest.raises(ConfigError, match="not a SentencePiece model"):
        load_pieces(arpa)


def test_the_extra_is_named_where_the_library_is_missing(arpa, monkeypatch):
    monkeypatch.setattr("tokenmill.pipelines.filters.models.kenlm.LIBRARY", "no_such_library")
    load_kenlm.cache_clear()
    with pytest.raises(ConfigError, match=r"pip install 'tokenmill\[lm\]'"):
        load_kenlm(arpa)
