"""What is written for KenLM, and that KenLM has the same probabilities from it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tests.pipelines.train.lm.lines import corpora, fitted, sentences
from tokenmill.pipelines.filters.models.text import line_words
from tokenmill.pipelines.train.lm.fit import save_arpa

LINES = [["the", "cat", "sat", "on", "a", "mat", "."], ["the", "dog", "ran"], ["the", "cat"]]


def test_an_arpa_file(tmp_path):
    path = tmp_path / "lm.arpa"
    save_arpa(fitted(LINES, order=2, vocabulary=["the", "cat"]), path)
    lines = path.read_text().splitlines()
    assert lines[:5] == ["\\data\\", "ngram 1=5", "ngram 2=7", "", "\\1-grams:"]
    assert lines[-1] == "\\end\\"
    rows = [line.split("\t") for line in lines[5:10]]
    assert [row[1] for row in rows] == ["<s>", "<unk>", "</s>", "the", "cat"]
    assert rows[0][0] == "-99"
    assert float(rows[0][2]) < 0
    assert rows[2][2] == "0"
    pairs = {line.split("\t")[1] for line in lines[12:19]}
    assert pairs == {
        "<s> the", "the cat", "cat <unk>", "<unk> <unk>", "<unk> </s>", "the <unk>", "cat </s>",
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arpa")


@pytest.mark.peers
@pytest.mark.parametrize(("order", "prune"), [(2, 0), (3, 0), (4, 1), (5, 2)])
@given(lines=corpora, asked=sentences)
def test_kenlm_has_the_same_probabilities(folder, order, prune, lines, asked):
    kenlm = pytest.importorskip("kenlm")
    found = fitted(lines, order=order, prune=prune)
    save_arpa(found, folder / "lm.arpa")
    theirs = kenlm.Model(str(folder / "lm.arpa"), quiet(kenlm))
    words = line_words(pa.array([" ".join(asked)]))
    ours = found.model.log_probs(found.model.vocabulary.ids(words.hashes))[1:]
    line = " ".join({"é": "e"}.get(word, word) for word in asked)
    scores = [float(np.float32(p)) for p, _, _ in theirs.full_scores(line)]
    assert ours.tolist() == pytest.approx(scores, rel=1e-6)
    assert ours.sum() == pytest.approx(theirs.score(line), rel=1e-5)


def quiet(kenlm):
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    return config
