"""What a filter removes nearly all of, or a run finds nothing in, is told by source and reason."""

import json

import pytest

from tests.running import one_by_one, prepare
from tokenmill.flows.commands.prepare_tables import show_report
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.length import Length
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import MOST_SOURCES
from tokenmill.pipelines.runs.finished import mostly_removed

GERMAN = "Der Zweck dieses Gesetzes ist, den Einzelnen davor zu schützen, dass er leidet. " * 6
ENGLISH = "The purpose of these words is to be read with care and that have a meaning. " * 6
STOP_WORDS = (
    "mostly too_few_stop_words: its stop words are English; name others (stop_words), or none"
    " (min_stop_words: null)"
)


def removed(n, of, **reasons):
    return StageStats(docs_in=of, docs_out=of - n, removed=reasons or {"why": n})


@pytest.mark.parametrize(("n", "of", "is_told"), [(9, 10, 0), (10, 10, 1), (9, 9, 0), (91, 100, 1)])
def test_over_nine_tenths_of_ten_documents_at_least_are_told_of_filters(n, of, is_told):
    stages = {"length": removed(n, of), "exact": removed(n, of), "near": removed(n, of)}
    told = [*mostly_removed({"web": stages}, [Length(min_chars=1), ExactDedup()])]
    share = f"{100 * n / of:.0f} %"
    line = f"length removed {share} of the {of} documents of web, mostly why"
    assert told == [line] * is_told


@pytest.mark.parametrize(
    ("settings", "reason", "hint"),
    [
        ({}, "too_few_stop_words", STOP_WORDS.partition(": ")[2]),
        ({"stop_words": ["der", "die"]}, "too_few_stop_words", ""),
        ({}, "too_many_words", ""),
        ({}, "too_few_words", "it asks for 50 between white space; words: scripts counts others"),
        ({"words": "scripts"}, "too_few_words", ""),
    ],
)
def test_a_step_says_what_to_know_of_its_reason(settings, reason, hint):
    assert GopherQuality(**settings).hint(reason) == hint
    stages = {"gopher_quality": removed(99, 100, **{reason: 60, "other": 39})}
    (told,) = mostly_removed({"laws": stages}, [GopherQuality(**settings)])
    assert told.endswith(f" of laws, mostly {reason}" + (f": {hint}" if hint else ""))


NO_URLS = (
    "goes by URLs, and no input has them: it did nothing; name their column, as"
    " {path: …, url: NAME}"
)


def test_a_run_names_the_source_its_filter_emptied_and_inputs_without_documents(tmp_path, capsys):
    inputs = []
    for name, texts in {"laws": [GERMAN] * 10, "web": [ENGLISH] * 10, "empty": []}.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        inputs.append({"path": str(path), "source": name})
    steps = [{"gopher_quality": {}}, "repeated_paragraphs", "same_url"]
    data = {"inputs": inputs, "steps": steps}
    data |= {"tokenizer": None, "output": {"text": "jsonl.zst"}}
    out = tmp_path / "run"
    report = Report.model_validate(prepare(make_recipe(data, where="test"), out, one_by_one))
    assert report.warnings == [
        f"no document in {tmp_path}/empty.jsonl",
        f"step 'repeated_paragraphs' {NO_URLS}, or set within: corpus",
        f"step 'same_url' {NO_URLS}",
        f"gopher_quality removed 100 % of the 10 documents of laws, {STOP_WORDS}",
    ]
    assert report.left_by_source() == {
        "empty": [],
        "laws": [("gopher_quality", "removed", "too_few_stop_words", 10, 10)],
        "web": [],
    }
    written = (out / "report.md").read_text()
    assert f"Warning: {report.warnings[1]}." in written
    assert "| laws | gopher_quality | too_few_stop_words | removed | 10 | 100 % |" in written
    show_report(report, out)
    assert f"warning: {report.warnings[1]}" in " ".join(capsys.readouterr().out.split())


def test_the_page_lists_the_sources_of_which_most_left_and_says_what_else_there_is(tmp_path):
    inputs = []
    for number in range(MOST_SOURCES + 2):
        path = tmp_path / f"{number:03d}.jsonl"
        path.write_text('{"text": "a"}\n' * (10 + (number > 0)))
        inputs.append({"path": str(path), "source": f"s{number:03d}"})
    data = {"inputs": inputs, "steps": [{"length": {"min_chars": 2}}], "tokenizer": None}
    data |= {"output": {"text": "jsonl.zst"}}
    out = tmp_path / "run"
    report = Report.model_validate(prepare(make_recipe(data, where="test"), out, one_by_one))
    written = (out / "report.md").read_text()
    shown = [line for line in written.splitlines() if line.startswith("| s")]
    assert len(report.warnings) == MOST_SOURCES + 2
    assert written.count("Warning: length removed") == MOST_SOURCES
    assert "2 further warnings in report.json." in written
    assert len([line for line in shown if "| too_short |" in line]) == MOST_SOURCES
    assert "| s000 | length |" not in written
    assert "Of 2 further sources fewer left, see ledger_by_source in report.json." in written
