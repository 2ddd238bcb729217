"""The form of report.json: its schema ships, says what each key is, and holds of real runs."""

import json

import jsonschema
import pytest

from tests.e2e.corpus import prose
from tests.pipelines.prepare.report.test_report import run_report, written
from tests.pipelines.read.images.shards import sample_tar
from tests.pipelines.read.web.archives import archive, page
from tests.running import one_by_one, prepare
from tests.sizing.document.pages import Page
from tokenmill.flows.commands.prepare_tables import show_report
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.prepare.report.model import SCHEMA, Report, schema

SHIPPED = json.loads(SCHEMA.read_text(encoding="utf-8"))


def valid(data):
    jsonschema.validate(data, SHIPPED)
    return Report.model_validate_json(json.dumps(data), strict=True)


def write_texts(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return [{"path": str(path), "source": path.stem}]


def text(folder):
    """With documents removed, copies, items of a benchmark, and a file that cannot be read."""
    (folder / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    quiz = folder / "quiz.json"
    quiz.write_text(json.dumps([{"q": " ".join(prose()[9].split()[20:50])}]))
    benchmarks = [{"name": "quiz", "path": str(quiz)}]
    inputs = write_texts(folder / "texts.jsonl", [*prose()[:60], *prose()[:9], "too short"])
    return {
        "inputs": [*inputs, {"path": str(folder / "cut.jsonl.gz")}],
        "steps": ["gopher_quality", "exact", "near", {"decontaminate": {"benchmarks": benchmarks}}],
        "output": {"seq_len": 64, "validation_frac": 0.1},
    }


def images(folder):
    sample_tar(folder / "a.tar", 9, width=60)
    sample_tar(folder / "b.tar", 5, width=60)
    steps = [{"images": {"min_side": 30}}, {"repeated_images": {"keep": "first"}}, "near_images"]
    return {"inputs": [{"path": str(folder / "*.tar")}], "images": {}, "steps": steps}


def web(folder):
    pages = [page(i, f"This is page {i}. {prose()[i]}") for i in range(9)]
    (folder / "crawl.warc.gz").write_bytes(archive(pages))
    return {"inputs": [{"path": str(folder / "crawl.warc.gz")}], "html": {}, "steps": ["same_url"]}


def mixture(folder):
    inputs = [
        {**write_texts(folder / f"{name}.jsonl", prose()[i : i + 20])[0], "weight": weight}
        for i, name, weight in ((0, "crawl", 0.5), (20, "books", 2.0))
    ]
    return {"inputs": inputs, "output": {"shuffle": True, "epochs": 2}}


def against(folder):
    earlier = {"inputs": write_texts(folder / "old.jsonl", prose()[:20]), "steps": ["exact"]}
    report_of({**earlier, "run": {"keep_index": True}}, folder, "earlier")
    inputs = write_texts(folder / "new.jsonl", prose()[10:30])
    return {"inputs": inputs, "steps": ["exact"], "against": [str(folder / "earlier")]}


def report_of(data, folder, name):
    tokenizer = {"path": str(folder.parent / "tokenizer.json")}
    recipe = make_recipe({"name": name, "tokenizer": tokenizer, **data}, where="test")
    made = prepare(recipe, folder / name, one_by_one)
    written = json.loads((folder / name / "report.json").read_text())
    assert json.loads(json.dumps(made)) == written
    return written


@pytest.mark.parametrize("recipe", [text, images, web, mixture, against])
def test_reports_of_real_runs_hold_to_the_schema(tmp_path, tokenizer_path, recipe):
    (tmp_path / "tokenizer.json").write_bytes(tokenizer_path.read_bytes())
    folder = tmp_path / "run"
    folder.mkdir()
    data = report_of(recipe(folder), folder, recipe.__name__)
    assert valid(data).to_json() == data
    told = {"text": "duplicates", "web": "notes"}.get(recipe.__name__, recipe.__name__)
    assert data[told]


def test_the_schema_that_ships_is_that_of_the_model():
    assert schema() == SHIPPED, "run python -m tokenmill.pipelines.prepare.report.model"


def test_every_key_says_what_it_is():
    for name, of in {"Report": SHIPPED, **SHIPPED["$defs"]}.items():
        if name not in ("JsonValue", "Patches"):  # Patches: a setting, told by its class
            assert of["description"]
            for key, value in of.get("properties", {}).items():
                assert "description" in value or "$ref" in value, f"{name}.{key}"


@pytest.mark.parametrize("change", [{"docs": "many"}, {"more": 1}, {"docs": None}])
def test_what_is_not_in_the_model_is_refused(change):
    report = run_report()
    report["measurement"]["total"] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, SHIPPED)
    with pytest.raises(ConfigError, match="runs/a: its report is of another version"):
        Report.read(report, "runs/a")


def test_what_a_further_step_tells_stands_in_every_report(tmp_path, capsys):
    told = {"hosts": 1_234, "most": {"name": "a.org", "share": 0.25}, "shown": list("abcdefghijkl")}
    data = {**run_report(), "sections": {"per_host": told}}
    assert valid(data).sections == data["sections"]
    markdown, html = written(tmp_path, data)
    rows = (
        ("hosts", "1,234"),
        ("most, name", "a.org"),
        ("most, share", "0.25"),
        ("shown", "a, b, c, d, e, f, g, h, i, j, 2 more"),
    )
    for what, value in rows:
        assert f"| {what} | {value} |" in markdown
        assert {what, value} <= set(Page(html).text)
    show_report(Report.read(data, "test"), tmp_path)
    shown = capsys.readouterr().out
    assert all(value in shown for row in rows for value in row)
