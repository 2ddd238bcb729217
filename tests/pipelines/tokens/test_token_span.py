"""Spans of a token stream against plain lists."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokenmill.pipelines.tokens.shards as token_span_module
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.tokens.shards import TokenFiles, TokenShard, token_schema, token_span

documents = st.lists(st.lists(st.integers(0, 65535), max_size=7), max_size=6)
corpora = st.lists(st.lists(documents, max_size=3), min_size=1, max_size=4)  # shards of batches


def write(folder, corpus):
    """The corpus as token shards on disk; also all its documents in order."""
    schema = token_schema(np.uint16)
    paths, shards, docs = [], [], []
    for i, batches in enumerate(corpus):
        path = folder / f"part-{i}.arrow"
        held = [doc for batch in batches for doc in batch]
        with arrow_file(path, schema) as writer:
            for batch in batches:
                if batch:
                    first = len(docs)
                    docs += batch
                    columns = [
                        pa.array(batch, pa.list_(pa.uint16())),
                        pa.array(range(first, len(docs)), pa.uint64()),
                        pa.array([f"d{n}" for n in range(first, len(docs))]),
                        pa.repeat("web", len(batch)),
                        pa.array([len(d) for d in batch], pa.int64()),
                    ]
                    writer.write_batch(pa.record_batch(columns, schema=schema))
        paths.append(path)
        size = sum(map(len, held))
        shards.append(TokenShard(str(i), size, len(held), 0, size))
    return (TokenFiles(paths), shards), docs


@given(corpora, st.integers(1, 20))
def test_files_cut_by_token_hold_every_document_once_and_in_order(tmp_path_factory, corpus, step):
    shards, docs = write(tmp_path_factory.mktemp("s"), corpus)
    total = sum(map(len, docs))
    got = []
    cuts = [*range(0, max(total, 1), step), total]
    for start, stop in itertools.pairwise(cuts):
        span = token_span(*shards, start, stop)
        for ids, doc_id, name, *_ in span.documents():
            assert name.to_pylist() == [f"d{n}" for n in doc_id.to_pylist()]
            got += list(zip(doc_id.to_pylist(), ids.to_pylist(), strict=True))
    assert got == list(enumerate(docs))


@given(corpora, st.integers(1, 5), st.integers(1, 4))
def test_sequences_are_the_stream_cut_at_even_lengths(tmp_path_factory, corpus, seq_len, per_file):
    shards, docs = write(tmp_path_factory.mktemp("s"), corpus)
    stream = [token for doc in docs for token in doc]
    whole = len(stream) // seq_len * seq_len
    got, places = [], []
    for start in range(0, whole, per_file * seq_len):
        span = token_span(*shards, start, min(start + per_file * seq_len, whole))
        for ids, doc_id, offset in span.sequences(seq_len):
            got += ids.to_pylist()
            places += list(zip(doc_id.to_pylist(), offset.to_pylist(), strict=True))
    assert got == [stream[i : i + seq_len] for i in range(0, whole, seq_len)]
    for sequence, (doc, offset) in zip(got, places, strict=True):
        assert docs[doc][offset] == sequence[0]


def greedily(sizes, most, rows):
    """Documents batch by batch: as many as fit, one at least."""
    batches = []
    for doc, size in enumerate(sizes):
        last = batches[-1] if batches else []
        if last and len(last) < rows and sum(sizes[i] for i in last) + size <= most:
            last.append(doc)
        else:
            batches.append([doc])
    return batches


@given(corpora, st.integers(1, 12), st.integers(1, 4))
def test_batches_hold_as_many_documents_as_fit_and_no_more(tmp_path_factory, corpus, most, rows):
    shards, docs = write(tmp_path_factory.mktemp("s"), corpus)
    sizes = [len(doc) for doc in docs]
    span = token_span(*shards, 0, sum(sizes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_span_module, "BATCH_TOKENS", most)
        patch.setattr(token_span_module, "MOST_ROWS", rows)
        made = [rows["doc_id"].to_pylist() for rows in span.documents()]
    assert made == greedily(sizes, most, rows)


sized = st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=6), max_size=4)


def write_sized(folder, corpus):
    """Token shards whose documents have images: (ids, bytes in the dataset) each."""
    schema = token_schema(np.uint16, Images())
    paths, shards = [], []
    for i, docs in enumerate(corpus):
        path = folder / f"part-{i}.arrow"
        with arrow_file(path, schema) as writer:
            for first in range(0, len(docs), 4):
                some = docs[first : first + 4]
                columns = {
                    "input_ids": [[7] * n for n, _ in some],
                    "doc_id": range(100 * i + first, 100 * i + first + len(some)),
                    "size": [size for _, size in some],
                    "images": [[]] * len(some),
                }
                arrays = [
                    pa.array(columns[f.name], f.type)
                    if f.name in columns
                    else pa.nulls(len(some), f.type)
                    for f in schema
                ]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        n, size = (sum(column) for column in zip(*docs, strict=True)) if docs else (0, 0)
        paths.append(path)
        shards.append(TokenShard(str(i), n, len(docs), 0, size))
    return TokenFiles(paths), shards


@given(sized, st.integers(1, 30), st.integers(1, 12))
def test_files_cut_by_bytes_hold_every_document_once_in_batches_of_one_shard(
    tmp_path_factory, corpus, step, most
):
    shards = write_sized(tmp_path_factory.mktemp("s"), corpus)
    sizes = {100 * i + j: size for i, docs in enumerate(corpus) for j, (_, size) in enumerate(docs)}
    total = sum(sizes.values())
    got = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_span_module, "BATCH_BYTES", most)
        for start, stop in itertools.pairwise([*range(0, max(total, 1), step), total]):
            for key, rows in token_span(*shards, start, stop).illustrated():
                ids = rows["doc_id"].to_pylist()
                assert {i // 100 for i in ids} == {int(key)}
                assert len(ids) == 1 or sum(sizes[i] for i in ids) <= most
                assert sum(sizes[i] for i in sizes if i < ids[0]) >= start
                got += ids
    assert got == list(sizes)


def test_a_span_knows_what_began_in_it(tmp_path):
    shards, _ = write(tmp_path, [[[[1, 2], [], [3]], [[4]]], [[[], []]]])
    assert token_span(*shards, 2, 4).begun()["id"].to_pylist() == [
        "d1",
        "d2",
        "d3",
        "d4",
        "d5",
    ]
    assert token_span(*shards, 0, 2).begun()["id"].to_pylist() == ["d0"]
    assert token_span(TokenFiles([]), [], 0, 0).begun().num_rows == 0
