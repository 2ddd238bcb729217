"""fastText models: what is one, and the scores of its labels, against arithmetic by hand."""

import re

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.train.quality.models import (
    INPUTS,
    LABELS,
    OUTPUTS,
    fasttext_bytes,
    fasttext_score,
    quantized,
    saved_fasttext,
)
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models import fasttext as fasttext_model
from tokenmill.pipelines.filters.models.fasttext import (
    FastTextModel,
    check_fasttext,
    full_label,
    is_fasttext,
)

TEXTS = ["", "good", "bad bad", "the\ngood\nthe", "unknown", " good\tbad ", "good\x00bad"]


@pytest.mark.parametrize("label", LABELS)
def test_scores_are_those_of_the_formula(tmp_path, label):
    scores = FastTextModel(saved_fasttext(tmp_path), label).scores(pa.array(TEXTS))
    want = [fasttext_score(text.replace("\0", " "), label) for text in TEXTS]
    assert np.abs(scores - want).max() < 3e-5  # fastText adds 1e-5, and interpolates exp()


def test_scores_never_exceed_1(tmp_path):
    sure = np.array([[99.0, 0.0], [-99.0, 0.0]])
    path = saved_fasttext(tmp_path, inputs=np.ones((4, 2)), outputs=sure)
    assert FastTextModel(path, LABELS[0]).scores(pa.array(["good"])).tolist() == [1.0]


def test_a_label_may_be_given_without_its_prefix(tmp_path):
    path = saved_fasttext(tmp_path)
    assert full_label(path, "hq") == full_label(path, "__label__hq") == "__label__hq"
    with pytest.raises(ConfigError, match="no label 'HQ'; it has __label__hq, __label__cc"):
        full_label(path, "HQ")
    with pytest.raises(ConfigError, match="name the label of good documents, as label: NAME; has"):
        full_label(path, None)


def test_without_its_library_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(fasttext_model, "LIBRARY", "no_such_library")
    with pytest.raises(ConfigError, match=re.escape("pip install 'tokenmill[fasttext]'")):
        full_label(saved_fasttext(tmp_path), "hq")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = saved_fasttext(tmp_path)
    whole = path.read_bytes()
    for size in range(4, len(whole)):
        path.write_bytes(whole[:size])
        assert is_fasttext(path)
        with pytest.raises(ConfigError, match=r"not a whole fastText model \(.*copy it again"):
            check_fasttext(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ConfigError, match="it ends at byte 270, the file at 271"):
        check_fasttext(path)


@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.parametrize("dim", [2, 3])
def test_quantized_models_are_whole_too(tmp_path, norms, dim):
    outputs = np.zeros((2, dim))
    made = fasttext_bytes(dim=dim, inputs=quantized(4, dim, norms=norms), outputs=outputs, pruned=2)
    path = tmp_path / "tiny.ftz"
    path.write_bytes(made)
    assert check_fasttext(path) == LABELS
    path.write_bytes(made[:-1])
    with pytest.raises(ConfigError, match="not a whole fastText model"):
        check_fasttext(path)


def test_word_vectors_classify_nothing(tmp_path):
    with pytest.raises(ConfigError, match="a fastText model of word vectors, which has no labels"):
        check_fasttext(saved_fasttext(tmp_path, kind=2))


def test_other_versions_are_refused(tmp_path):
    made = bytearray(fasttext_bytes(inputs=INPUTS, outputs=OUTPUTS))
    made[4] = 13
    path = tmp_path / "new.bin"
    path.write_bytes(made)
    with pytest.raises(ConfigError, match="version 13, not 11 or 12"):
        check_fasttext(path)
