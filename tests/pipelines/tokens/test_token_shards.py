"""Token shards as they are written: what is counted of them, against a loop."""

import contextlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import document_batch
from tokenmill.pipelines.core.pieces import number_pieces
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.storage.files import open_arrow
from tokenmill.pipelines.tokens.options import Output
from tokenmill.pipelines.tokens.shards import LENGTH_BINS, TokenShards, sides

# of every length about the edges of the first bins, some of fewer characters than bytes
TEXTS = [
    "",
    "a",
    "é",
    "abc",
    "東",
    "abcd",
    *("x" * n for n in (7, 8, 9, 63, 64)),
    "é" * 64,
    "🙂" * 30,
]
SHARD = SourceShard(
    key="00000", ordinal=0, input=0, source="docs", format="jsonl", paths=(), names=()
)


def in_validation(doc_id, frac, seed):
    return xxhash.xxh3_64_intdigest(doc_id.encode(), seed) < frac * 2**64


@given(
    st.lists(st.tuples(st.text(max_size=5), st.integers(0, 3)), max_size=20),
    st.sampled_from([0.0, 0.25, 0.5, 0.999]),
    st.integers(0, 2**40),
)
def test_id_seed_and_share_alone_say_on_which_side_a_document_and_its_pieces_are(ids, frac, seed):
    documents = document_batch([""] * len(ids)).set_column(
        1, "id", pa.array([i for i, _ in ids], "str")
    )
    doc_ids, names = number_pieces(documents, np.array([n for _, n in ids], np.int64))
    documents = documents.set_column(0, "doc_id", doc_ids).set_column(1, "id", names)
    made = dict(sides(documents, Output(validation_frac=frac, seed=seed), ("train", "validation")))
    expected = [in_validation(i, frac, seed) for i, _ in ids]
    assert made["validation"].tolist() == expected
    assert made["train"].tolist() == [not is_in for is_in in expected]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_what_is_counted_is_what_a_loop_counts_however_many_batches(tokenizer_path, tmp_path, size):
    settings = {"validation_frac": 0.4, "seed": 7}
    data = {
        "inputs": [{"path": "docs.jsonl"}],
        "tokenizer": {"path": str(tokenizer_path)},
        "output": settings,
    }
    job = PrepareJob(out=tmp_path, recipe=make_recipe(data, where="test"), identity="test")
    whole = document_batch(TEXTS)
    with contextlib.ExitStack() as files:
        shards = TokenShards(job, SHARD, files)
        stats = [shards.write(whole.slice(at, size)) for at in range(0, len(TEXTS), size)]
    n_bytes = sum(len(text.encode()) for text in TEXTS)
    assert sum(s.docs_out for s in stats) == len(TEXTS)
    assert sum(s.bytes_out for s in stats) == n_bytes

    split = ["validation" if in_validation(str(i), 0.4, 7) else "train" for i in range(len(TEXTS))]
    library = tokenizers.Tokenizer.from_file(str(tokenizer_path))
    end = library.token_to_id("<|endoftext|>")
    ids = [[*library.encode(text, add_special_tokens=False).ids, end] for text in TEXTS]
    for path, name in zip(shards.paths, ("train", "validation"), strict=True):
        rows = [row for batch in open_arrow(path)[0] for row in batch.to_pylist()]
        assert [row["input_ids"] for row in rows] == [
            of for of, side in zip(ids, split, strict=True) if side == name
        ]
    counted = {name: Counter() for name in ("docs", "tokens", "text_bytes")}
    bins = [0] * LENGTH_BINS
    for text, of, side in zip(TEXTS, ids, split, strict=True):
        counted["docs"][side] += 1
        counted["tokens"][side] += len(of)
        counted["text_bytes"][side] += len(text.encode())
        bins[len(text.encode()).bit_length()] += 1
    measured = shards.measured()
    assert sum(measured.pop("docs_by_engine").values()) == len(TEXTS)
    assert measured == {**counted, "chars": sum(map(len, TEXTS)), "length_bins": bins}
