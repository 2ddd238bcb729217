"""What the step takes, and what it says of what it cannot do."""

import numpy as np
import pytest

from tests.pipelines.corpus.counted.test_count import job_of, write_sidecars
from tests.pipelines.corpus.repeats_corpora import corpus
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.counted import table as unit_table
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.counted.table import Units, write_units
from tokenmill.pipelines.prepare.recipe import make_recipe


def recipe_of(settings):
    step = {"repeated_paragraphs": settings}
    recipe = {"inputs": [{"path": "a"}], "tokenizer": {"path": "t"}, "steps": [step]}
    return make_recipe(recipe, where="r.yaml")


def test_runs_keep_the_identity_they_had_before_there_were_lines():
    (step,) = recipe_of({"keep": "first"}).identity()["steps"]
    assert step == {"repeated_paragraphs": {"within": "domain", "more_than": 2, "keep": "first"}}
    assert RepeatedParagraphs().parameters() == {"within": "domain"}


def test_what_is_said_decides_the_identity_and_can_be_read_back():
    said = {"within": {"docs": 5}, "more_than": 6, "keep": "none", "unit": "line", "digest": "sha1"}
    recipe = recipe_of(said)
    assert recipe.identity()["steps"] == [{"repeated_paragraphs": said}]
    assert recipe_of(recipe.identity()["steps"][0]["repeated_paragraphs"]) == recipe
    sidecar = {"within": "corpus", "unit": "line", "digest": "sha1"}
    assert recipe.steps[0].parameters() == sidecar


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"within": "host"},
            "within: expected domain, corpus, {docs: N} or {shards: N}, got 'host'",
        ),
        (
            {"within": {"docs": 1, "shards": 1}},
            "within: expected domain, corpus, {docs: N} or {shards: N},"
            " got {'docs': 1, 'shards': 1}",
        ),
        (
            {"within": {"docs": 0}},
            "within.docs: Input should be greater than or equal to 1, got 0",
        ),
        ({"counts": "documents"}, "unknown key 'counts'; did you mean 'count'?"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ConfigError) as e:
        recipe_of(settings)
    assert str(e.value) == f"r.yaml: steps.0: repeated_paragraphs: {message}"


@pytest.mark.parametrize("unit", ["paragraph", "line"])
def test_more_units_than_can_be_numbered_are_refused_with_a_way_out(tmp_path, monkeypatch, unit):
    step = RepeatedParagraphs(unit=unit, within="corpus")
    job = job_of(tmp_path, [step])
    write_sidecars(job, corpus(0))
    monkeypatch.setattr(unit_table, "MAX_ROWS", 100)
    with pytest.raises(ConfigError) as e:
        write_units(job, 0, (step,))
    start, end = str(e.value).split(" are more than can be counted at once, ")
    assert start.startswith("repeated_paragraphs: ")
    assert start.endswith(f" {unit}s")
    assert end == "99; split the corpus, or count by buckets, as within: {docs: 30_000_000}"
    by_buckets = RepeatedParagraphs(unit=unit, within={"docs": 5})
    assert len(write_units(job, 0, (by_buckets,)).facts["ranges"]) > 20


def test_spans_are_those_of_whole_shards_but_where_buckets_cut_them(monkeypatch):
    monkeypatch.setattr(unit_table, "GROUP_ROWS", 10)
    units = Units(("a", "b", "c", "d"), *map(np.array, ([0, 4, 9, 9, 30], [0, 6, 30])))
    assert [(s.bucket, s.base, s.start, s.stop) for s in units.groups()] == [
        (0, 0, 0, 6),
        (1, 6, 6, 30),
    ]
    assert units.shards_of(units.bucket(1)) == range(1, 4)
    assert [(s.bucket, s.start, s.stop) for s in units.spans_of(4, 9)] == [(0, 4, 6), (1, 6, 9)]
    assert units.spans_of(9, 9) == []
    assert units.shard_groups() == [range(4)]
