"""Verdicts by perplexity on documents chosen by hand, with a model of three lines."""

import pytest

from tests.golden.test_filters import cases
from tests.pipelines.train.lm.models import saved
from tests.strategies import document_batch
from tokenmill.pipelines.filters.models.perplexity import Perplexity


@pytest.mark.parametrize("case", cases("perplexity"), ids=lambda case: case["why"])
def test_verdicts(case, tmp_path):
    stage = Perplexity.model_validate({"model": str(saved(tmp_path)), **case["settings"]})
    kept, removed, *_ = stage(document_batch([case["text"]]))
    assert removed["reason"].to_pylist() == ([case["reason"]] if case["reason"] else [])
    assert removed["value"].to_pylist() == ([case["perplexity"]] if case["reason"] else [])
    assert kept["text"].to_pylist() == ([] if case["reason"] else [case["text"]])


def test_every_reason_has_a_case():
    assert {case["reason"] for case in cases("perplexity")} == {
        None, "no_words", "head_perplexity", "middle_perplexity", "tail_perplexity",
    }  # fmt: skip
