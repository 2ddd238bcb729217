"""The recipes `obelics` and `mm1` as they ship, on samples and pages made for their rules."""

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_from_disk

from tests.pipelines.read.images.shards import encoded, gif, jpeg, noise, sample, tar_bytes
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats, check_chain
from tokenmill.pipelines.prepare.recipe import find_recipe, load_recipe

NODES = [
    "It was one of those days on which the sea had been calm, and we could see for miles; the boats"
    " were out before the sun was up, and nobody was in a hurry to come back.",
    "There is a house at the end of the road, which has a red door and a garden of its own; we"
    " have been there every summer since we were as old as they are now.",
    "At the time all of that was new to us, and so were the hills behind it, where you can walk"
    " for hours, and where nobody will ever ask who you are or what you do.",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A tar of four samples, and three pages of Markdown with images."""
    folder = tmp_path_factory.mktemp("corpus")
    members = {}
    for key, image, caption, ext in [
        ("a", jpeg(200, 150, (1, 1, 1)), "a red door by the sea", "jpg"),
        ("b", jpeg(149, 150, (2, 2, 2)), "a small red door by the sea", "jpg"),
        ("c", gif(200, 150), "a moving red door by the sea", "gif"),
        ("d", jpeg(200, 150, (4, 4, 4)), "IMG_1234.jpg", "jpg"),
    ]:
        members |= sample(key, image, caption, ext=ext)
    (folder / "samples.tar").write_bytes(tar_bytes(members))
    pages = folder / "pages"
    pages.mkdir()
    for i in range(3):
        (pages / f"{i}.jpg").write_bytes(encoded(noise(200, 180, seed=i), "JPEG"))
        (pages / f"wide{i}.jpg").write_bytes(encoded(noise(401, 200, seed=i + 10), "JPEG"))
        parts = [
            "Home",
            NODES[i],
            f"![first]({i}.jpg)",
            NODES[(i + 1) % 3] + f" We said so in {1900 + i}.",
            f"![too wide](wide{i}.jpg)",
            f"![again]({i}.jpg)",
        ]
        (pages / f"page{i}.md").write_text("\n\n".join(parts))
    return folder


@pytest.fixture(scope="module", params=["obelics", "mm1"])
def finished(request, corpus, tokenizer_path, tmp_path_factory):
    """(name of the recipe, run directory, report)."""
    settings = {
        "inputs": [
            str(corpus / "samples.tar"),
            {"path": str(corpus / "pages"), "format": "markdown", "source": "pages"},
        ],
        "tokenizer.path": str(tokenizer_path),
    }
    out = tmp_path_factory.mktemp(request.param) / "run"
    report = prepare(load_recipe(find_recipe(request.param), settings), out, one_by_one)
    return request.param, out, report


def receipts(out, kind):
    rows = [row for f in sorted((out / kind).rglob("*.parquet")) for row in rows_of(f)]
    return {
        (row["id"].split("/")[-1].split("#")[-1], row.get("number"), row["reason"]) for row in rows
    }


def rows_of(path):
    return pq.read_table(path).to_pylist()


def test_each_image_and_document_leaves_for_its_own_reason(finished):
    name, out, report = finished
    samples = {(key, 0, reason) for key, reason in (("b", "too_small"), ("c", "format"))}
    pages = {(f"page{i}.md", 1, "too_wide") for i in range(3)}
    # local images have no URL, by which OBELICS knows copies
    again = {(f"page{i}.md", 2, "same_md5") for i in range(3)} if name == "mm1" else set()
    assert receipts(out, "removed-images") == samples | pages | again
    left = {("b", None, "too_few_images"), ("c", None, "too_few_images")}
    caption = {("d", None, "file_name")} if name == "mm1" else set()
    assert receipts(out, "removed") == left | caption
    check_chain(ledger(report), name)


def ledger(report):
    fields = StageStats.__dataclass_fields__
    for row in report["ledger"]:
        yield row["stage"], StageStats.from_json({k: v for k, v in row.items() if k in fields})


def test_short_nodes_are_gone_and_images_stand_in_their_places(finished):
    name, out, _ = finished
    dataset = load_from_disk(str(out / "dataset"))
    pages = [row for row in dataset if row["source"] == "pages"]
    assert [len(row["images"]) for row in pages] == [1 if name == "mm1" else 2] * 3
    samples = [row for row in dataset if row["source"] != "pages"]
    assert len(samples) == (1 if name == "mm1" else 2)


@pytest.mark.parametrize("name", ["obelics", "mm1"])
def test_a_recipe_without_inputs_says_how_to_give_them(name):
    with pytest.raises(ConfigError, match=r"inputs: no input; write inputs: .* --set inputs=PATH"):
        load_recipe(find_recipe(name))


def test_the_path_of_an_input_will_do():
    one = load_recipe(find_recipe("obelics"), {"inputs": "data/a.tar"})
    two = load_recipe(find_recipe("obelics"), {"inputs": ["data/a.tar", {"path": "b.tar"}]})
    assert [i.source for i in one.inputs] == ["a"]
    assert [i.source for i in two.inputs] == ["a", "b"]
    assert two.inputs[0] == one.inputs[0]


@pytest.mark.parametrize("name", ["obelics", "mm1"])
def test_steps_that_are_left_out_stand_there_ready_to_be_put_in(name):
    """What a comment tells the reader to write is valid."""
    text = find_recipe(name).read_text()
    told = [line.strip().lstrip("# ") for line in text.splitlines() if "#   - " in line]
    assert len(told) >= 2
    for line in told:
        ((step, settings),) = yaml.safe_load(line)[0].items()
        assert step in ("image_scores", "document_scores")
        limits = {**settings.get("least", {}), **settings.get("most", {})}
        assert all(isinstance(limit, float | int) for limit in limits.values())
