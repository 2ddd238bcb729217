"""The sheet as data: whole, documented, each figure with what it rests on."""

import json
from typing import get_args

import pytest

from tests.sizing.corpora import illustrated, measured
from tests.sizing.report.keys import ESTIMATE_SCHEMA, SheetData, schemas
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.data import assumptions, kind, rests_on, sheet_json
from tokenmill.sizing.requirements import headline, requirement_sheet, size
from tokenmill.sizing.verdict import Outcome, judge

PLAN = parse_plan("corpus: {tokens: 2T}\nmodel: {params: 70B}", where="plan")


@pytest.fixture(scope="module")
def sheet():
    return requirement_sheet(PLAN, {"corpus": measured()})


def test_rests_on_looks_through_computed_inputs(sheet):
    rows = sheet.rows
    assert (
        rests_on(rows["raw capacity"], rows) == "extrapolated, stated, assumed, chosen, unverified"
    )
    assert rests_on(rows["one checkpoint"], rows) == "stated, chosen"
    whole = requirement_sheet(parse_plan("", where="p"), {"corpus": measured()}).rows
    assert rests_on(whole["stored: dataset"], whole) == "measured"


def test_assumptions_are_each_listed_once_and_measured_inputs_are_not(sheet):
    found = [(given.value, given.source) for given in assumptions(sheet)]
    assert len(set(found)) == len(found)
    keys = {given.key for given in assumptions(sheet)}
    assert {"cluster.mfu", "storage.fill_frac", "model.params", "corpus.tokens"} <= keys
    names = {given.name for given in assumptions(sheet)}
    assert "usable_bytes" not in names
    assert not any(given.measured or given.computed_by for given in assumptions(sheet))


@pytest.mark.parametrize("corpus", [measured(), illustrated()], ids=["text", "images"])
def test_the_schema_that_ships_is_of_what_is_written(corpus):
    """Of a plan whose tiers are short, enough, not shared, unknown, one client's and several."""
    data = sheet_json(requirement_sheet(PLAN, {"corpus": corpus}))
    written = json.loads(json.dumps(data, allow_nan=False))
    SheetData.model_validate(written)
    assert {v["outcome"] for v in data["verdicts"]} == set(get_args(Outcome))
    assert data["corpora"] == {"corpus": corpus.to_json()}


def test_schemas_are_rendered_from_the_models():
    for file, schema in schemas().items():
        assert json.loads(file.read_text()) == json.loads(json.dumps(schema))
    assert "anyOf" in schemas()[ESTIMATE_SCHEMA]["properties"]["docs_in"]


def test_json_is_json_and_has_every_row(sheet):
    data = sheet_json(sheet)
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert data["corpora"] == {"corpus": measured().to_json()}
    rows = {row["name"]: row for section in data["sections"] for row in section["rows"]}
    assert list(rows) == [row.name for row in sheet]
    raw = rows["raw capacity"]
    assert raw["low"] < raw["value"] < raw["high"]
    assert raw["shown"].endswith("TB")
    assert data["headline"] == [row.name for row in headline(sheet)]


def test_json_marks_what_no_document_says(sheet):
    data = sheet_json(sheet)
    flagged = {given["name"] for given in data["unverified"]}
    assert "drive_reads_per_s" in flagged
    assert flagged < {given["name"] for given in data["assumptions"]}
    assert {kind(given) for given in assumptions(sheet)} == {
        *("extrapolated", "stated", "assumed", "chosen", "unverified")
    }


def test_json_has_the_verdict_on_every_tier(sheet):
    verdicts = sheet_json(sheet)["verdicts"]
    assert len(verdicts) == len(judge(sheet)) > 50
    short = next(v for v in verdicts if v["outcome"] == "short")
    assert short["shortfall"]["value"] > 1
    assert short["told"].startswith("short ")


def test_without_any_corpus_there_is_none_in_the_data():
    assert sheet_json(size())["corpora"] == {}
