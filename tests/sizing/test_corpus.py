"""A measurement survives JSON, and a run's report is read as one."""

import json

import pytest

from sizing.corpus import CorpusMeasurement, read_corpus
from sizing.errors import PlanError
from tests.sizing.corpora import measured, report


def test_a_measurement_survives_json():
    data = json.loads(json.dumps(measured().to_json()))
    assert CorpusMeasurement.from_json(data, where="f") == measured()
    assert read_corpus(data, where="f") == measured()
    assert read_corpus({"measurement": data}, where="f") == measured()
    assert list(data["stored_bytes"]) == ["inputs", "10-docs", "dataset"]


def test_a_run_report_is_read_with_its_inputs_as_the_first_stage():
    got = read_corpus(report(), where="run/report.json")
    assert got == measured()
    assert list(got.stored_bytes) == ["inputs", "10-docs", "dataset"]


@pytest.mark.parametrize(("dtype", "width"), [("uint16", 2), ("int32", 4), ("uint32", 4)])
def test_the_width_of_a_token_is_that_of_the_dataset(dtype, width):
    got = read_corpus({**report(), "dataset": {"dtype": dtype}}, where="f")
    assert got.token_width_bytes == width


def test_one_token_of_half_a_byte_is_a_corpus():
    assert measured(tokens=1, stored_bytes_per_token=0.5).tokens == 1


def test_without_standard_errors_there_are_none():
    got = read_corpus(report(stored_bytes_per_token_se=None), where="f")
    assert got.stored_bytes_per_token_se is None


def test_a_source_tells_measured_from_assumed():
    assert measured().source == "measured: corpus docs"
    assert measured(measured=False).source == "assumed: corpus docs"


def without(data, *keys):
    """`data` less what stands at the path `keys`."""
    head, *rest = keys
    if rest:
        return {**data, head: without(data[head], *rest)}
    return {k: v for k, v in data.items() if k != head}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], "f: not a report: expected a JSON object"),
        ({"measurement": 3}, "f: 'measurement' is not a JSON object"),
        (report(tokens=0), "f: the run produced no tokens; nothing to size"),
        (without(report(), "stored_bytes"), "f: not the report of a run: no 'stored_bytes'"),
        (without(report(), "dataset", "dtype"), "f: not the report of a run: no 'dtype'"),
        (
            {**report(), "dataset": {"dtype": "float16"}},
            "f: not the report of a run: no 'float16'",
        ),
        (
            {**measured().to_json(), "colour": 2},
            "f: corpus: unknown key 'colour'; known keys: name, docs, tokens, text_bytes,"
            " stored_bytes, text_bytes_per_token, stored_bytes_per_token, token_width_bytes,"
            " measured, text_bytes_per_token_se, stored_bytes_per_token_se",
        ),
        (without(measured().to_json(), "tokens"), "f: corpus: tokens: missing"),
        (
            {**measured().to_json(), "tokens": 0},
            "f: corpus: 'docs' has 0 tokens; nothing to size",
        ),
        (
            {**measured().to_json(), "stored_bytes_per_token": 0.0},
            "f: corpus: 'docs': stored_bytes_per_token must be over 0, is 0.0",
        ),
        (
            {**measured().to_json(), "text_bytes_per_token_se": float("nan")},
            "f: corpus: text_bytes_per_token_se: input should be a finite number, got nan",
        ),
        (
            {**measured().to_json(), "stored_bytes": {"text": 1}},
            "f: corpus: 'docs': stored_bytes has no stage 'dataset'",
        ),
        (
            {**measured().to_json(), "tokens": "many"},
            "f: corpus: tokens: input should be a valid integer, unable to parse string as an"
            " integer, got 'many'",
        ),
        (
            {**measured().to_json(), "stored_bytes": {"10-docs": "much"}},
            "f: corpus: stored_bytes.10-docs: input should be a valid integer, unable to parse"
            " string as an integer, got 'much'",
        ),
    ],
)
def test_what_holds_no_measurement_is_refused_in_a_line(data, message):
    with pytest.raises(PlanError) as e:
        read_corpus(data, where="f")
    assert str(e.value) == message
