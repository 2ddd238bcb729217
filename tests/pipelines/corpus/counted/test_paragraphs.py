"""What the step takes, and what it says of what it cannot do."""

import numpy as np
import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.counted import count as unit_table
from tokenmill.pipelines.corpus.counted.count import Span, Units
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.prepare.recipe import make_recipe


def recipe_of(settings):
    step = {"repeated_paragraphs": settings}
    recipe = {"inputs": [{"path": "a"}], "tokenizer": {"path": "o/t"}, "steps": [step]}
    return make_recipe(recipe, where="r.yaml")


def test_what_is_said_decides_the_identity_and_can_be_read_back():
    said = {"within": {"docs": 5}, "more_than": 6, "keep": "none", "unit": "line", "digest": "sha1"}
    recipe = recipe_of(said)
    (step,) = recipe.identity()["steps"]
    assert step["repeated_paragraphs"].items() >= said.items()
    assert recipe_of(step["repeated_paragraphs"]) == recipe


def test_sidecars_are_told_apart_by_what_decides_their_keys():
    plain = RepeatedParagraphs().parameters()
    for name, other in (("more_than", 9), ("keep", "first")):
        assert RepeatedParagraphs(**{name: other}).parameters() == plain
    for name, other in (
        ("within", "corpus"),
        ("unit", "line"),
        ("normalize", "ccnet"),
        ("digest", "sha1"),
        ("count", "documents"),
        ("empty", "count"),
    ):
        assert RepeatedParagraphs(**{name: other}).parameters() == {**plain, name: other}


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


def test_no_number_of_units_is_too_many():
    starts = np.array([0, 2**32 + 5])
    units = Units(("a",), starts, starts)
    assert units.ranges(0) == units.n_ranges == 1 << 13
    assert units.groups() == [Span(0, 0, 2**32 + 5)]


def test_spans_are_those_of_whole_shards_but_where_buckets_cut_them(monkeypatch):
    monkeypatch.setattr(unit_table, "GROUP_ROWS", 10)
    units = Units(("a", "b", "c", "d"), *map(np.array, ([0, 4, 9, 9, 30], [0, 6, 30])))
    assert [tuple(span) for span in units.groups()] == [(0, 0, 6), (1, 6, 30)]
    assert units.shards_of(units.bucket(1)) == range(1, 4)
    assert [(s.bucket, s.start, s.stop) for s in units.spans_of(4, 9)] == [(0, 4, 6), (1, 6, 9)]
    assert units.spans_of(9, 9) == []
    assert units.shard_groups() == [range(4)]
