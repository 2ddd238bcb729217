"""Images that look like one before them: found by hashes of bits, whatever the shards."""

import io
import json
from functools import cache

import imagehash
import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from PIL import Image

from tests.pipelines.corpus.repeats_corpora import batch_of
from tests.pipelines.corpus.test_repeats_runs import recipe_of
from tests.pipelines.read.images.shards import encoded, gif, noise, png, tar_bytes
from tests.reference import images as reference
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus import near_images
from tokenmill.pipelines.corpus.near_images import image_hashes, phash
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.images.blobs import Window


@cache
def pictures():
    """Noise, each picture three times: as it is, smaller and as a poor JPEG, in some order."""
    rng, made = np.random.default_rng(0), []
    for seed in range(12):
        coarse = noise(9, 9, seed).resize((120, 90), Image.Resampling.BICUBIC)
        made.append(encoded(coarse, "PNG"))
        made.append(encoded(coarse.resize((60, 45)), "PNG"))
        made.append(encoded(coarse, "JPEG", quality=20))
    return [made[i] for i in rng.permutation(len(made))]


def hash_of(data):
    return int(str(imagehash.phash(Image.open(io.BytesIO(data)))), 16)


@pytest.mark.parametrize("data", [*pictures()[:4], png(), gif()], ids=range(6))
def test_a_hash_is_that_of_the_library(data):
    assert phash(data, 10**6) == hash_of(data)


def test_what_does_not_decode_or_is_too_large_has_no_hash():
    good = pictures()[0]
    assert phash(good[: len(good) // 2], 10**6) is None
    assert phash(b"nothing", 10**6) is None
    assert phash(good, 30 * 30) is None


def test_images_without_bytes_have_no_hash():
    some = [{"number": i, "url": f"u{i}", "md5": None} for i in range(4)]
    batch = batch_of([{"doc_id": 1, "url": None, "text": "a", "images": some}])
    pieces = [pictures()[0], b"broken", png(colour=(0, 0, 0))]
    window = Window(100, pieces)
    rows = batch.to_pylist()
    for image, offset, data in zip(
        rows[0]["images"], window.offsets.tolist(), pieces, strict=False
    ):
        image |= {"offset": offset, "bytes": len(data)}
    batch = type(batch).from_pylist(rows, schema=batch.schema)
    black = hash_of(pieces[2])
    expected = [[hash_of(pieces[0]), 1], [0, 0], [black, 1], [0, 0]]
    assert image_hashes(batch, window, max_pixels=10**6).tolist() == expected
    assert image_hashes(batch, None, max_pixels=10**6).tolist() == [[0, 0]] * 4


def write_samples(folder):
    """Tar shards of samples, some of them without a picture that decodes; all in order."""
    data = [*pictures(), *(d[: len(d) // 2] for d in pictures()[:2])]
    for shard in range(4):
        members = {}
        for i in range(shard, len(data), 4):
            ext = "png" if data[i].startswith(b"\x89PNG") else "jpg"
            members |= {f"{i:04d}.{ext}": data[i], f"{i:04d}.txt": f"caption {i}".encode()}
        (folder / f"{shard}.tar").write_bytes(tar_bytes(members))
    return [i for shard in range(4) for i in range(shard, len(data), 4)], data


@pytest.mark.parametrize("store", ["bytes", "reference"])
@pytest.mark.parametrize(
    "before", [[], ["exact"], [{"repeated_images": {"more_than": 1}}]], ids=repr
)
def test_samples_that_look_like_one_before_leave(tmp_path, tokenizer_path, before, store):
    order, data = write_samples(tmp_path)
    hashes = {i: phash(data[i], 10**6) for i in order}
    hashed = [i for i in order if hashes[i] is not None]
    first = reference.first_near([hashes[i] for i in hashed], 4)
    leaving = {hashed[k]: hashed[f] for k, f in enumerate(first) if f != k}
    assert len(leaving) == 24
    inputs = [{"path": str(tmp_path / "*.tar")}]
    steps = [*before, "near_images"]
    recipe = recipe_of(tmp_path, tokenizer_path, steps, inputs=inputs, images={"store": store})
    report = prepare(recipe, tmp_path / "run", one_by_one)
    kept = [
        int(row["id"].rpartition("/")[2])
        for row in load_from_disk(str(tmp_path / "run" / "dataset")).select_columns("id")
    ]
    assert kept == [i for i in order if i not in leaving]
    rows = [
        row
        for path in sorted((tmp_path / "run" / "removed-images").iterdir())
        for row in pq.read_table(path).to_pylist()
    ]
    assert {r["reason"] for r in rows} == {"near_image"}
    ids = {r["doc_id"]: int(r["id"].rpartition("/")[2]) for r in rows}
    assert sorted(ids.values()) == sorted(leaving)
    for row in rows:
        i = ids[row["doc_id"]]
        assert row["value"] == (hashes[i] ^ hashes[leaving[i]]).bit_count()
    (ledger,) = [row for row in report["ledger"] if row["stage"] == "near_images"]
    assert ledger["removed"] == {"no_images_left": 24}
    assert ledger["images"]["removed"] == {"near_image": 24}
    (facts,) = [
        json.loads(path.read_text())["facts"]
        for path in (tmp_path / "run" / "receipts").glob("near_images-*/all.json")
    ]
    assert facts == {"images": 38, "without_hash": 38 - len(hashed), "near": 24}


def test_the_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(near_images, "find_spec", lambda name: None)
    recipe = {"inputs": [{"path": "a"}], "tokenizer": {"path": "o/t"}, "steps": ["near_images"]}
    with pytest.raises(ConfigError, match="needs the ImageHash library; pip install 'tokenmill"):
        make_recipe({**recipe, "images": {}}, where="test")
