"""Shards of a compressed file that are read in turn share one stream, and read the same."""

import gzip
import random
from collections import Counter

import orjson
import pytest
import zstandard

from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read import stream
from tokenmill.pipelines.read import stream as parked
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.read.stream import parking

WRITE = {"gz": gzip.compress, "zst": zstandard.compress}


@pytest.fixture
def decompressed(monkeypatch):
    """How many bytes each kind of decompressor has made."""
    made = Counter()

    def counting(kind, inner):
        def run(blocks, limits):
            for piece in inner(blocks, limits):
                made[kind] += len(piece)
                yield piece

        return run

    kinds = {k: counting(k, f) for k, f in stream._DECOMPRESS.items()}
    monkeypatch.setattr(stream, "_DECOMPRESS", kinds)
    return made


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parked, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(parked, "KEPT_BYTES", 40_000)
    monkeypatch.setattr(stream, "GZIP_OUT_BYTES", 10_000)
    with parking("run"):
        yield
    assert not parked._parked


def write(folder, suffix, *, damage=False):
    draw = random.Random(3)
    texts = [draw.randbytes(draw.randrange(1500)).hex() for _ in range(600)]
    lines = [orjson.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts)]
    plain = b"\n".join(lines) + b"\n"
    packed = WRITE[suffix](plain)
    if damage:
        packed = packed[: len(packed) * 2 // 3]
    (folder / f"docs.jsonl.{suffix}").write_bytes(packed)
    return len(plain)


def shards_of(folder):
    plan = plan_inputs((Input(path=str(folder / "docs.jsonl.*")),), 70_000)
    assert len(plan.shards) > 6
    return plan.shards


def read(shard, run):
    """The rows of each batch: where batches end must not depend on who read before."""
    return [
        batch.documents.to_pylist() + batch.failed.to_pylist()
        for batch in read_shard(shard, limits=Limits(), run=run)
    ]


@pytest.mark.parametrize("suffix", WRITE)
@pytest.mark.parametrize("damage", [False, True])
def test_documents_are_the_same_whatever_the_order(tmp_path, suffix, damage):
    write(tmp_path, suffix, damage=damage)
    shards = shards_of(tmp_path)
    expected = [read(shard, "") for shard in shards]
    orders = [list(range(len(shards))), list(range(len(shards)))[::-1]]
    orders.append(random.Random(1).sample(orders[0], len(shards)))
    for order in orders:
        for i in order:
            assert read(shards[i], "run") == expected[i], (order, i)


@pytest.mark.parametrize(("suffix", "kind"), [("gz", "gzip"), ("zst", "zstd")])
def test_in_turn_each_byte_is_decompressed_once(tmp_path, suffix, kind, decompressed):
    size = write(tmp_path, suffix)
    shards = shards_of(tmp_path)
    decompressed.clear()  # planning looks at the beginning
    for shard in shards:
        read(shard, "run")
    assert decompressed[kind] == size
    decompressed.clear()
    for shard in shards:
        read(shard, "")
    assert decompressed[kind] > 3 * size


def test_a_file_may_change_where_no_run_is_named(tmp_path):
    write(tmp_path, "gz")
    (shard, *_) = shards_of(tmp_path)
    read(shard, "")
    (tmp_path / "docs.jsonl.gz").write_bytes(gzip.compress(b'{"text": "other"}\n'))
    assert [[d["text"] for d in batch] for batch in read(shard, "")] == [["other"]]


def test_streams_set_down_are_few(tmp_path, monkeypatch):
    monkeypatch.setattr(parked, "PARKED_STREAMS", 2)
    write(tmp_path, "gz")
    shards = shards_of(tmp_path)
    for shard in shards[-2::-1]:  # each opens its own
        read(shard, "run")
    assert len(parked._parked) == 2


def test_an_interrupted_stream_is_not_taken_up_again(tmp_path, monkeypatch):
    write(tmp_path, "gz")
    shards = shards_of(tmp_path)
    expected = [read(shard, "") for shard in shards]
    inner, made = stream._DECOMPRESS["gzip"], []

    def interrupted(blocks, limits):
        for piece in inner(blocks, limits):
            made.append(piece)
            if len(made) == 30:
                raise KeyboardInterrupt
            yield piece

    monkeypatch.setattr(stream, "_DECOMPRESS", {"gzip": interrupted})
    with pytest.raises(KeyboardInterrupt):
        for shard in shards:
            read(shard, "run")
    assert [read(shard, "run") for shard in shards] == expected


def test_nothing_is_set_down_behind_the_last_shard_or_after_the_run(tmp_path):
    write(tmp_path, "gz")
    shards = shards_of(tmp_path)
    read(shards[-1], "run")
    assert not parked._parked
    read(shards[0], "another run, which is over")
    assert not parked._parked
    read(shards[0], "run")
    assert len(parked._parked) == 1
