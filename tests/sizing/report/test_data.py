"""The sheet as data: whole, documented, each figure with what it rests on."""

import json
import re
from typing import get_args

import pytest

from tests.sizing.corpora import illustrated, measured
from tokenmill.sizing.plan.load import parse_plan
from tokenmill.sizing.report import data as report
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


def documented():
    """The keys beneath each key of the documented schema, those of the sheet under ""."""
    found, path = {}, [""]
    lines = re.findall(r"^((?: {4})*)([a-z_]+(?:, [a-z_]+)*)  ", report.__doc__, re.MULTILINE)
    for indent, names in lines:
        depth = len(indent) // 4
        found.setdefault(path[depth], set()).update(names.split(", "))
        path[depth + 1 :] = [names]
    return found


def test_the_schema_names_the_keys_that_are_written(sheet):
    """Of a plan whose tiers are short, enough, not shared, unknown, one client's and several."""
    told, data = documented(), sheet_json(sheet)
    assert data.keys() == told[""]
    rows = [row for section in data["sections"] for row in section["rows"]]
    made = [v[key] for v in data["verdicts"] for key in ("shortfall", "enough", "instances")]
    made += [step for verdict in data["verdicts"] for step in verdict["steps"]]
    plain = [requirement for requirement in made if requirement is not None]
    inputs = [given for row in (*rows, *plain) for given in row["inputs"]]
    inputs += data["assumptions"] + data["unverified"]
    written = {
        "sections": data["sections"],
        "rows": rows,
        "inputs": inputs,
        "verdicts": data["verdicts"],
    }
    assert {k: {frozenset(d) for d in v} for k, v in written.items()} == {
        k: {frozenset(told[k])} for k in written
    }
    assert {frozenset(d) for d in plain} == {frozenset(told["rows"] - {"shown", "rests_on"})}


def test_a_sheet_of_images_has_the_keys_of_one_of_text(sheet):
    text, data = sheet_json(sheet), sheet_json(requirement_sheet(PLAN, {"corpus": illustrated()}))
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert data.keys() == text.keys()
    assert data["corpora"] == {"corpus": illustrated().to_json()}
    told = documented()
    rows = [row for section in data["sections"] for row in section["rows"]]
    assert {frozenset(row) for row in rows} == {frozenset(told["rows"])}
    assert {frozenset(i) for row in rows for i in row["inputs"]} == {frozenset(told["inputs"])}


def test_the_schema_names_every_outcome(sheet):
    told = report.__doc__.partition("outcome  ")[2].partition("limit  ")[0]
    assert set(re.findall(r'"([a-z ]+)"', told)) == set(get_args(Outcome))
    assert {v["outcome"] for v in sheet_json(sheet)["verdicts"]} == set(get_args(Outcome))


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
