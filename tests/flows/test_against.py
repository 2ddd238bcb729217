"""What the commands say of runs that stand against earlier ones."""

import pytest

from tests.pipelines.chains import Runs, index, words
from tokenmill.flows.cli import main
from tokenmill.flows.commands.prepare_tables import SHOWN, show_report
from tokenmill.flows.doing.prepare import in_short
from tokenmill.flows.show import of_page
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import sections
from tokenmill.sizing.strict import parse_json


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runs = Runs(tmp_path_factory.mktemp("against"))
    runs.make("a", [words("a"), words("b")])
    return runs


def recipe_file(runs, name, docs, **settings):
    runs.write(name, docs)
    path = runs.folder / f"{name}.json"
    path.write_text(runs.recipe(name, **settings).model_dump_json())
    return path


def test_a_dry_run_shows_the_earlier_runs(runs, capsys):
    path = recipe_file(runs, "b", [words("b")], against=["a"])
    assert main(["prepare", str(path), "--out", str(runs.folder / "b"), "--dry-run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"against {runs.folder}/a, 2 documents, index {_size(runs)} kB" in shown
    assert not (runs.folder / "b").exists()


def test_one_document_is_told_as_one(runs):
    runs.make("one", [words("z")])
    report = Report.read(parse_json((runs.folder / "one" / "report.json").read_text()), "one")
    n = report.total.tokens
    assert in_short(report).startswith(f"1 document, {n:,} tokens in ")


def _size(runs):
    size = sum(path.stat().st_size for path in (runs.folder / "a" / "index").iterdir())
    assert index(runs.folder / "a").num_rows == 2
    return f"{size / 1000:.3g}"


def test_a_setting_names_an_earlier_run(runs, capsys):
    path = recipe_file(runs, "c", [words("b")])
    setting = f"against={runs.folder / 'nowhere'}"
    assert main(["prepare", str(path), "--out", str(runs.folder / "c"), "--set", setting]) == 2
    assert f"against.0: {runs.folder}/nowhere: no run here" in capsys.readouterr().err


def test_what_earlier_runs_hold_stands_in_the_headline(runs, capsys):
    out = runs.make("d", [words("b"), words("c")], against=["a"])
    report = Report.model_validate_json((out / "report.json").read_text())
    show_report(report, out)
    told = "Duplicates of documents that earlier runs hold: 1 (exact 1)."
    shown = capsys.readouterr().out
    assert told in shown
    by_stage = ["Documents by stage", "Bytes of text by stage", "Documents that left, by reason"]
    assert [t.caption for t in of_page(sections(report), SHOWN)] == by_stage
    assert [line for line in map(str.rstrip, shown.splitlines()) if line in by_stage] == by_stage
