"""The whole sheet: every row traced to what it rests on, every interval as Monte Carlo has it."""

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizing.corpora import estimate, measured, report
from tokenmill.sizing.corpus import read_corpus
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.figure import interval
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.requirement import leaves
from tokenmill.sizing.requirements import HEADLINE, find_plan, headline, requirement_sheet, size
from tokenmill.sizing.sections.stages import SETS
from tokenmill.sizing.verdict import judge

LLAMA_405B = """
corpus: {tokens: 15.6T}
cluster: {accelerator: H100 SXM, count: 16384, mfu: 0.404}
model: {params: 405B, layers: 126, hidden: 16384, heads: 128, kv_heads: 8, seq_len: 8192}
checkpoints: {write_bytes_per_s: 500 GB/s, mode: async}
"""
MIXED = """
sources:
  - {name: web, tokens: 900B, weight: 3}
  - {name: images, tokens: 100B, weight: 1, image_text: {}}
training: {days: 3}
storage: {redundancy: 3 replicas}
"""
PLANS = {text: parse_plan(text, where="p") for text in ("", LLAMA_405B, MIXED)}


def sheets():
    return st.one_of(
        st.sampled_from([requirement_sheet(plan, {}) for plan in PLANS.values()]),
        st.sampled_from(
            [
                requirement_sheet(parse_plan(text, where="p"), {"corpus": corpus})
                for corpus in (measured(), read_corpus(estimate(), where="e"))
                for text in ("", "corpus: {tokens: 3T}")
            ]
        ),
    )


@given(sheets())
@settings(deadline=None)
def test_every_row_can_be_recomputed_and_traced(sheet):
    rows = sheet.rows
    assert len(rows) == len(list(sheet)) == sum(len(s.rows) for s in sheet.sections)
    for row in sheet:
        assert math.isfinite(row.value)
        assert row.value >= 0
        assert row.formula
        assert row.source
        for used in row.inputs:
            assert used.source
            if used.computed_by is not None:
                assert rows[used.computed_by].value == used.value
        assert leaves(row, rows)
        low, high = row.interval
        assert low is None or low <= row.value <= high


def test_the_figures_that_matter_first_are_there():
    assert len(HEADLINE) == len(set(HEADLINE)) == 12
    for plan in PLANS.values():
        assert len(headline(requirement_sheet(plan, {}))) == 12


def test_a_measurement_for_no_source_is_refused():
    plan = parse_plan("sources: [{name: a, tokens: 1T}]", where="p")
    with pytest.raises(PlanError, match="name its path in one of a"):
        requirement_sheet(plan, {"corpus": measured()})


UNCERTAIN = """
corpus:
  tokens: {value: 10T, low: 8T, high: 12T}
  text_bytes_per_token: {value: 4, low: 3.8, high: 4.2}
cluster: {count: 1024, mfu: {value: 0.4, low: 0.36, high: 0.44}}
model: {params: 8B}
checkpoints: {write_bytes_per_s: {value: 50 GB/s, low: 40 GB/s, high: 60 GB/s}}
"""
Z = 1.96


# two percentiles of 600 draws: each is off by 5 % of the width, one in twenty by 9 %
@pytest.mark.parametrize(
    ("draws", "off"), [(120, 0.3), pytest.param(600, 0.15, marks=pytest.mark.long)]
)
def test_intervals_of_the_sheet_are_those_of_monte_carlo(draws, off):
    """Each stated interval drawn from a normal distribution, the whole sheet computed anew."""
    sheet = requirement_sheet(parse_plan(UNCERTAIN, where="p"), {})
    drawn = {
        "corpus.tokens": (10e12, 2e12),
        "corpus.text_bytes_per_token": (4.0, 0.2),
        "cluster.mfu": (0.4, 0.04),
        "checkpoints.write_bytes_per_s": (50e9, 10e9),
    }
    gauss = random.Random(7).gauss
    made = {row.name: [] for row in sheet}
    for _ in range(draws):
        changes = {key: gauss(value, half / Z) for key, (value, half) in drawn.items()}
        for row in requirement_sheet(parse_plan(UNCERTAIN, where="p", changes=changes), {}):
            made[row.name].append(row.value)
    checked = 0
    for row in sheet:
        # that of sets is no setting to draw
        low, high = interval(row.value, {of: s for of, s in row.spread.items() if of != SETS})
        values = sorted(made[row.name])
        if low is None:
            assert values[0] == values[-1] == row.value
            continue
        width = values[int(0.975 * draws)] - values[int(0.025 * draws)]
        assert math.isclose(high - low, width, rel_tol=off, abs_tol=1e-9 * row.value), row.name
        checked += 1
    assert checked >= 8


@pytest.fixture
def folder(tmp_path):
    """A plan and corpora in a folder of their own, away from where it is read."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.json").write_text(json.dumps(report()))
    (tmp_path / "estimate.json").write_text(json.dumps(estimate()))
    return tmp_path


def plan(folder, text):
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_a_corpus_lies_relative_to_its_plan(folder):
    sheet = size(plan(folder, "corpus: {path: run}"))
    assert sheet.measurements["corpus"].name == "docs"
    assert size(plan(folder, "corpus: {path: estimate.json}"))["corpus tokens"].value == 2e12


def test_a_corpus_named_beside_the_plan_takes_the_place_of_its_own(folder):
    sheet = size(plan(folder, "corpus: {path: nothing}"), corpus=folder / "estimate.json")
    assert sheet.measurements["corpus"].name == "crawl"


def test_a_job_has_the_corpus_that_it_states_or_the_plans(folder):
    """A path that a job stated was not opened, not even one that is not there."""
    text = "corpus: {path: run, tokens: 9T}\njobs:\n- {name: b}\n"
    text += (
        "- {name: a, corpus: {path: estimate.json}}\n- {name: d, corpus: {tokens_per_image: 9}}\n"
    )
    made = size(plan(folder, f"{text}- {{name: c, corpus: {{tokens: 3T}}}}"))
    named = {n: [m.name for m in own.measurements.values()] for n, (_, own) in made.jobs.items()}
    assert named.pop("a") == ["crawl"]
    assert named == {name: ["docs"] for name in ("this plan", "b", "c", "d")}
    assert made.jobs["a"][1]["corpus tokens"].value == 2e12
    assert made.jobs["c"][1]["corpus tokens"].value == 3e12
    with pytest.raises(PlanError, match="nothing: cannot read the corpus"):
        size(plan(folder, "jobs: [{name: a, corpus: {path: nothing}}]"))


def test_every_source_has_its_corpus(folder):
    text = "sources: [{name: a, path: run}, {name: b, path: estimate.json}, {name: c, tokens: 1T}]"
    sheet = size(plan(folder, text))
    assert {key: m.name for key, m in sheet.measurements.items()} == {"a": "docs", "b": "crawl"}
    with pytest.raises(PlanError, match="name its path in one of a, b, c"):
        size(plan(folder, text), corpus=folder / "run")


def test_settings_can_be_changed(folder):
    path = plan(folder, "model: {params: 8B}")
    assert size(path, changes={"model.params": "70B"})["one checkpoint"].value == 980e9


def test_a_file_comes_before_an_example_of_its_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "llama-8b-1024-h100").write_text("model: {params: 1B}")
    assert find_plan("llama-8b-1024-h100").read_text() == "model: {params: 1B}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("llama-8b-1024-h200", "did you mean 'llama-8b-1024-h100'?"),
        ("plan.yml", "examples: gpt2-124m-8-h100, image-text-8b-1024-h100, llama-405b-16384"),
    ],
)
def test_a_plan_that_is_not_there(name, hint):
    with pytest.raises(PlanError, match="no such plan file, and no example") as e:
        find_plan(name)
    assert hint in str(e.value)


@pytest.mark.parametrize(
    ("holds", "row"),
    [("dataset", "restart read bandwidth"), ("checkpoints", "read bandwidth, whole job")],
)
def test_storage_is_not_asked_for_what_it_does_not_hold(holds, row):
    made = requirement_sheet(parse_plan(f"storage: {{holds: {holds}}}", where="p"), {})
    assert row in made
    assert row not in [asked.name for asked in headline(made)]
    assert row not in {verdict.requirement for verdict in judge(made)}
