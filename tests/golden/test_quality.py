"""Verdicts by quality on documents chosen by hand, with a model of four words' weights."""

import pytest

from tests.golden.test_filters import cases
from tests.pipelines.train.quality.models import saved
from tests.strategies import document_batch
from tokenmill.pipelines.filters.models.quality import Quality


@pytest.mark.parametrize("case", cases("quality"), ids=lambda case: case["why"])
def test_verdicts(case, tmp_path):
    stage = Quality.model_validate({"model": str(saved(tmp_path)), **case["settings"]})
    kept, removed, *_ = stage(document_batch([case["text"]]))
    assert removed["reason"].to_pylist() == ([case["reason"]] if case["reason"] else [])
    assert kept["text"].to_pylist() == ([] if case["reason"] else [case["text"]])
