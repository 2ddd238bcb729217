"""`tokenmill measure` and `prepare` of shards of images, as a user types them."""

import json
import re

import pytest
import yaml

from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import jpeg, sample, tar_bytes
from tokenmill.flows.cli import main


@pytest.fixture
def recipe(tmp_path):
    """Three tars, of which an image stands in every third sample."""
    for shard in range(3):
        members = {}
        for i in range(shard * 20, shard * 20 + 20):
            colour = (0, 0, 0) if i % 3 == 0 else (9, i, 200)
            members |= sample(
                f"{i:04}", jpeg(200 + i % 3 * i, 160, colour), f"a caption that says {i}"
            )
        (tmp_path / f"s{shard}.tar").write_bytes(tar_bytes(members))
    data = {
        "inputs": [{"path": str(tmp_path / "*.tar")}],
        "steps": ["repeated_images"],
        "images": {"tokens": 4},
        "tokenizer": {"path": str(train(tmp_path))},
    }
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_images_are_rows_of_the_table_and_held_against_the_run(recipe, tmp_path, capsys, server):
    out = tmp_path / "estimate.json"
    assert main(["measure", str(recipe), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    for figure in (
        r"images in +60 ",
        r"images kept by repeated_images +66\.7 %",
        r"more than 10 times, by MD5 +33\.3 %",
        r"jpeg images +40 ",
        r"text bytes per text token +\d",  # those of images have none
    ):
        assert re.search(figure, shown), figure
    told = json.loads(out.read_text())["images"]
    assert (told["images_in"], told["images"], told["image_tokens"]) == (60, 40, 160)
    assert told["unique_frac"]["md5"] == pytest.approx(41 / 60)
    command = ["prepare", str(recipe), "--out", str(tmp_path / "run"), "--estimate", str(out)]
    assert main([*command, "--json"]) == 0
    made = {row["figure"]: row for row in json.loads(capsys.readouterr().out)["predicted"]}
    for name in ("images in", "images", "image bytes", "image tokens", "jpeg pixels", "documents"):
        assert made[name]["held"], name
    assert main(command) == 0
    shown = capsys.readouterr().out
    captions = [line.rstrip() for line in shown.splitlines() if line.startswith("Images ")]
    assert captions == ["Images by stage", "Images that left, by reason"]
    told = " ".join(shown.split())
    assert re.search(r"A token of text stands for \d.*, any token takes \d", told)
    assert "| text bytes per text token |" in (tmp_path / "run" / "report.md").read_text()
    assert main(["size", "--corpus", str(out), "--json"]) == 0
