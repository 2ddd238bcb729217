"""The corpus-wide step that the page of `pipelines` shows does what the page says of it."""

import json

import pytest

from tests.pages import blocks
from tests.pipelines.chains import Runs, rows
from tests.pipelines.plugged import plug
from tests.running import one_by_one
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.inspect import removals

STEPS_OF_RUN = ["normalize", {"same_start": {"chars": 4}}]
TEXTS = {"a": "Abcd one", "b": "abcd two", "c": "other", "d": "ABCDEF", "e": "abc", "f": "abcd"}


def documents(ids):
    return [{"id": i, "text": TEXTS[i]} for i in ids]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    (source,) = [block for block in blocks("python") if block.startswith("# same_start.py")]
    (tmp_path / "same_start.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    plug(monkeypatch, "same_start", STEPS)
    return Runs(tmp_path)


def test_the_first_of_those_that_begin_alike_stays_and_is_named(runs):
    out = runs.make("new", documents("abcdef"), steps=STEPS_OF_RUN)
    assert [i for i, _ in rows(out)] == ["a", "c", "e"]
    gone = {row["id"]: row for row in removals(out).to_pylist()}
    assert gone.keys() == {"b", "d", "f"}
    assert {row["reason"] for row in gone.values()} == {"same_start"}
    assert len({row["duplicate_of"] for row in gone.values()} - {None}) == 1
    ledger = json.loads((out / "report.json").read_text())["ledger"]
    assert ledger[2]["removed"] == {"same_start": 3}


def test_it_stands_against_an_earlier_run(runs):
    runs.make("old", documents("a"), steps=STEPS_OF_RUN)
    out = runs.make("new", documents("bce"), steps=STEPS_OF_RUN, against=["old"])
    assert [i for i, _ in rows(out)] == ["c", "e"]
    longer = ["normalize", {"same_start": {"chars": 5}}]
    with pytest.raises(ConfigError, match="chars"):
        runs.make("other", documents("bce"), steps=longer, against=["old"])


def test_measure_predicts_it(runs):
    runs.write("new", documents("abcdef"))
    recipe = runs.recipe("new", steps=STEPS_OF_RUN, keep_index=False)
    measuring = Measuring(recipe=recipe, sample=1.0)
    measure_corpus(measuring, runs.folder / "estimate.json", one_by_one)
    assert not json.loads((runs.folder / "estimate.json").read_text())["not_predicted"]
