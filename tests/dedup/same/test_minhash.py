"""Signatures are those of the reference, and estimate what they should."""

import math
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.strategies import hard_documents
from tests.reference import minhash as reference
from tests.reference.shingle import shingle_hash, shingles
from tests.strategies import text_columns
from tokenmill.dedup.same.minhash import (
    EMPTY,
    MinHash,
    pair_similarity,
    permutations,
    signatures,
)
from tokenmill.dedup.text import shingle, words

configs = st.builds(
    MinHash,
    num_perm=st.sampled_from([1, 7, 16, 33, 70]),
    seed=st.integers(0, 2**32 - 1),
    ngram=st.integers(1, 6),
    words=st.sampled_from(["scripts", "unicode", "whitespace"]),
)


@given(text_columns(hard_documents), configs)
def test_signatures_match_the_reference(text, config):
    a, b = permutations(config)
    expected = [
        reference.signature(
            [shingle_hash(s) for s in shingles(d, config.ngram, config.words)], a, b
        )
        for d in text.to_pylist()
    ]
    got = signatures(text, config)
    assert got.dtype == np.uint32
    assert got.shape == (len(text), config.num_perm)
    assert got.tolist() == expected


@pytest.mark.parametrize("block_bytes", [1, 100, 1000, 1 << 30])
def test_signatures_do_not_depend_on_the_blocks(monkeypatch, block_bytes):
    text = pa.array([f"{'word ' * (i % 7)}{i} of a text {i * i}" for i in range(300)] + ["", "x"])
    expected = signatures(text, MinHash())
    monkeypatch.setattr(words, "BLOCK_BYTES", block_bytes)
    assert np.array_equal(signatures(text, MinHash()), expected)


@given(text_columns(hard_documents), configs, st.integers(1, 60))
def test_signatures_do_not_depend_on_the_parts_of_large_documents(text, config, large):
    expected = signatures(text, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingle, "LARGE_BYTES", large)
        patch.setattr(words, "BLOCK_BYTES", large)
        assert np.array_equal(signatures(text, config), expected)


@pytest.mark.parametrize("line", ["some words in a line\n", "a b ", "没有空格的一行文字。\n"])
def test_a_large_document_takes_no_more_memory_than_its_parts(line):
    n_bytes = 20_000_000
    text = pa.array([line * (n_bytes // len(line.encode()))])
    tracemalloc.start()
    signatures(text, MinHash())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 16 * words.LARGE_BYTES


def test_same_set_same_signature_whatever_the_order_and_number():
    config = MinHash(ngram=1)
    x, y = signatures(pa.array(["to be or not to be", "not TO... be, or be"]), config)
    assert np.array_equal(x, y)


@pytest.mark.parametrize("text", ["", " \n", "...", "🙂"])
def test_no_words_is_an_empty_signature(text):
    assert np.all(signatures(pa.array([text]), MinHash()) == EMPTY)


def test_no_documents_no_signatures():
    assert signatures(pa.array([], pa.string()), MinHash()).shape == (0, 70)


@pytest.mark.parametrize("shared", [0, 30, 60, 90, 114, 120])
def test_the_estimate_is_within_four_standard_errors(shared):
    """200 pairs of 120 words each, of which `shared` are common."""
    n_pairs, size, config = 200, 120, MinHash(ngram=1)
    docs = []
    for pair in range(n_pairs):
        common = [f"c{pair}x{i}" for i in range(shared)]
        docs += [
            " ".join(common + [f"{side}{pair}x{i}" for i in range(size - shared)]) for side in "lr"
        ]
    jaccard = shared / (2 * size - shared)
    found = signatures(pa.array(docs), config)
    left = np.arange(0, 2 * n_pairs, 2)
    estimates = pair_similarity(found, left, left + 1).astype(np.float64)
    error = math.sqrt(jaccard * (1 - jaccard) / config.num_perm)
    assert abs(estimates.mean() - jaccard) <= 4 * error / math.sqrt(n_pairs) + 1e-6
    assert np.sqrt(np.mean((estimates - jaccard) ** 2)) <= 1.25 * error + 1e-6


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 30), st.randoms())
def test_pair_similarity_is_similarity_of_each_pair(n_docs, num_perm, n_pairs, random):
    draw = np.random.default_rng(random.getrandbits(32))
    rows = draw.integers(0, 3, (n_docs, num_perm), dtype=np.uint32)
    left, right = draw.integers(0, n_docs, (2, n_pairs))
    expected = [np.mean(rows[x] == rows[y]) for x, y in zip(left, right, strict=True)]
    got = pair_similarity(rows, left, right)
    assert got.dtype == np.float32
    assert np.array_equal(got, np.array(expected, np.float32))


def test_signatures_mapped_from_a_file_are_compared_in_place(tmp_path):
    found = signatures(pa.array(["a b c d e f", "a b c d e f g", "x"]), MinHash())
    np.save(tmp_path / "signatures.npy", found)
    mapped = np.load(tmp_path / "signatures.npy", mmap_mode="r")
    pairs = np.array([[0, 1], [0, 2]])
    expected = pair_similarity(found, pairs[:, 0], pairs[:, 1])
    assert np.array_equal(pair_similarity(mapped, pairs[:, 0], pairs[:, 1]), expected)


def test_rows_out_of_range_are_refused():
    rows = np.zeros((3, 4), np.uint32)
    with pytest.raises(IndexError) as error:
        pair_similarity(rows, np.array([0, 1]), np.array([1, 3]))
    assert str(error.value) == "pairs name rows 1 to 3, there are 3 rows"


def test_pairs_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="left has 1 rows and right 2"):
        pair_similarity(np.zeros((3, 4), np.uint32), np.array([0]), np.array([1, 2]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_perm": 0}, "num_perm must be at least 1, got 0"),
        ({"seed": -1}, "seed must be from 0 to 2**32 - 1, got -1"),
        ({"ngram": 0}, "ngram must be at least 1 word, got 0"),
        ({"words": "spacy"}, "words must be 'scripts' or 'unicode' or 'whitespace', got 'spacy'"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match="must be") as error:
        MinHash(**settings)
    assert str(error.value) == message
