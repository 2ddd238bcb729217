"""Perplexities are those of CCNet's own code, given the same model.

CCNet is the package cc-net 1.0.0, installed without what it depends on, which is of 2020.
"""

import pyarrow as pa
import pytest
from hypothesis import given

from tests.pipelines.filters.texts import texts
from tests.pipelines.train.lm.models import saved_arpa
from tokenmill.pipelines.filters.models.kenlm import KenlmModel
from tokenmill.pipelines.filters.models.text import normalize

cc_net = pytest.importorskip("cc_net.perplexity")
pytestmark = pytest.mark.peers


@given(text=texts)
def test_text_is_normalized_as_there(text):
    assert normalize(text) == cc_net.text_normalizer.normalize(text)


@pytest.fixture(scope="module")
def arpa(tmp_path_factory):
    return saved_arpa(tmp_path_factory.mktemp("arpa"))


@pytest.fixture(scope="module")
def theirs(arpa):
    return cc_net.DocLM({"en": arpa}, "text")


@given(text=texts)
def test_documents_have_the_perplexity_that_they_have_there(arpa, theirs, text):
    (ours,) = KenlmModel(arpa, normalization="ccnet", pieces=None).perplexities(pa.array([text]))
    document = theirs.do({"text": text, "language": "en"})
    assert ours == document.get("perplexity") or ours != ours  # of no words


@pytest.mark.parametrize("text", ["the cat", "a dog ran .\nzebra\n", "1984 „the“ CÁT…"])
def test_some_have_one(arpa, theirs, text):
    (ours,) = KenlmModel(arpa, normalization="ccnet", pieces=None).perplexities(pa.array([text]))
    assert ours == theirs.do({"text": text, "language": "en"})["perplexity"] > 1
