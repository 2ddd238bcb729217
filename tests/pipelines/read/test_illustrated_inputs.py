"""One run over every kind of input with images: nothing is lost, nothing is counted twice."""

import base64
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.pipelines.read.images.shards import gif, jpeg, png, sample, tar_bytes, webp
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats, check_chain
from tokenmill.pipelines.prepare.recipe import load_recipe

URL = "https://a.org/far.jpg"


def write_inputs(folder):
    """Each kind of input with pictures that are good, bad and missing."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(f"# A\n\n![one](1.png)\n\n![none](no.png) ![far]({URL})\n")
    (docs / "b.md").write_bytes(b"\xff")
    (docs / "1.png").write_bytes(png())
    (docs / "bad.jpg").write_bytes(jpeg()[:40])
    (docs / "c.md").write_text("Cut short: ![bad](bad.jpg), after which it goes on.")
    features = datasets.Features(image=datasets.Image(), caption=datasets.Value("string"))
    values = {"image": [{"bytes": webp(), "path": None}, None], "caption": ["two", "alone"]}
    made = datasets.Dataset.from_dict(values, features=features)
    made.save_to_disk(str(folder / "saved"))
    rows = [
        {"texts": ["left", None, "right"], "images": [None, {"bytes": as_base64(gif())}, None]},
        {"texts": ["uneven"], "images": [None, URL]},
    ]
    (folder / "woven.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "got").mkdir()
    (folder / "got" / "0.tar").write_bytes(tar_bytes(sample("k0", jpeg(), "three")))
    columns = {"key": ["k0", "k1"], "url": [URL] * 2, "status": ["success", "failed_to_download"]}
    pq.write_table(pa.table({**columns, "error_message": [None, "gone"]}), folder / "got/0.parquet")
    (folder / "plain.jsonl").write_text('{"text": "no picture \ufffc"}\n')
    return [
        {"path": str(folder / "docs"), "format": "markdown"},
        {"path": str(folder / "saved"), "images": "image"},
        {"path": str(folder / "woven.jsonl"), "images": "images"},
        {"path": str(folder / "got")},
        {"path": str(folder / "plain.jsonl")},
    ]


def as_base64(data):
    return base64.b64encode(data).decode()


def test_a_run_over_all_of_them_balances(tokenizer_path, tmp_path):
    recipe = {
        "inputs": write_inputs(tmp_path),
        "tokenizer": {"path": str(tokenizer_path)},
        "images": {"tokens": 1},
    }
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    report = prepare(load_recipe(path), tmp_path / "run", one_by_one)
    stages = [
        (r["stage"], StageStats.from_json({k: v for k, v in r.items() if k != "stage"}))
        for r in report["ledger"]
    ]
    check_chain(stages, "report")
    read = stages[0][1]
    assert (read.docs_in, read.docs_out) == (10, 7)
    assert read.failed == {"invalid_utf8": 1, "not_downloaded": 1, "unequal_lists": 1}
    assert (read.images.images_in, read.images.images_out) == (9, 5)
    assert read.images.failed == {
        "document_failed": 1,
        "not_downloaded": 1,
        "not_found": 1,
        "truncated_header": 1,
    }
    dataset = datasets.load_from_disk(str(tmp_path / "run" / "dataset")).with_format("arrow")
    pictures = [[i["bytes"] for i in images] for images in dataset["images"].to_pylist()]
    assert pictures == [[png(), None], [], [webp()], [], [gif()], [jpeg()], []]


def test_images_without_a_word_on_what_becomes_of_them_are_refused(tokenizer_path, tmp_path):
    recipe = {"inputs": write_inputs(tmp_path), "tokenizer": {"path": str(tokenizer_path)}}
    for i in (0, 1, 2):
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump({**recipe, "inputs": [recipe["inputs"][i]]}))
        with pytest.raises(ConfigError, match=r"add images: \{\} to the recipe"):
            prepare(load_recipe(path), tmp_path / "run", one_by_one)
