"""A measurement survives JSON, and a run's report is read as one."""

import json
import math

import pytest

from tests.sizing.corpora import estimate, illustrated, illustrated_report, measured, report
from tokenmill.sizing.corpus import CorpusMeasurement, load_corpus, read_corpus
from tokenmill.sizing.errors import PlanError


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
    assert measured(tokens=1, stored_bytes_per_token=0.5).tokens.value == 1


def test_without_standard_errors_there_are_no_intervals():
    got = read_corpus(report(stored_bytes_per_token_se=None), where="f")
    assert got.stored_bytes_per_token.limits() == (None, None)
    assert got.text_bytes_per_token.limits() == pytest.approx((4.05 - 0.0588, 4.05 + 0.0588))


def test_a_run_with_images_is_read_with_theirs():
    got = read_corpus(illustrated_report(), where="f")
    assert got == illustrated()
    assert got.images.image_bytes.limits() == pytest.approx((176_080, 215_280))
    assert CorpusMeasurement.from_json(got.to_json(), where="f") == got
    assert "images" not in measured().to_json()
    left = illustrated_report()
    left["measurement"]["total"]["images"] = {"images": 0}
    assert read_corpus(left, where="f").images is None


def test_what_was_not_measured_of_images_is_not_known():
    report = illustrated_report()
    report["images"] |= {"store": "reference"}
    report["images"]["decoding"] |= {"images_per_core_s": None, "docs_per_batch": None}
    report["measurement"]["total"]["images"]["bytes_per_image"] = {"value": None, "se": None}
    images = read_corpus(report, where="f").images
    assert not images.in_dataset
    assert images.image_bytes is images.images_per_core_s is images.samples_per_batch is None


@pytest.mark.parametrize("ratio", [0.0, None])
def test_images_without_a_word_can_be_sized(ratio):
    report = illustrated_report(text_bytes_per_token=ratio, text_bytes_per_token_se=None)
    assert read_corpus(report, where="f").text_bytes_per_token.value == 0


def test_an_estimate_is_read_with_its_joint_draws():
    got = read_corpus(json.loads(json.dumps(estimate())), where="estimate.json")
    assert got.tokens.value == 2e12
    assert got.tokens.limits() == pytest.approx((2e12 * 0.2525 / 0.3, 2e12 * 0.3475 / 0.3))
    dataset = got.input("measured_bytes", "stored_bytes", "bytes", stage="dataset")
    assert set(dataset.spread) == set(got.input("t", "tokens", "tokens").spread)
    assert got.source == "estimated: corpus crawl, from 10,000 probes"
    assert CorpusMeasurement.from_json(got.to_json(), where="f") == got


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({**estimate(), "estimate": "2"}, "e: estimate: estimate: input should be '1', got '2'"),
        (
            {**estimate(), "probs": 3},
            "e: estimate: unknown key 'probs'; known keys: estimate, recipe, versions, corpus,"
            " docs_in, text_bytes_in, kept_frac, unique_frac, unique_by, growth, images,"
            " disk_bytes, clustering_memory_bytes, cores, cpu_hours, wall_hours, not_predicted",
        ),
        (
            estimate(token=1),
            "e: estimate: corpus: unknown key 'token'; did you mean 'tokens'?",
        ),
        (
            estimate(tokens={"value": 1.0, "mean": 2.0}),
            "e: estimate: corpus.tokens: unknown key 'mean'; known keys: value, low, high, draws,"
            " bounds",
        ),
        (
            estimate(docs={"value": 1.0, "draws": [1.0] * 50}),
            "e: estimate: corpus: 'crawl': figures have [50, 101] draws; joint ones are as many"
            " of each",
        ),
    ],
)
def test_an_estimate_that_says_something_else_is_refused_in_a_line(data, message):
    with pytest.raises(PlanError) as e:
        read_corpus(data, where="e")
    assert str(e.value) == message


def test_a_corpus_is_a_run_directory_a_report_or_an_estimate(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(report()))
    (tmp_path / "estimate.json").write_text(json.dumps(estimate()))
    assert load_corpus(tmp_path) == load_corpus(tmp_path / "report.json") == measured()
    assert load_corpus(tmp_path / "estimate.json").name == "crawl"


def test_a_folder_of_a_run_is_answered_by_the_run(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(report()))
    (tmp_path / "dataset").mkdir()
    why = "cannot read the corpus (No such file or directory)"
    with pytest.raises(PlanError) as e:
        load_corpus(tmp_path / "dataset")
    assert str(e.value) == f"{tmp_path}/dataset/report.json: {why}; name the run itself, {tmp_path}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.json", None, "cannot read the corpus (No such file or directory); a corpus is a"),
        ("a.png", b"\x89PNG\r\n\x1a\n\x00\xff", "not JSON ('utf-8' codec can't decode"),
        ("a.parquet", b"PAR1\x15\x04", "not JSON (Expecting value"),
        ("a.json", b"[1, 2]", "not a report: expected a JSON object"),
        ("b.json", b'{"name": "x"}', "holds no measurement; a corpus is a finished run"),
        ("c.json", b'{"name": "x", "stored_bytes": {}}', "corpus: docs: missing"),
    ],
)
def test_a_file_of_the_wrong_kind_is_refused_in_a_line(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanError) as e:
        load_corpus(path)
    assert str(e.value).startswith(f"{path}: {message}")
    assert "\n" not in str(e.value)


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
            " measured, files, sample, growth_exponent, images, not_predicted, unique_by",
        ),
        (without(measured().to_json(), "tokens"), "f: corpus: tokens: missing"),
        (
            {**measured().to_json(), "tokens": 0},
            "f: corpus: 'docs' has no tokens; nothing to size",
        ),
        (
            {**measured().to_json(), "stored_bytes_per_token": 0.0},
            "f: corpus: 'docs': stored_bytes_per_token must be over 0, with its low and its draws",
        ),
        (
            {**measured().to_json(), "text_bytes_per_token": float("nan")},
            "f: corpus: text_bytes_per_token.value: input should be a finite number, got nan",
        ),
        (
            {**measured().to_json(), "stored_bytes": {"text": 1}},
            "f: corpus: 'docs': stored_bytes has no stage 'dataset'",
        ),
        (
            {**measured().to_json(), "tokens": "many"},
            "f: corpus: tokens: expected a number or {value: …, low: …, high: …}, got 'many'",
        ),
        (
            {**measured().to_json(), "stored_bytes": {"10-docs": "much"}},
            "f: corpus: stored_bytes.10-docs: expected a number or {value: …, low: …, high: …}, got"
            " 'much'",
        ),
    ],
)
def test_what_holds_no_measurement_is_refused_in_a_line(data, message):
    with pytest.raises(PlanError) as e:
        read_corpus(data, where="f")
    assert str(e.value) == message


def test_a_file_too_large_for_a_measurement_is_not_read(tmp_path):
    path = tmp_path / "corpus.jsonl"
    with path.open("wb") as file:
        file.truncate(50 * 10**9)  # sparse: it takes no room
    with pytest.raises(PlanError, match="corpus.jsonl: 50 GB is no measurement; a corpus is"):
        load_corpus(path)


def test_a_ratio_from_two_unlike_shards_stays_over_zero():
    got = read_corpus(report(stored_bytes_per_token_se=1.5), where="f").stored_bytes_per_token
    assert got.low == pytest.approx(2.2 / math.exp(1.96 * 1.5 / 2.2))
    assert got.high == pytest.approx(2.2 * math.exp(1.96 * 1.5 / 2.2))
    exact = read_corpus(report(stored_bytes_per_token_se=0.0), where="f")
    assert exact.stored_bytes_per_token.limits() == (None, None)


@pytest.mark.parametrize(
    "tokens",
    [{"value": 1e9, "low": 0.0, "high": 2e9}, {"value": 1e9, "draws": [0.0] + [1e9] * 100}],
)
def test_an_estimate_that_may_be_nothing_at_all_is_refused(tokens):
    with pytest.raises(PlanError, match="tokens must be over 0, with its low and its draws"):
        read_corpus(estimate(tokens=tokens), where="e")
