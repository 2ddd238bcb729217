"""What the sheet looks like to a reader and to a program."""

import json

from sizing.load_plan import parse_plan
from sizing.plan import Plan
from sizing.report import assumptions, rests_on, sheet_json, sheet_markdown
from sizing.sheet import requirement_sheet
from tests.sizing.corpora import measured

PLAN = parse_plan("corpus: {tokens: 2T}\nmodel: {params: 70B}", where="plan")
SHEET = requirement_sheet(measured(), PLAN)


def row(name, sheet=SHEET):
    return next(r for r in sheet if r.name == name)


def test_rests_on_looks_through_computed_inputs():
    assert rests_on(row("raw capacity"), SHEET) == "measured and assumed"
    assert rests_on(row("one checkpoint"), SHEET) == "assumed"
    whole = requirement_sheet(measured(), Plan())
    assert rests_on(row("stored: dataset", whole), whole) == "measured"


def test_assumptions_are_each_listed_once_and_measured_inputs_are_not():
    names = [given.name for given in assumptions(SHEET)]
    assert len(set(names)) == len(names)
    assert {"mfu", "fill_frac", "bytes_per_param", "params", "corpus_tokens"} <= set(names)
    assert "stored_bytes_per_token" not in names
    assert not {"active_params", "usable_bytes"} & set(names)


def test_json_is_json_and_whole():
    data = sheet_json(SHEET, measured())
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert data["sheet"] == "1"
    assert data["corpus"] == measured().to_json()
    raw = data["requirements"][0]
    assert set(raw) == {
        *("name", "value", "unit", "formula", "inputs", "source", "se"),
        *("low", "high", "measured", "shown", "rests_on"),
    }
    assert raw["name"] == "raw capacity"
    assert raw["low"] < raw["value"] < raw["high"]
    assert raw["shown"].endswith(" TB")
    assert {given["name"] for given in data["assumptions"]} >= {"mfu", "redundancy"}
    assert sheet_json(requirement_sheet(None, PLAN), None)["corpus"] is None


def test_markdown_shows_value_interval_and_what_each_rests_on():
    lines = sheet_markdown(SHEET, measured()).splitlines()
    assert lines[0] == "# Storage requirements"
    assert lines[2] == (
        "Measured on the corpus `docs`: 9,000 documents, 2 million tokens, 4.05 ± 0.03 bytes of"
        " text and 2.2 ± 0.01 bytes stored a token."
    )
    assert "| stored: dataset | 4.4 TB | 4.361 TB to 4.439 TB | measured and assumed |" in lines
    assert "| one checkpoint | 980 GB |  | assumed |" in lines
    assert "| params | 70 billion parameters | stated: model.params |" in lines
    assert "| 8 accelerators |" in "\n".join(lines)


def test_markdown_marks_each_input_as_measured_assumed_or_computed():
    lines = sheet_markdown(SHEET, measured()).splitlines()
    at = lines.index("**read bandwidth, whole job** = 2.76 MB/s")
    assert lines[at + 2] == "`tokens_per_s x stored_bytes_per_token x read_amplification`"
    assert lines[at + 4].endswith("**computed** · training rate")
    assert lines[at + 5] == (
        "- `stored_bytes_per_token` = 2.2 bytes/token ± 0.01 bytes/token (se) · **measured** ·"
        " measured: corpus docs"
    )
    assert "**assumed** · default of training.read_amplification" in lines[at + 6]
    whole = sheet_markdown(requirement_sheet(measured(), Plan()), measured())
    assert "- `dataset` = 4.4 MB · **computed from measurements** · stored: dataset" in whole


def test_markdown_says_when_nothing_was_measured():
    text = sheet_markdown(requirement_sheet(None, PLAN), None)
    assert "No corpus was measured: every figure rests on assumptions." in text
    assert "± " not in text
    assumed = measured(measured=False, docs=None, text_bytes_per_token_se=None)
    text = sheet_markdown(requirement_sheet(assumed, PLAN), assumed)
    assert "Assumed of the corpus `docs`: 2 million tokens, 4.05 bytes of text" in text


def test_a_bar_in_a_name_does_not_break_the_table():
    plan = parse_plan(
        "cluster: {accelerator: a|b, dense_flops_per_s: 1e15, per_node: 8}", where="p"
    )
    sheet = requirement_sheet(measured(stored_bytes={"a|b": 1, "dataset": 2}), plan)
    table = [r for r in sheet_markdown(sheet, measured()).splitlines() if r.startswith("|")]
    assert r"| stored: a\|b | 1 B |  | measured |" in table
