"""A source of which much fails, and a run of which nothing is left, are told."""

import json

import pyarrow as pa
import pytest

from tests.pipelines.read.images.shards import jpeg, tar_bytes
from tests.running import one_by_one, prepare
from tokenmill.flows.troubles import exit_code, failures
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import headline

TEXT = {"tokenizer": None, "output": {"text": "jsonl.zst"}}


def report_of(folder, inputs, **settings):
    recipe = make_recipe({"inputs": inputs, "steps": [], **TEXT, **settings}, where="test")
    return Report.model_validate(prepare(recipe, folder / "run", one_by_one))


def lines(folder, name, good, bad):
    path = folder / f"{name}.jsonl"
    path.write_text((json.dumps({"text": "words"}) + "\n") * good + "{\n" * bad)
    return {"path": str(path), "source": name}


@pytest.mark.parametrize(("failed_frac", "ends"), [(0.5, 3), (0.6, 0)])
def test_a_source_of_which_half_failed_ends_with_3(tmp_path, failed_frac, ends):
    inputs = [lines(tmp_path, "web", 2, 2), lines(tmp_path, "books", 3, 1)]
    report = report_of(tmp_path, inputs, limits={"failed_frac": failed_frac})
    assert exit_code(report) == ends
    told = "source web: 2 of its 4 documents failed: invalid_json 2"
    assert failures(report) == ([told] if ends else [])


def test_markdown_whose_images_lie_outside_names_the_way(tmp_path, tokenizer_path):
    for name in ("docs/a.md", "static/a.png"):
        (tmp_path / name).parent.mkdir()
    (tmp_path / "docs" / "a.md").write_text("![a](/a.png)")
    (tmp_path / "static" / "a.png").write_bytes(jpeg(8, 6))
    given = {"path": str(tmp_path / "docs"), "format": "markdown", "source": "docs"}
    encoded = {"tokenizer": {"path": str(tokenizer_path)}, "output": {}, "images": {}}
    (told,) = failures(report_of(tmp_path / "one", [given], **encoded))
    assert told == (
        "source docs: 1 of its 1 images failed: outside_input 1; name the folders they lie in, as"
        " {path: …, roots: [FOLDER]}"
    )
    encoded["images"] = {"store": "reference"}
    given["roots"] = [str(tmp_path / "static")]
    assert failures(report_of(tmp_path / "two", [given], **encoded)) == []
    (dataset,) = (tmp_path / "two" / "run" / "dataset").rglob("*.arrow")
    (row,) = pa.ipc.open_stream(dataset).read_all().to_pylist()
    assert row["images"][0]["path"] == str(tmp_path / "static" / "a.png")


def test_what_is_told_of_sources_does_not_make_another_run(tmp_path):
    recipes = [
        make_recipe({"inputs": ["a"], **TEXT, "limits": {"failed_frac": f}}, where="test")
        for f in (0.5, 0.9)
    ]
    assert recipes[0].digest() == recipes[1].digest()


def test_texts_that_are_all_too_large_and_an_empty_output_are_told(tmp_path):
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("words")
    inputs = [{"path": str(tmp_path / "*.txt"), "source": "web"}]
    report = report_of(tmp_path, inputs, limits={"max_document_bytes": 4})
    assert exit_code(report) == 3
    assert failures(report) == [
        "source web: 3 of its 3 documents failed: too_large 3",
        "source total: nothing is left of 3 documents",
    ]


def test_a_run_of_which_filters_leave_nothing_is_told(tmp_path):
    steps = [{"length": {"min_chars": 50}}]
    report = report_of(tmp_path, [lines(tmp_path, "web", 3, 0)], steps=steps)
    assert exit_code(report) == 3
    assert failures(report) == ["source total: nothing is left of 3 documents"]


def test_images_of_a_source_count_for_themselves(tmp_path, tokenizer_path):
    members = {"1.jpg": jpeg(8, 6), "1.txt": b"one", "2.txt": b"two", "3.jpg": b"3", "3.txt": b"3"}
    (tmp_path / "a.tar").write_bytes(tar_bytes(members))
    inputs = [{"path": str(tmp_path / "a.tar"), "source": "a"}]
    encoded = {"tokenizer": {"path": str(tokenizer_path)}, "output": {}}
    report = report_of(tmp_path, inputs, images={}, **encoded)
    assert exit_code(report) == 3
    assert failures(report) == ["source a: 1 of its 2 images failed: damaged_header 1"]
    assert headline(report).endswith(" Failed: 1 document, 1 image.")
