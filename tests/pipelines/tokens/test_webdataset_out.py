"""Documents as members of a tar."""

import contextlib
import json
import re
import tarfile
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.images.blobs import Window
from tokenmill.pipelines.tokens.webdataset import TarShards, header_of, key_of, members, nodes_of

names = st.one_of(st.text(max_size=200), st.sampled_from(["a/b", "a.b", "a_b", "../a", "", "a b"]))


def shard(**settings):
    kept = {"paths": ("/data/a.jsonl",), "names": ("a.jsonl",), "format": "jsonl", **settings}
    return SourceShard(key="00000-of-00001", ordinal=0, input=0, source="web", **kept)


def job(folder, **output):
    settings = {"inputs": [{"path": "a"}], "tokenizer": {"path": "o/t"}, "output": output}
    recipe = make_recipe({**settings, "images": {"webdataset": True}}, where="test")
    return PrepareJob(out=folder, identity="", recipe=recipe)


def written(folder, documents, blobs=None, of=None):
    """(name, bytes) of each member of the tar that documents become."""
    with contextlib.ExitStack() as files:
        tars = TarShards(job(folder), of or shard(), files)
        for start in range(0, documents.num_rows, 2):
            tars.write(documents.slice(start, 2), blobs)
    (path,) = tars.paths
    with tarfile.open(path) as tar:
        return [(m.name, tar.extractfile(m).read()) for m in tar]


@given(st.lists(names, max_size=20, unique=True), st.sampled_from(["a", "b"]))
def test_keys_are_safe_and_tell_documents_apart(ids, file):
    keys = [key_of("web", file, i) for i in ids]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{17,77}", key) for key in keys)
    assert len({key.lower() for key in keys}) == len(ids)
    assert not {key_of("other", file, i) for i in ids} & set(keys)
    assert not {key_of("web", file + "c", i) for i in ids} & set(keys)


def test_documents_of_one_id_are_told_apart(tmp_path):
    ids = pa.array(["x", "y", "x", "x"])
    made = written(tmp_path, illustrated([("text", [])] * 4, id=ids))
    x, y = key_of("web", "a.jsonl", "x"), key_of("web", "a.jsonl", "y")
    keys = [name.removesuffix(".txt") for name, _ in made if name.endswith(".txt")]
    assert keys == [x, y, f"{x}-2", f"{x}-3"]


def test_a_key_does_not_tell_with_which_files_a_small_one_was_read(tmp_path):
    documents = illustrated([("text", [])])
    one, two = (
        written(tmp_path / str(n), documents, of=shard(format="text", names=("a", "b")[:n]))
        for n in (1, 2)
    )
    assert one == two


@given(st.text("abcXYZ059_-.", max_size=100), st.integers(0, 2**33 - 1))
def test_headers_are_those_of_tarfile(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    assert header_of(name, size) == info.tobuf(tarfile.USTAR_FORMAT)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=5))
def test_nodes_are_the_whole_text_in_order(pieces):
    text = PLACEHOLDER.join(p.replace(PLACEHOLDER, "") for p in pieces)
    nodes = nodes_of(text)
    assert "".join(n.get("text", PLACEHOLDER) for n in nodes) == text
    assert [n["image"] for n in nodes if "image" in n] == list(range(len(pieces) - 1))


def about(document, blobs=None, *, interleaved=False):
    (row,) = illustrated([document]).to_pylist()
    return dict(members(row, interleaved=interleaved, blobs=blobs))


def test_a_sample_is_image_caption_and_facts():
    blobs = Window(0, [b"first", b"second"])
    made = about(("naïve \u2028", [image(format="mpo", offset=5, bytes=6)]), blobs)
    facts = json.loads(made.pop("json"))
    assert made == {"jpg": b"second", "txt": "naïve \u2028".encode()}
    assert facts == {
        "id": "doc-0",
        "url": "https://example.org/0.jpg",
        "path": "shard.tar/0.jpg",
        "md5": "0" * 32,
        "format": "mpo",
        "width": 640,
        "height": 480,
        "file": "jpg",
    }


def test_annotations_go_along_unless_they_would_be_read_as_text():
    (row,) = illustrated([("words", [image(offset=None)])]).to_pylist()
    row |= {"license": "CC-BY-4.0", "taken": datetime(2024, 5, 1, tzinfo=UTC), "score": None}
    row |= {"share": float("nan"), "caption": "other", "file": "train-3.jsonl"}
    made = dict(members(row, interleaved=False, blobs=None))
    facts = json.loads(made["json"])
    beside = {"license": "CC-BY-4.0", "taken": "2024-05-01T00:00:00+00:00", "score": None}
    beside |= {"share": None, "caption": None, "file": None}
    assert {name: facts.get(name) for name in beside} == beside


def test_several_images_beside_one_text_are_numbered():
    blobs = Window(0, [b"first", b"second"])
    pictures = [
        image(0, offset=0, bytes=5),
        image(3, format=None, offset=5, bytes=6),
        image(5, offset=None, bytes=None, md5=None, format="png"),
    ]
    made = about(("caption", pictures), blobs)
    facts = json.loads(made.pop("json"))
    assert made == {"0.jpg": b"first", "1.bin": b"second", "txt": b"caption"}
    assert [i.get("file") for i in facts["images"]] == ["0.jpg", "1.bin", None]
    assert [i["md5"] for i in facts["images"]] == ["0" * 32, "0" * 31 + "3", None]


def test_an_image_of_which_there_is_a_url_alone_is_told_of():
    made = about(("caption", [image(offset=None, bytes=None, md5=None, format=None)]))
    assert list(made) == ["txt", "json"]
    assert json.loads(made["json"])["url"] == "https://example.org/0.jpg"


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513])
def test_a_tar_is_whole_whatever_the_sizes(tmp_path, n):
    blobs = Window(0, [b"x" * n, b"end"])
    pictures = [[image(offset=0, bytes=n)], [image(offset=n, bytes=3)]]
    documents = illustrated([("one", pictures[0]), ("two", pictures[1])])
    if n == 0:
        documents = documents.slice(1)
    made = written(tmp_path, documents, blobs)
    assert [data for name, data in made if name.endswith("jpg")] == [b"x" * n, b"end"][n == 0 :]


def test_no_documents_are_an_empty_tar(tmp_path):
    assert written(tmp_path, illustrated([])) == []
