"""Sizes of formats against files: written by the library where it is here, else by their layout."""

import json
import struct
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill.pipelines.storage.files import arrow_stream
from tokenmill.pipelines.tokens.dataset import dataset_schema
from tokenmill.sizing.formulas.formats import (
    ARROW_DOC_BYTES,
    ARROW_SEQUENCE_BYTES,
    MDS_SHARD_BYTES,
    arrow_bytes,
    files,
    jsonl_gz_bytes,
    mds_bytes,
    mds_shards,
    megatron_bytes,
    megatron_files,
    packed_arrow_bytes,
    parquet_bytes,
    total_docs,
)

DTYPES = [(2, np.uint16), (4, np.uint32)]


def documents(n, dtype, *, seed=1):
    """`n` documents of Zipf-distributed ids, 700 tokens long on average."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(300, 1101, n)
    ids = np.minimum(draw.zipf(1.2, int(lengths.sum())), 50_000).astype(dtype)
    return np.split(ids, np.cumsum(lengths)[:-1])


def id_lists(docs):
    offsets = np.concatenate(([0], np.cumsum([len(d) for d in docs]))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(docs)))


@pytest.mark.parametrize(("width", "dtype"), DTYPES)
def test_arrow_a_row_a_document(tmp_path, width, dtype):
    docs = documents(3000, dtype)
    ids = id_lists(docs)
    schema = dataset_schema(ids.type.value_type, None)
    names = pa.array([f"part-00042.jsonl.gz#{1_234_567 + i}" for i in range(len(docs))])
    numbers, source = pa.array(range(len(docs)), pa.uint64()), pa.repeat("web", len(docs))
    table = pa.record_batch([ids, numbers, names, source], schema=schema)
    path = tmp_path / "data.arrow"
    with arrow_stream(path, schema) as writer:
        for start in range(0, len(docs), 1500):  # about a million tokens, as `dataset` does
            writer.write_batch(table.slice(start, 1500))
    tokens = sum(map(len, docs))
    got = arrow_bytes(tokens=tokens, docs=len(docs), token_width_bytes=width)
    assert got == pytest.approx(path.stat().st_size, rel=0.005)
    beside = (path.stat().st_size - tokens * width) / len(docs)
    assert beside == pytest.approx(ARROW_DOC_BYTES, abs=0.5)


@pytest.mark.parametrize(("width", "dtype"), DTYPES)
def test_arrow_a_row_a_sequence(tmp_path, width, dtype):
    n, seq_len = 8192, 128
    ids = pa.array(np.arange(n * seq_len).astype(dtype))
    schema = dataset_schema(ids.type, seq_len)
    numbers = pa.array(range(n), pa.uint64()), pa.array(range(n), pa.int64())
    columns = [pa.FixedSizeListArray.from_arrays(ids, seq_len), *numbers]
    path = tmp_path / "data.arrow"
    with arrow_stream(path, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))
    got = packed_arrow_bytes(tokens=n * seq_len, seq_len=seq_len, token_width_bytes=width)
    assert got == pytest.approx(path.stat().st_size, abs=2000)
    assert got - n * seq_len * width == n * ARROW_SEQUENCE_BYTES


def parquet_size(path, docs, **options):
    pq.write_table(pa.table({"input_ids": id_lists(docs)}), path, **options)
    return path.stat().st_size


def test_parquet_has_no_integers_of_2_bytes(tmp_path):
    """Neither encoded nor compressed, ids of 2 bytes take 4; compressed, both widths the same."""
    narrow, wide = documents(2000, np.uint16), documents(2000, np.uint32)
    tokens = sum(map(len, narrow))
    path = tmp_path / "data.parquet"
    plain = parquet_size(path, narrow, compression="none", use_dictionary=False)
    assert plain == pytest.approx(4 * tokens, rel=0.01)
    compressed = [parquet_size(path, docs, compression="zstd") for docs in (narrow, wide)]
    assert compressed[0] == pytest.approx(compressed[1], rel=0.01)
    got = parquet_bytes(tokens=tokens, parquet_bytes_per_token=compressed[0] / tokens)
    assert got == pytest.approx(compressed[0])


def megatron_pair(docs):
    """The bytes of .bin and .idx as IndexedDatasetBuilder lays them out, a sequence a document."""
    lengths = [len(d) for d in docs]
    starts = [0, *accumulate(n * docs[0].itemsize for n in lengths)][:-1]
    code = {2: 8, 4: 4}[docs[0].itemsize]
    head = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(docs), len(docs) + 1)
    index = (
        np.array(lengths, np.int32).tobytes()
        + np.array(starts, np.int64).tobytes()
        + np.arange(len(docs) + 1, dtype=np.int64).tobytes()
    )
    return b"".join(d.tobytes() for d in docs), head + index


@pytest.mark.parametrize(("width", "dtype"), [(2, np.uint16), (4, np.int32)])
def test_megatron_to_the_byte(width, dtype):
    docs = documents(100, dtype)
    written = sum(map(len, megatron_pair(docs)))
    tokens = sum(map(len, docs))
    assert megatron_bytes(tokens=tokens, docs=100, token_width_bytes=width) == written
    split = [*megatron_pair(docs[:60]), *megatron_pair(docs[60:])]
    got = megatron_bytes(tokens=tokens, docs=100, token_width_bytes=width, files=2)
    assert got == sum(map(len, split))


def mds_files(docs, size_limit):
    """Shards and index as MDSWriter lays them out for one column of a fixed shape."""
    encoding = f"ndarray:{docs[0].dtype.name}:{len(docs[0])}"
    config = {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": size_limit,
        "column_names": ["tokens"],
        "column_encodings": [encoding],
        "column_sizes": [docs[0].nbytes],
    }
    head = json.dumps(config, sort_keys=True).encode()
    shards, samples, size = [], [], 8 + len(head)
    for doc in docs:
        if size_limit < size + doc.nbytes + 4:
            shards.append(samples)
            samples, size = [], 8 + len(head)
        samples.append(doc.tobytes())
        size += doc.nbytes + 4
    shards.append(samples)
    files, entries = [], []
    for number, samples in enumerate(shards):
        offsets = np.array([0, *map(len, samples)]).cumsum().astype(np.uint32)
        offsets += 4 + offsets.nbytes + len(head)
        body = np.uint32(len(samples)).tobytes() + offsets.tobytes() + head + b"".join(samples)
        files.append(body)
        raw = {"basename": f"shard.{number:05}.mds", "bytes": len(body), "hashes": {}}
        entries.append({"samples": len(samples), "raw_data": raw, "zip_data": None, **config})
    index = json.dumps({"version": 2, "shards": entries}, sort_keys=True).encode()
    return files, index


@pytest.mark.parametrize(("width", "dtype"), DTYPES)
@pytest.mark.parametrize("size_limit", [1 << 17, 1 << 20, 1 << 26])
def test_mds_as_laid_out(width, dtype, size_limit):
    seq_len, n = 2048, 500
    docs = np.split(np.arange(n * seq_len).astype(dtype), n)
    shards, index = mds_files(docs, size_limit)
    given = {
        "tokens": n * seq_len,
        "seq_len": seq_len,
        "token_width_bytes": width,
        "mds_shard_bytes": size_limit,
    }
    assert mds_shards(**given) == len(shards)
    written = sum(map(len, shards)) + len(index)
    assert mds_bytes(**given) == pytest.approx(written, abs=12 * len(shards) + 32)
    assert max(map(len, shards)) <= size_limit


def test_mds_of_one_shard_is_a_count_two_offsets_two_pieces_of_json_and_the_ids():
    got = mds_bytes(tokens=2048, seq_len=2048, token_width_bytes=2)
    assert got == 4 + 2 * 4 + 188 + 4096 + 304


def test_an_mds_shard_holds_what_fits_to_the_byte():
    given = {"tokens": 600, "seq_len": 100, "token_width_bytes": 2}
    room_for_3 = 4 + 4 + 188 + 3 * (200 + 4)
    assert mds_shards(**given, mds_shard_bytes=room_for_3) == 2
    assert mds_shards(**given, mds_shard_bytes=room_for_3 - 1) == 3


def test_mds_pads_the_last_sequence_and_takes_a_sample_larger_than_a_shard():
    given = {"seq_len": 100, "token_width_bytes": 2}
    assert mds_bytes(tokens=101, **given) == mds_bytes(tokens=200, **given)
    assert mds_shards(tokens=300, mds_shard_bytes=100, **given) == 3
    assert MDS_SHARD_BYTES == 64 * 1024**2


def test_jsonl_has_a_record_a_document():
    plain = jsonl_gz_bytes(text_bytes=28_000, docs=10, compression_ratio=1.0)
    record = {"text": "x" * 2800, "id": "part-00042#1234567", "url": "https://example.org/a/b/c"}
    assert len(json.dumps(record)) + 1 == pytest.approx(plain / 10, rel=0.005)
    assert plain == 28_000 + 10 * 80
    assert jsonl_gz_bytes(text_bytes=28_000, docs=10, compression_ratio=2.5) == plain / 2.5


@pytest.mark.parametrize(("n_bytes", "n"), [(0, 1), (1, 1), (512e6, 1), (512e6 + 1, 2)])
def test_files_are_whole(n_bytes, n):
    assert files(format_bytes=n_bytes, shard_bytes=512e6) == n
    assert megatron_files(format_bytes=n_bytes, shard_bytes=512e6) == 2 * n


def test_documents_of_sources_add_up():
    assert total_docs(web=3.0, code=4.0) == 7.0
