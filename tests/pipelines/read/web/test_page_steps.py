"""Whole runs of the steps that are about pages: `url_filter`, `same_url` and `pii`."""

import json

import pytest
import yaml
from datasets import load_from_disk

from tests.pipelines.conftest import train
from tests.pipelines.read.web.archives import archive, html, http, record, words
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.compare import compare
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe

STEPS = [
    {"url_filter": {"domains": ["bad.org"], "words": ["xxx"]}},
    {"same_url": {"keep": "newest", "url": "normalized"}},
    "pii",
]


def page(number, url, date, text):
    return record(
        "response",
        http(html(f"{text} {words(number)}"), type="text/html; charset=utf-8"),
        WARC_Record_ID=f"<{number}>",
        WARC_Target_URI=url,
        WARC_Date=date,
        Content_Type="application/http; msgtype=response",
    )


CRAWLS = {
    "a": [
        page(0, "http://a.org/x?b=1&a=2", "2024-01-03T00:00:00Z", "Newest of three."),
        page(1, "http://a.org/y", "2024-01-01T00:00:00Z", "Old."),
        page(2, "http://www.bad.org/", "2024-01-01T00:00:00Z", "Blocked."),
        page(3, "http://a.org/z", "2024-01-01T00:00:00Z", "Write to a@b.org at 81.2.69.142."),
    ],
    "b": [
        page(4, "http://A.org:80/x?a=2&b=1&utm_source=c", "2024-01-02T00:00:00Z", "Second."),
        page(5, "http://a.org/y#top", "2024-01-02T00:00:00Z", "New."),
        page(6, "http://a.org/x?a=2&b=1", "2023-01-02T00:00:00Z", "Third."),
        page(7, "http://a.org/xxx", "2024-01-01T00:00:00Z", "Blocked."),
    ],
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return train(tmp_path_factory.mktemp("tokenizer"))


def recipe_of(folder, tokenizer, order, **settings):
    for name in order:
        (folder / f"{name}.warc.gz").write_bytes(archive(CRAWLS[name]))
    data = {
        "inputs": [{"path": str(folder / f"{name}.warc.gz"), "source": name} for name in order],
        "tokenizer": {"path": str(tokenizer), "eos": "<|endoftext|>"},
        "html": {},
        "steps": STEPS,
        **settings,
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_recipe(path)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_newest_of_each_page_is_kept_whatever_the_order_of_inputs(tmp_path, tokenizer, order):
    out = tmp_path / "out"
    report = prepare(recipe_of(tmp_path, tokenizer, order), out, one_by_one)
    rows = {row["id"]: row["doc_id"] for row in load_from_disk(str(out / "dataset"))}
    assert set(rows) == {"<0>", "<5>", "<3>"}
    gone = removals(out).to_pylist()
    told = {row["id"]: (row["reason"], row["detail"], row["duplicate_of"]) for row in gone}
    assert told == {
        "<2>": ("blocked_domain", "bad.org", None),
        "<7>": ("blocked_word", "xxx", None),
        "<1>": ("same_url", None, rows["<5>"]),
        "<4>": ("same_url", None, rows["<0>"]),
        "<6>": ("same_url", None, rows["<0>"]),
    }
    notes = {name: n for name, n in report["notes"].items() if name.startswith("pii")}
    assert notes == {"pii_emails": 1, "pii_ipv4": 1}
    (masked,) = [stage for stage in report["ledger"] if stage["stage"] == "pii"]
    was, became = "a@b.org81.2.69.142", "email@example.com22.214.171.124"
    assert masked["bytes_edited"] == len(was) - len(became)
    assert json.loads((out / "manifest.json").read_text())["identity"]["versions"]["w3lib"]


def test_a_run_of_these_steps_is_planned_and_measured(tmp_path, tokenizer):
    recipe = recipe_of(tmp_path, tokenizer, "ab")
    assert dry_run(recipe, tmp_path / "out")["shards"]
    measuring = Measuring(recipe=recipe, sample=1.0)
    found = measure_corpus(measuring, tmp_path / "estimate.json", one_by_one)
    rows = compare(found.estimate, run_recipe(recipe, tmp_path / "out", one_by_one))
    kept = {row.name: (row.predicted.value, row.actual) for row in rows if "kept by" in row.name}
    assert kept == {
        "kept by read": (1, 1),
        "kept by url_filter": (0.75, 0.75),
        "kept by same_url": (0.5, 0.5),
        "kept by pii": (1, 1),
    }
    remarks = "\n".join(found.predicted.remarks)
    assert "same_url keeps the newest of equal documents, whose place among them" in remarks


def test_a_later_crawl_stands_against_the_newest_of_an_earlier_one(tmp_path, tokenizer):
    keep_index = {"keep_index": True}
    prepare(recipe_of(tmp_path, tokenizer, "a", run=keep_index), tmp_path / "first", one_by_one)
    against = {"against": [str(tmp_path / "first")]}
    with pytest.raises(ConfigError, match="same_url keeps the newest of equal documents, and what"):
        prepare(recipe_of(tmp_path, tokenizer, "b", **against), tmp_path / "second", one_by_one)
    steps = [STEPS[0], {"same_url": {"keep": "first", "url": "normalized"}}, "pii"]
    later = recipe_of(tmp_path, tokenizer, "b", steps=steps, **against)
    prepare(later, tmp_path / "second", one_by_one)
    gone = removals(tmp_path / "second").to_pylist()
    assert {row["id"] for row in gone} == {"<4>", "<5>", "<6>", "<7>"}
