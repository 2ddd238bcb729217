"""Whole runs with images, without an orchestrator: from tar shards to a dataset that shows them."""

import base64
import gzip
import hashlib
import io
import json
import re
import tarfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import List, load_from_disk
from PIL import Image

from tests.pipelines.read.images.shards import (
    encoded,
    jpeg,
    noise,
    png,
    sample,
    sample_members,
    sample_tar,
    tar_bytes,
)
from tests.running import one_by_one, prepare
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats, check_chain
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe
from tokenmill.pipelines.runs.packs import receipts_of
from tokenmill.pipelines.runs.work import attempt

SHARDS = (7, 12, 5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Three tars of samples; the last image of each is a PNG."""
    folder = tmp_path_factory.mktemp("shards")
    first = 0
    for number, n in enumerate(SHARDS):
        members = sample_members(n - 1, first=first, width=40 + first, height=30)
        members |= sample(f"{first + n - 1:06}", png(colour=(first, 7, 9)), "a PNG", ext="png")
        (folder / f"shard-{number}.tar").write_bytes(tar_bytes(members))
        first += n
    return folder


def recipe_of(corpus, tokenizer_path, **settings):
    images = settings.pop("images", {})
    return {
        "name": "pictures",
        "inputs": [{"path": str(corpus / "*.tar"), "source": "tars"}],
        "tokenizer": {"path": str(tokenizer_path)},
        "images": images,
        **settings,
    }


def run(recipe, folder, execute=one_by_one):
    folder.mkdir(exist_ok=True)
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return prepare(load_recipe(path), folder / "run", execute)


@pytest.fixture(scope="module")
def plain(corpus, tokenizer_path, tmp_path_factory):
    """The folder of a run without steps, and its report."""
    folder = tmp_path_factory.mktemp("plain")
    return folder, run(recipe_of(corpus, tokenizer_path), folder)


@pytest.fixture(scope="module")
def as_tars(corpus, tokenizer_path, tmp_path_factory):
    """Tars that such a run wrote."""
    folder = tmp_path_factory.mktemp("tars")
    run(recipe_of(corpus, tokenizer_path, images={"webdataset": True}), folder)
    return folder / "run" / "webdataset"


def written(corpus):
    """(image, caption) of each sample, in order."""
    found = []
    for path in sorted(corpus.glob("*.tar")):
        with tarfile.open(path) as tar:
            held = {m.name: tar.extractfile(m).read() for m in tar}
        for key in sorted({name.split(".")[0] for name in held}):
            (image,) = (data for n, data in held.items() if n in (f"{key}.jpg", f"{key}.png"))
            found.append((image, held[f"{key}.txt"].decode()))
    return found


def raw(dataset):
    """The images' bytes, document by document."""
    return [
        [i["bytes"] for i in images]
        for images in dataset.with_format("arrow")["images"].to_pylist()
    ]


@pytest.mark.long_but("two passes")  # the first pass is the one pass
@pytest.mark.parametrize(
    "steps", [[], [{"exact": {"samples": "captions"}}]], ids=["one pass", "two passes"]
)
def test_pictures_and_captions_come_out_as_they_went_in(corpus, tokenizer_path, tmp_path, steps):
    images = {"verify": True}
    report = run(recipe_of(corpus, tokenizer_path, steps=steps, images=images), tmp_path)
    dataset = load_from_disk(str(tmp_path / "run" / "dataset"))
    expected = written(corpus)
    if steps:  # every shard has a sample called "a PNG"
        seen = set()
        expected = [s for s in expected if not (s[1] in seen or seen.add(s[1]))]
    assert raw(dataset) == [[image] for image, _ in expected]
    row = dataset[0]
    assert row["images"][0].size == (40, 30)
    assert row["images"][0].format == "JPEG"
    engine = load_recipe(tmp_path / "recipe.yaml").tokenizing().engine()
    for (_, caption), ids in zip(expected, dataset["input_ids"], strict=True):
        assert ids[0] == engine.image_id == engine.largest_id + 1
        assert ids[-1] == engine.eos_id
        assert engine.reference.decode(ids[1:-1]) == caption
    assert f"input_ids {engine.image_id} (<image>) stands for images" in dataset.info.description
    token = {"token": "<image>", "id": engine.image_id, "tokens": 1}
    assert report["tokenizer"]["image_token"] == token
    check_chain([(r["stage"], stats_of(r)) for r in report["ledger"]], "report")
    assert report["ledger"][-1]["images"]["images_out"] == len(expected)


def stats_of(row):
    return StageStats.from_json({k: v for k, v in row.items() if k != "stage"})


INTERLEAVED = {
    "text": [["one", None, "two", None], ["text alone"], [None, None, "end"]],
    "images": [[None, jpeg(30, 20), None, png(9, 8)], [None], [png(5, 6), jpeg(7, 8), None]],
}


def interleaved_run(tokenizer_path, folder, columns=INTERLEAVED, **images):
    pq.write_table(pa.table(columns), folder / "documents.parquet")
    recipe = recipe_of(folder, tokenizer_path, images=images)
    recipe["inputs"] = [{"path": str(folder / "documents.parquet"), "images": "images"}]
    report = run(recipe, folder)
    return report, load_from_disk(str(folder / "run" / "dataset"))


def test_images_stand_where_they_stood_in_the_text(tokenizer_path, tmp_path):
    _, dataset = interleaved_run(tokenizer_path, tmp_path, tokens=2, verify=True)
    assert raw(dataset) == [[i for i in images if i] for images in INTERLEAVED["images"]]
    assert [image.size for image in dataset[2]["images"]] == [(5, 6), (7, 8)]
    engine = load_recipe(tmp_path / "recipe.yaml").tokenizing().engine()
    shown = [
        "".join("#" if i == engine.image_id else engine.reference.decode([i]) for i in ids[:-1])
        for ids in dataset["input_ids"]
    ]
    assert shown == ["one\n\n##\n\ntwo\n\n##", "text alone", "##\n\n##\n\nend"]


def test_interleaved_documents_go_out_as_nodes(tokenizer_path, tmp_path):
    interleaved_run(tokenizer_path, tmp_path, webdataset=True)
    (path,) = (tmp_path / "run" / "webdataset").iterdir()
    with tarfile.open(path) as tar:
        held = [(m.name.split(".", 1), tar.extractfile(m).read()) for m in tar]
    keys = list(dict.fromkeys(key for (key, _), _ in held))
    files = [{name: data for (of, name), data in held if of == key} for key in keys]
    assert [list(f) for f in files] == [
        ["0.jpg", "1.png", "json"],
        ["txt", "json"],
        ["0.png", "1.jpg", "json"],
    ]
    assert [f.get("0.jpg") or f.get("0.png") for f in files] == [
        INTERLEAVED["images"][0][1],
        None,
        INTERLEAVED["images"][2][0],
    ]
    about = json.loads(files[0]["json"])
    assert about["nodes"] == [
        {"text": "one\n\n"},
        {"image": 0},
        {"text": "\n\ntwo\n\n"},
        {"image": 1},
    ]
    assert [(i["file"], i["width"]) for i in about["images"]] == [("0.jpg", 30), ("1.png", 9)]
    assert files[1]["txt"] == b"text alone"


def test_an_image_of_which_there_is_a_url_alone_is_named_by_it(tokenizer_path, tmp_path):
    url = "https://example.org/a.jpg"
    columns = {"text": [["one", None]], "images": [[None, url]]}
    for store, known in (("bytes", {"bytes": None}), ("reference", {"offset": None})):
        folder = tmp_path / store
        folder.mkdir()
        options = {"store": store, "verify": True}
        report, dataset = interleaved_run(tokenizer_path, folder, columns, **options)
        (row,) = dataset  # nothing is fetched
        assert row["images"][0].items() >= {"path": url, **known}.items()
        assert report["ledger"][-1]["images"]["images_out"] == 1


def damaged(kind):
    """A picture whose header is right, and not what follows it."""
    whole = {
        "JPEG": encoded(noise(64, 64), "JPEG"),
        "PNG": encoded(noise(64, 64), "PNG"),
        "WEBP": encoded(noise(64, 64), "WEBP", exif=b"Exif\0\0MM"),
        "GIF": encoded(noise(64, 64), "GIF"),
    }[kind]
    return whole[: len(whole) // 2] if kind != "WEBP" else whole


DAMAGED = [damaged(kind) for kind in ("JPEG", "PNG", "WEBP", "GIF")]


@pytest.mark.parametrize("store", ["bytes", "reference"])
@pytest.mark.parametrize("verify", [False, True])
def test_no_row_of_a_dataset_raises(tokenizer_path, tmp_path, store, verify):
    """Broken images were let through, and stopped whoever read on."""
    members = {}
    for i, data in enumerate([png(5, 4), *DAMAGED, jpeg(7, 6)]):
        members |= sample(f"{i}", data, f"caption {i}")
    (tmp_path / "shard.tar").write_bytes(tar_bytes(members))
    report = run(
        recipe_of(tmp_path, tokenizer_path, images={"store": store, "verify": verify}), tmp_path
    )
    rows = list(load_from_disk(str(tmp_path / "run" / "dataset")))
    failed = report["ledger"][0]["images"]["failed"]
    if verify:
        assert failed == {"damaged_image": len(DAMAGED)}
        assert len(rows) == 2
    else:
        assert (len(rows), failed) == (2 + len(DAMAGED), {})
    (first,) = rows[0]["images"]
    if store == "reference":
        assert (first["width"], first["height"]) == (5, 4)
    elif verify:
        assert first.size == (5, 4)
    else:
        assert first == {"bytes": png(5, 4), "path": "shard.tar/0.jpg"}


def two_at_a_time(job, phase):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(partial(attempt, job), phase.works))


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.long_but("two passes")  # the first pass is the one pass
@pytest.mark.parametrize(
    "steps", [[], [{"exact": {"samples": "captions"}}]], ids=["one pass", "two passes"]
)
def test_bytes_do_not_depend_on_workers(corpus, tokenizer_path, tmp_path, steps):
    images = {"webdataset": True}
    output = {"shard_bytes": "4kB", "validation_frac": 0.3}
    recipe = recipe_of(corpus, tokenizer_path, steps=steps, images=images, output=output)
    run(recipe, tmp_path / "one")
    run(recipe, tmp_path / "two", two_at_a_time)
    for folder in ("dataset", "webdataset", "removed", "removed-images"):
        one = contents(tmp_path / "one" / "run" / folder)
        assert one == contents(tmp_path / "two" / "run" / folder)
        assert one
    assert not list((tmp_path / "one" / "run").glob("[0-9][0-9]-*")), "intermediates are deleted"


@pytest.mark.parametrize("shard_bytes", few([100, 2000, 4000], 2))
def test_files_are_cut_by_the_bytes_of_ids_and_images(
    corpus, plain, tokenizer_path, tmp_path, shard_bytes
):
    output = {"shard_bytes": shard_bytes}
    report = run(recipe_of(corpus, tokenizer_path, output=output), tmp_path / "cut")
    folders = plain[0], tmp_path / "cut"
    whole, cut = (load_from_disk(str(folder / "run" / "dataset")) for folder in folders)
    assert raw(cut) == raw(whole)
    assert cut["input_ids"][:] == whole["input_ids"][:]
    width = load_recipe(tmp_path / "cut" / "recipe.yaml").tokenizing().engine().dtype.itemsize
    ids = whole.with_format("arrow")["input_ids"].to_pylist()
    sizes = [
        len(i) * width + sum(map(len, images)) for i, images in zip(ids, raw(whole), strict=True)
    ]
    assert len(cut.cache_files) == report["dataset"]["splits"]["train"]["files"]
    assert len(cut.cache_files) == -(-sum(sizes) // shard_bytes) > 3


def test_documents_go_to_the_same_side_in_both_outputs(corpus, tokenizer_path, tmp_path):
    recipe = recipe_of(
        corpus, tokenizer_path, images={"webdataset": True}, output={"validation_frac": 0.4}
    )
    run(recipe, tmp_path)
    sides = load_from_disk(str(tmp_path / "run" / "dataset"))
    for split in ("train", "validation"):
        tars = written(tmp_path / "run" / "webdataset" / split)
        assert [[image] for image, _ in tars] == raw(sides[split])
        assert tars


def test_what_was_written_as_webdataset_is_read_the_same_again(
    corpus, as_tars, tokenizer_path, tmp_path
):
    assert written(as_tars) == written(corpus)
    report = run(recipe_of(as_tars, tokenizer_path), tmp_path / "second")
    assert not report["failed_inputs"]
    folders = as_tars.parent, tmp_path / "second" / "run"
    first, second = (load_from_disk(str(folder / "dataset")) for folder in folders)
    assert raw(second) == raw(first)
    assert second["input_ids"][:] == first["input_ids"][:]


@pytest.mark.parametrize("store", ["bytes", "reference"])
def test_what_a_rule_took_out_is_in_neither_output(corpus, tokenizer_path, tmp_path, store):
    rule = {"formats": ["png"], "min_side": None, "max_ratio": None}
    images = {"webdataset": True, "store": store}
    report = run(
        recipe_of(corpus, tokenizer_path, steps=[{"images": rule}], images=images), tmp_path
    )
    kept = [(image, text) for image, text in written(corpus) if text == "a PNG"]
    assert written(tmp_path / "run" / "webdataset") == kept
    assert sum(receipt_rows(tmp_path / "run" / "removed-images")) == sum(SHARDS) - len(SHARDS)
    assert report["ledger"][-1]["images"]["images_out"] == len(kept) == len(SHARDS)
    dataset = load_from_disk(str(tmp_path / "run" / "dataset"))
    if store == "bytes":
        assert raw(dataset) == [[image] for image, _ in kept]


@pytest.mark.parametrize(
    ("samples", "kept"), [("images", [0, 1, 2, 3, 4, 5]), ("captions", [0, 1, 2, 3, 5])]
)
def test_images_without_words_are_no_duplicates_of_each_other(
    tokenizer_path, tmp_path, samples, kept
):
    columns = {
        "text": [[None], [None], [" ", None], ["words", None], ["words", None], [" "], [" "]],
        "images": [
            [png(5, 6)],
            [png(7, 8)],
            *[[None, png(9, n)] for n in (1, 2, 3)],
            [None],
            [None],
        ],
    }
    pq.write_table(pa.table(columns), tmp_path / "documents.parquet")
    recipe = recipe_of(tmp_path, tokenizer_path, steps=[{"exact": {"samples": samples}}])
    recipe["inputs"] = [{"path": str(tmp_path / "documents.parquet"), "images": "images"}]
    run(recipe, tmp_path)
    left = load_from_disk(str(tmp_path / "run" / "dataset"))["id"]
    assert [int(name.partition("#")[2]) for name in left] == kept


def test_stages_that_no_document_comes_to_have_an_account_of_images(
    corpus, tokenizer_path, tmp_path
):
    steps = [{"images": {"min_side": 10_000}}, "exact", "image_once"]
    report = run(recipe_of(corpus, tokenizer_path, steps=steps), tmp_path)
    counted = {row["stage"]: row["images"]["images_in"] for row in report["ledger"]}
    n = sum(SHARDS)
    assert counted == {"read": n, "images": n, "exact": 0, "image_once": 0, "tokenize": 0}


def receipt_rows(folder):
    return [pq.read_metadata(path).num_rows for path in folder.iterdir()]


def test_keys_are_of_documents_and_facts_stand_beside_them(as_tars):
    keys = []
    for path in sorted(as_tars.glob("*.tar")):
        with tarfile.open(path) as tar:
            held = {m.name: (m, tar.extractfile(m).read()) for m in tar}
        for name, (member, data) in held.items():
            key, extension = name.split(".")
            assert (member.mtime, member.uid, member.mode) == (0, 0, 0o644)
            if extension == "json":
                keys.append(key)
                facts = json.loads(data)
                (image,) = (d for n, (_, d) in held.items() if n in (f"{key}.jpg", f"{key}.png"))
                assert facts["md5"] == hashlib.md5(image).hexdigest()
                assert key.startswith(re.sub("[./]", "_", facts["id"]) + "-")
                assert facts["width"] == Image.open(io.BytesIO(image)).width
    assert len(set(keys)) == len(keys) == sum(SHARDS)


def test_references_lead_to_the_bytes_in_the_input(corpus, tokenizer_path, tmp_path):
    run(recipe_of(corpus, tokenizer_path, images={"store": "reference"}), tmp_path)
    dataset = load_from_disk(str(tmp_path / "run" / "dataset"))
    found = []
    for images in dataset["images"]:
        (image,) = images
        with open(image["path"], "rb") as f:
            f.seek(image["offset"])
            data = f.read(image["bytes"])
        assert hashlib.md5(data).hexdigest() == image["md5"]
        assert Image.open(io.BytesIO(data)).size == (image["width"], image["height"])
        found.append(data)
    assert found == [image for image, _ in written(corpus)]


def test_references_lead_to_files_beside_documents(tokenizer_path, tmp_path):
    pages = tmp_path / "manuals" / "en"
    (pages / "img").mkdir(parents=True)
    (pages / "img" / "a cat.png").write_bytes(png(5, 4))
    (pages / "b.jpg").write_bytes(jpeg(7, 6))
    (pages / "one.md").write_text("one ![cat](img/a%20cat.png) and ![b](b.jpg)")
    (pages / "two.md").write_text("two ![far](https://example.org/c.png)")
    recipe = recipe_of(tmp_path, tokenizer_path, images={"store": "reference"})
    recipe["inputs"] = [{"path": str(tmp_path / "manuals"), "format": "markdown"}]
    run(recipe, tmp_path)
    one, two = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert [(i["path"], i["offset"], i["bytes"]) for i in one["images"]] == [
        (str(pages / "img" / "a cat.png"), 0, len(png(5, 4))),
        (str(pages / "b.jpg"), 0, len(jpeg(7, 6))),
    ]
    assert [hashlib.md5(Path(i["path"]).read_bytes()).hexdigest() for i in one["images"]] == [
        i["md5"] for i in one["images"]
    ]
    assert [(i["path"], i["offset"]) for i in two["images"]] == [
        ("https://example.org/c.png", None)
    ]


def test_images_in_a_table_or_in_a_text_cannot_be_referenced(tokenizer_path, tmp_path):
    inline = base64.b64encode(png()).decode()
    (tmp_path / "a.md").write_text(f"![inline](data:image/png;base64,{inline})")
    pq.write_table(pa.table({"text": ["a"], "image": [png()]}), tmp_path / "b.parquet")
    for i, source in enumerate(
        [
            {"path": str(tmp_path / "a.md"), "format": "markdown"},
            {"path": str(tmp_path / "b.parquet"), "images": "image"},
        ]
    ):
        recipe = recipe_of(tmp_path, tokenizer_path, images={"store": "reference"})
        with pytest.raises(ConfigError, match=r"image 0 of .* does not stand in .* as it is"):
            run(recipe | {"inputs": [source]}, tmp_path / str(i))


def test_images_that_cannot_be_referenced_are_told_before_any_work(tokenizer_path, tmp_path):
    path = sample_tar(tmp_path / "packed.tar.gz", 3)
    recipe = recipe_of(tmp_path, tokenizer_path, images={"store": "reference"})
    recipe["inputs"] = [{"path": str(path)}]
    with pytest.raises(ConfigError) as e:
        run(recipe, tmp_path / "out")
    assert str(e.value) == (
        f"images.store: reference: {path} is compressed, and no image can be read where it"
        " stands; unpack it, or take images.store: bytes"
    )
    assert not (tmp_path / "out" / "run").exists()


def test_a_packed_member_cannot_be_referenced(tokenizer_path, tmp_path):
    members = {"a.jpg.gz": gzip.compress(jpeg()), "a.txt": b"packed"}
    (tmp_path / "shard.tar").write_bytes(tar_bytes(members))
    recipe = recipe_of(tmp_path, tokenizer_path, images={"store": "reference"})
    with pytest.raises(
        ConfigError, match=r"image 0 of a \(.*a.jpg.gz\) does not stand in .* bytes"
    ):
        run(recipe, tmp_path / "out")


def test_packing_would_part_images_from_their_text(tmp_path):
    recipe = recipe_of(tmp_path, "tokenizer.json", output={"seq_len": 128})
    with pytest.raises(ConfigError, match="sequences of 128 tokens would part .* leave output"):
        make_recipe(recipe, where="recipe.yaml")


def test_what_is_measured_of_images_is_what_went_in(corpus, tokenizer_path, tmp_path):
    recipe = recipe_of(corpus, tokenizer_path, images={"tokens": {"patch": 10}})
    run(recipe, tmp_path)
    counts = [r.facts["measured"] for r in receipts_of(tmp_path / "run", "pass-0")]
    images = [image for image, _ in written(corpus)]
    sizes = [Image.open(io.BytesIO(image)).size for image in images]
    assert sum(c["images"]["images"]["train"] for c in counts) == len(images)
    assert sum(c["images"]["image_bytes"]["train"] for c in counts) == sum(map(len, images))
    tokens = sum(-(-width // 10) * -(-height // 10) for width, height in sizes)
    assert sum(c["images"]["image_tokens"]["train"] for c in counts) == tokens
    assert sum(c["images"]["formats"]["png"]["count"] for c in counts) == len(SHARDS)
    captions = sum(len(caption) for _, caption in written(corpus))
    assert sum(c["text_bytes"]["train"] for c in counts) == captions
    sized = load_from_disk(str(tmp_path / "run" / "dataset"))
    ids = [len(i) for i in sized["input_ids"]]
    assert sum(c["tokens"]["train"] for c in counts) == sum(ids)


def test_keys_do_not_depend_on_the_size_of_shards(tokenizer_path, tmp_path):
    lines = [
        json.dumps({"id": f"doc/{i}.x", "text": f"text {i} " * 20, "image": f"http://a.b/{i}.jpg"})
        for i in range(60)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(line + "\n" for line in lines))
    found = []
    for shard_bytes in ("2kB", "1MB"):
        recipe = recipe_of(tmp_path, tokenizer_path, images={"webdataset": True})
        recipe["inputs"] = [{"path": str(tmp_path / "docs.jsonl"), "images": "image"}]
        run(recipe | {"shard_bytes": shard_bytes}, tmp_path / shard_bytes)
        paths = sorted((tmp_path / shard_bytes / "run" / "webdataset").iterdir())
        members = []
        for path in paths:
            with tarfile.open(path) as tar:
                members += [(m.name, tar.extractfile(m).read()) for m in tar]
        found.append((len(paths), members))
    (many, small), (one, large) = found
    assert many > 3 > one == 1
    assert small == large
    assert len(large) == 2 * 60


@pytest.mark.long_but("coco_ccby_wds.tar")  # one real shard
@pytest.mark.parametrize("name", ["coco_ccby_wds.tar", "openclipart_400.tar"])
def test_real_shards_come_out_as_they_went_in(shared_data, tokenizer_path, tmp_path, name):
    source = shared_data / "images" / name
    recipe = recipe_of(source.parent, tokenizer_path, images={"webdataset": True})
    recipe["inputs"] = [{"path": str(source)}]
    report = run(recipe, tmp_path)
    with tarfile.open(source) as tar:
        expected = [tar.extractfile(m).read() for m in tar if m.name.endswith(("jpg", "png"))]
    dataset = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert [image for images in raw(dataset) for image in images] == expected
    pictures = dataset.cast_column("images", List(datasets.Image()))["images"]
    for (data,), (shown,) in zip(raw(dataset), pictures, strict=True):
        assert shown.size == Image.open(io.BytesIO(data)).size
    assert report["ledger"][-1]["images"]["bytes_out"] == sum(map(len, expected))
    (path,) = (tmp_path / "run" / "webdataset").iterdir()
    with tarfile.open(path) as tar:
        assert [tar.extractfile(m).read() for m in tar if m.name[-3:] in ("jpg", "png")] == expected
