"""Where the images of a run went, as `inspect` shows it when the run has ended."""

import json

import pytest
import yaml

from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import jpeg, png, sample, tar_bytes
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.flows.inspected import with_numbers
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.sizing.units import format_bytes

HELD = jpeg(320, 240)
ALONE = "A picture that leaves by itself"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Samples 0 to 5 of a tar, and a manual with an image of each fate."""
    folder = tmp_path_factory.mktemp("illustrated")
    members = sample("0", HELD, "A cat sits on a mat", url="https://a.example/cat.jpg")
    members |= sample("1", HELD, "A cat sits on a mat")
    members |= sample("2", jpeg(16, 12), ALONE)
    members |= sample("3", HELD, "")
    members |= sample("4", b"nothing", "A picture that is none") | {"5.jpg": HELD, "5.txt": b"\xff"}
    (folder / "shard.tar").write_bytes(tar_bytes(members))
    manual = folder / "manual"
    manual.mkdir()
    (manual / "small.png").write_bytes(png(16, 12))
    (manual / "large.png").write_bytes(png(300, 200))
    nodes = ["one", "![](gone.png)", "two", "![](small.png)", "three", "![](large.png)", "four"]
    (manual / "read.md").write_text("\n\n".join([*nodes, "![](large.png)", "end"]))
    recipe = {
        "inputs": [
            {"path": str(folder / "shard.tar")},
            {"path": str(manual), "format": "markdown"},
        ],
        "images": {},
        "steps": ["images", "captions", "exact", "image_once"],
        "tokenizer": {"path": str(train(folder))},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    prepare(load_recipe(folder / "recipe.yaml"), folder / "run", one_by_one)
    return folder / "run"


MANUAL = 1 << 32


def data(capsys, *arguments):
    assert main(["inspect", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_reasons_count_documents_and_images(out, capsys):
    rows = [tuple(row.values()) for row in data(capsys, out)]
    assert rows == [
        ("read", "failed", "invalid_utf8", 1, 0),
        ("read", "failed", "no_image_left", 1, 0),
        ("read", "failed", "document_failed", 0, 1),
        ("read", "failed", "not_an_image", 0, 1),
        ("read", "failed", "not_found", 0, 1),
        ("images", "removed", "too_few_images", 1, 0),
        ("images", "removed", "too_small", 0, 2),
        ("captions", "removed", "empty", 1, 0),
        ("exact", "removed", "exact_duplicate", 1, 0),
        ("image_once", "removed", "same_md5", 0, 1),
    ]
    assert main(["inspect", str(out)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("documents and images that left, or were cut")
    assert "2 documents reached the tokenizer\n2 images are left; 2 went with their" in shown


def test_images_are_listed_by_reason(out, capsys):
    small, in_manual = data(capsys, out, "--reason", "too_small")
    assert (small["id"], small["number"], small["value"]) == ("2", 0, 12)
    assert len(small["md5"]) == 32
    assert (in_manual["doc_id"], in_manual["number"]) == (MANUAL, 1)
    assert main(["inspect", str(out), "--reason", "same_md5"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("images, same_md5: the first 1 ")
    assert f"repeats image 2 of {MANUAL}" in shown
    assert main(["inspect", str(out), "--reason", "nonsense"]) == 2
    assert "no document or image left for the reason 'nonsense'" in capsys.readouterr().err


def test_each_image_of_a_document_has_a_fate(out, capsys):
    kept = data(capsys, out, "--doc", MANUAL)["kept"]
    fates = [(i["number"], i["fate"], i["reason"], i["format"]) for i in kept["images"]]
    assert fates == [
        (0, "failed", "not_found", None),
        (1, "removed", "too_small", "png"),
        (2, "kept", None, "png"),
        (3, "removed", "same_md5", "png"),
    ]
    assert main(["inspect", str(out), "--doc", str(MANUAL)]) == 0
    shown = capsys.readouterr().out
    assert "three\n\n[image 2]\n\nfour\n\n[image 3]\n\nend" in shown
    assert "300 x 200" in shown
    assert "removed at images: too_small (12)" in shown


def test_images_go_with_their_document(out, capsys):
    pair = data(capsys, out, "--doc", 1)
    assert [i["fate"] for i in pair["removed"]["images"]] == ["with_document"]
    (kept,) = pair["kept"]["images"]
    assert (kept["fate"], kept["url"]) == ("kept", "https://a.example/cat.jpg")
    assert main(["inspect", str(out), "--doc", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("images of 1") < shown.index("images of 0")


def test_an_image_that_left_by_itself_is_told_from_its_document(out, capsys):
    removed = data(capsys, out, "--doc", 2)["removed"]
    assert removed["text"] == ALONE
    assert [(i["fate"], i["stage"]) for i in removed["images"]] == [("removed", "images")]


def test_of_a_document_that_could_not_be_read_the_cause_is_told(out, capsys):
    assert main(["inspect", str(out), "--doc", "5"]) == 2
    told = f"tokenmill inspect: {out}: document 5 could not be read: invalid_utf8: "
    assert capsys.readouterr().err.startswith(told)


def test_documents_are_listed_with_their_images_and_none_is_decoded(out, capsys):
    sample_row, manual = data(capsys, out, "--documents")
    assert sample_row["images"] == [{"bytes": len(HELD), "path": "shard.tar/0.jpg"}]
    assert len(manual["images"]) == 1
    assert main(["inspect", str(out), "--documents"]) == 0
    assert "images" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "stages", "shown"),
    [
        ("a \ufffc b \ufffc", [None, "images"], "a [image 0] b [image 1]"),
        ("\ufffc", ["read", None], "[image 1]"),  # the first could not be read
        ("caption", [None], "caption"),
        ("\ufffc of a text alone", [], "\ufffc of a text alone"),
    ],
)
def test_the_text_says_which_image_stands_where(text, stages, shown):
    images = [{"number": n, "stage": stage} for n, stage in enumerate(stages)]
    assert with_numbers({"text": text, "images": images}) == shown


def test_a_dry_run_says_what_is_read_without_images(out, tmp_path, capsys):
    folder = out.parent
    for n in range(25):
        (tmp_path / f"{n:02}.md").write_text("![](a.png)")
    inputs = [{"path": str(folder / "shard.tar")}, {"path": str(tmp_path)}]
    settings = ["--set", f"inputs={json.dumps(inputs)}", "--out", str(tmp_path / "new")]
    assert main(["prepare", str(folder / "recipe.yaml"), "--dry-run", *settings]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "26 input files" in shown
    assert "and 6 more" in shown
    assert f"read as text, without images: {tmp_path}/00.md; for images name {{path: …" in shown
    n_bytes = (folder / "shard.tar").stat().st_size + 250
    assert f"shards 2 of about {format_bytes(n_bytes)} in all" in shown


def test_an_empty_folder_is_named(out, tmp_path, capsys):
    (tmp_path / "none").mkdir()
    settings = ["--set", f"inputs={tmp_path / 'none'}", "--out", str(tmp_path / "new")]
    assert main(["prepare", str(out.parent / "recipe.yaml"), *settings]) == 2
    told = f"no input can be read: no files in {tmp_path / 'none'}\n"
    assert capsys.readouterr().err.endswith(told)
