"""`tokenmill size` as a user types it: what is shown, what is written, how mistakes are told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sizing.corpora import estimate, report
from tokenmill.flows.cli import main
from tokenmill.sizing.report.data import sheet_json
from tokenmill.sizing.report.html import sheet_html
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.requirements import headline, size

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = "llama-8b-1024-h100"
HEAVY = "{'prefect', 'datasets', 'numba', 'pyarrow', 'numpy', 'pandas'}"


LOST = ("training time with failures", "cost of waste")


def run(*arguments):
    return main(["size", *map(str, arguments)])


def words(text):
    """The text of a terminal with its lines and columns run together."""
    return " ".join(text.split())


def test_the_figures_that_matter_first_then_tiers_then_where_the_rest_is(capsys):
    assert run(EXAMPLE) == 0
    out = capsys.readouterr().out
    told, sheet = words(out), size(EXAMPLE)
    places = [told.index(f"{row.name} {row.shown}") for row in headline(sheet)]
    assert len(places) == 12
    assert places == sorted(places)
    assert "training time 26.1 days 23.7 to 29 days stated, chosen" in told
    assert "FSx Lustre 250 enough not published enough enough" in told
    assert "Accelerator memory" not in told
    assert out.rstrip().endswith(
        "--out FOLDER writes the whole sheet, with formulas, inputs and sources"
    )
    assert max(map(len, out.splitlines())) <= 110


def test_without_a_plan_every_default_is_assumed(capsys):
    assert run() == 0
    out = capsys.readouterr().out
    assert out.count("95 % interval") == 1  # of scratch
    assert "every figure rests on what is stated or assumed" in words(out)
    assert words(out).startswith("No plan is given, so the model, the cluster and the storage are")
    assert run("--vary", "checkpoints.mode=sync,async") == 0
    assert words(capsys.readouterr().out).startswith("No plan is given, so the model,")
    assert run(EXAMPLE) == 0
    assert "No plan" not in capsys.readouterr().out


def test_what_a_stall_costs_and_whether_it_is_our_choice_is_told_beside_what_is_varied(capsys):
    assert run("--vary", "checkpoints.stall_frac=1%,10%") == 0
    out = capsys.readouterr().out
    of = {row: next(x for x in out.splitlines() if x.startswith(row)) for row in LOST}
    for row, line in of.items():
        first, _, second, _ = line.removeprefix(row).split()
        assert float(second.replace(",", "")) > float(first.replace(",", ""))
    assert "our choice" not in out
    assert run("--vary", "model.params=8B,70B") == 0
    told = words(capsys.readouterr().out)
    assert "checkpoint write bandwidth, with model.params=8B: training waits 5 % of the" in told


def test_all_shows_every_row(capsys):
    assert run(EXAMPLE, "--all") == 0
    told = words(capsys.readouterr().out)
    for row in size(EXAMPLE):
        assert f"{row.name.split()[0]} " in told
        assert row.shown in told


def test_warnings_stand_before_the_tiers(tmp_path, capsys):
    (tmp_path / "plan.yaml").write_text("cluster: {mfu: 0.9}")
    assert run(tmp_path / "plan.yaml") == 0
    told = words(capsys.readouterr().out)
    warned = "warning: MFU 0.9 is above 0.803, the share of its peak"
    assert told.index(warned) < told.index("Storage tiers")


def test_words_of_the_tiers_are_explained_below_them(tmp_path, capsys):
    (tmp_path / "plan.yaml").write_text(
        "{corpus: {tokens: 100T}, storage: {candidates: [NFS, local NVMe Gen4]}}"
    )
    assert run(tmp_path / "plan.yaml") == 0
    told = words(capsys.readouterr().out)
    places = [
        told.index(part)
        for part in (
            "NFS, one connection not judged",
            "not judged: only the link of one client is known",
            "to buy: usable capacity; drives are raw, with redundancy",
            "local NVMe Gen4: 131 drives a node are more than the 24 or so that a server holds",
            "* rests on figures that no document was found for",
        )
    ]
    assert places == sorted(places)


def test_out_writes_the_sheet_three_times(tmp_path, capsys):
    out = tmp_path / "deep" / "sizing"
    assert run(EXAMPLE, "--out", out) == 0
    names = {"requirements.md", "requirements.html", "requirements.json"}
    assert {path.name for path in out.iterdir()} == names
    sheet = size(EXAMPLE)
    assert json.loads((out / "requirements.json").read_text()) == json.loads(
        json.dumps(sheet_json(sheet))
    )
    assert (out / "requirements.md").read_text() == sheet_markdown(sheet)
    assert (out / "requirements.html").read_text() == sheet_html(sheet)
    told = capsys.readouterr().out
    assert all(str(out / name) in told.replace("\n", "") for name in names)


def test_json_is_all_of_stdout(capsys):
    assert run(EXAMPLE, "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads(json.dumps(sheet_json(size(EXAMPLE))))
    assert captured.err == ""


@pytest.mark.long_but("estimate-crawl")  # reports by test_corpus
@pytest.mark.parametrize(("make", "name"), [(report, "docs"), (estimate, "crawl")])
def test_a_corpus_is_a_run_or_a_file(make, name, tmp_path, capsys):
    (tmp_path / "report.json").write_text(json.dumps(make()))
    for path in (tmp_path, tmp_path / "report.json"):
        assert run("--corpus", path) == 0
        assert f"The corpus is as measured: {name}." in words(capsys.readouterr().out)


def test_a_few_cases_stand_side_by_side(capsys):
    assert run("--vary", "model.params=8B,70B") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["model.params", "8B", "70B"] in lines
    assert ["one", "checkpoint", "112", "GB", "980", "GB"] in lines


def test_many_cases_stand_one_below_the_other_in_tables_that_fit(capsys):
    vary = ["--vary", "model.params=1B,8B,70B", "--vary", "cluster.count=256,1024"]
    assert run(*vary) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    tables = [line for line in lines if line.startswith("70B")]
    assert len(tables) == (3 + 3) * 2  # of the headline and of the tiers
    assert max(len(line) for line in lines if "warning" not in line) <= 110
    assert max(map(len, tables)) <= 100


def test_a_comparison_as_data_and_in_files(tmp_path, capsys):
    vary = ["--vary", "model.params=8B,70B", "--out", tmp_path, "--json"]
    assert run(*vary) == 0
    data = json.loads(capsys.readouterr().out)
    assert [case["changes"] for case in data["cases"]] == [
        {"model.params": "8B"},
        {"model.params": "70B"},
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"comparison.md", "comparison.json"}
    assert json.loads((tmp_path / "comparison.json").read_text()) == data


def page_blocks():
    """What the page shows of `size`: the first plan, and commands with what they print."""
    blocks = (ROOT / "sizing" / "README.md").read_text().split("```")[1::2]
    shown = [block.strip().partition("\n") for block in blocks if block.startswith("\n$ ")]
    return blocks[0].removeprefix("yaml\n"), shown


def test_the_page_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    plan, commands = page_blocks()
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(plan)
    assert len(commands) == 2
    for command, _, output in commands:
        assert main(command.removeprefix("$ tokenmill ").split()) == 0
        printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
        assert printed == output.splitlines()


MISTAKES = {
    "cluster: {accelerator: H100 SMX}": "unknown accelerator 'H100 SMX'; did you mean 'H100 SXM'",
    "cluster: {count: -8}": "cluster.count: input should be greater than or equal to 1, got -8",
    "model: {params: 0}": "model.params: input should be greater than 0, got 0",
    "cluster: {mfu: 1.5}": "cluster.mfu: input should be less than or equal to 1, got 1.5",
    "training: {tokens: 15T, days: 3}": "training.tokens 1.5e+13 take 20.57 days, and"
    " training.days is 3; give one, or cluster.count 7,022",
    "cluster: {scale_out_bits_per_s: 400 G}": "'400 G' does not say whether it means bytes (B) or"
    " bits (b)",
    "corpus: {path: nowhere}": "cannot read the corpus (No such file or directory)",
    "storage: {candidates: [FSx Lustra 250]}": "did you mean 'FSx Lustre 250'",
    "model: {param: 8B}": "model: unknown key 'param'; did you mean 'params'?",
    "name: docs\nsteps: []": "unknown key 'name'; known keys: corpus, sources, model",
    "model: [": "not YAML: ",
}


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tokenmill size: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_plan_is_one_line_that_names_the_plan(text, tmp_path, capsys):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    assert run(path) == 2
    said = one_line(capsys)
    assert MISTAKES[text] in said
    assert str(tmp_path) in said


def test_bits_are_understood_where_they_say_so(tmp_path, capsys):
    (tmp_path / "plan.yaml").write_text("checkpoints: {write_bytes_per_s: 400Gbps}")
    assert run(tmp_path / "plan.yaml", "--json") == 0
    sheet = json.loads(capsys.readouterr().out)
    (given,) = [g for g in sheet["assumptions"] if g["key"] == "checkpoints.write_bytes_per_s"]
    assert given["value"] == 50e9


def png(path):
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")


def parquet(path):
    pq.write_table(pa.table({"text": ["a"]}), path)


def recipe(path):
    path.write_text("name: docs\ninputs: [{path: a.jsonl}]\nsteps: []\n")


def other_json(path):
    path.write_text('{"version": 1}')


@pytest.mark.parametrize("make", [png, parquet, recipe, other_json, Path.mkdir])
def test_a_corpus_of_the_wrong_kind_is_one_line(make, tmp_path, capsys):
    path = tmp_path / "corpus"
    make(path)
    assert run("--corpus", path) == 2
    said = one_line(capsys)
    assert str(path) in said
    assert "a corpus is a finished run directory, its report.json, or an estimate.json" in said


@pytest.mark.parametrize("make", [png, parquet, Path.mkdir])
def test_a_plan_of_the_wrong_kind_is_one_line(make, tmp_path, capsys):
    path = tmp_path / "plan"
    make(path)
    assert run(path) == 2
    assert str(path) in one_line(capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vary", "model.params"],
        ["--vary", "model.params=8B,oops"],
        ["--vary", "cluster.count=" + ",".join(map(str, range(1, 100)))],
        ["no-such-plan"],
    ],
)
def test_a_mistake_in_an_argument_is_one_line(arguments, capsys):
    assert run(*arguments) == 2
    one_line(capsys)


@pytest.mark.parametrize("more", [[], ["--vary", "cluster.count=8"]])
def test_a_folder_that_cannot_be_written_is_one_line(more, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run("--out", tmp_path / "file", *more) == 2
    assert one_line(capsys) == (
        f"tokenmill size: {tmp_path / 'file'}: cannot write there (File exists); choose another"
        " --out\n"
    )


def test_nothing_that_is_slow_to_import_is_imported(tmp_path):
    code = "import sys; from tokenmill.flows.cli import main\n"
    out = ["--out", str(tmp_path)]
    for more in ([*out, "--all"], ["--vary", "model.params=1B,8B", *out, "--json"]):
        code += f"main({['size', EXAMPLE, *more]!r})\n"
    code += f"print({HEAVY} & set(sys.modules), file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stderr.strip() == "set()"


@pytest.mark.parametrize("command", ["size --all | head -1", "steps --json | true"])
def test_a_reader_that_goes_away_is_no_error(command):
    """In the midst of it, and before the first line is written."""
    piped = f"{sys.executable} -m flows.cli {command}; exit ${{PIPESTATUS[0]}}"
    held = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}  # until its end
    ended = subprocess.run(
        ["bash", "-c", piped], cwd=ROOT, env=held, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_interval_without_end_is_written_in_every_form(tmp_path, capsys):
    """Where failures may come so often that training never ends."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "cluster: {count: 16384, mttf_hours: {value: 20000, low: 5000, high: 35000}}\n"
        "training: {days: 10.5}\n"
    )
    assert main(["size", str(plan), "--out", str(tmp_path / "sheet")]) == 0
    for form in ("md", "html"):
        assert "to ∞ days" in (tmp_path / "sheet" / f"requirements.{form}").read_text()
    sheet = json.loads((tmp_path / "sheet" / "requirements.json").read_text())
    rows = [row for section in sheet["sections"] for row in section["rows"]]
    (days,) = [row for row in rows if row["name"] == "training time with failures"]
    assert days["low"] > 10.5
    assert days["high"] is None
    capsys.readouterr()
