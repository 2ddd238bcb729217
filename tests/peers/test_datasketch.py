"""Bit for bit what datasketch computes, and candidates that its index finds."""

import datasketch
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.same.labels import candidate_pairs
from tests.dedup.strategies import hard_documents
from tests.reference.shingle import shingle_hash, shingles
from tests.strategies import text_columns
from tokenmill.dedup.same.lsh import Bands, band_keys
from tokenmill.dedup.same.minhash import MinHash, signatures

configs = st.builds(
    MinHash,
    num_perm=st.integers(1, 130),
    seed=st.integers(0, 2**32 - 1),
    ngram=st.integers(1, 6),
    words=st.sampled_from(["unicode", "whitespace"]),
)


def by_datasketch(document, config):
    theirs = datasketch.MinHash(
        num_perm=config.num_perm, seed=config.seed, scheme="affine32", hashfunc=shingle_hash
    )
    theirs.update_batch(shingles(document, config.ngram, config.words))
    return theirs


def handed_out(signature, config):
    """A signature as datasketch's object."""
    return datasketch.MinHash(
        num_perm=config.num_perm,
        seed=config.seed,
        hashfunc=shingle_hash,
        hashvalues=signature,
        scheme="affine32",
    )


@given(text_columns(hard_documents), configs)
def test_signatures_equal_datasketch(text, config):
    for row, document in zip(signatures(text, config), text.to_pylist(), strict=True):
        assert np.array_equal(row, by_datasketch(document, config).hashvalues)


@given(hard_documents, hard_documents, configs)
def test_handed_out_signatures_go_on_as_datasketchs_own(document, more, config):
    x = handed_out(signatures(pa.array([document]), config)[0], config)
    y = by_datasketch(more, config)
    assert x == by_datasketch(document, config)
    assert x.jaccard(y) == np.mean(x.hashvalues == y.hashvalues)
    x.update_batch(shingles(more, config.ngram, config.words))
    y.merge(by_datasketch(document, config))
    assert x == y


@pytest.fixture(scope="module")
def corpus():
    """400 documents of 60 words in families that share from none to all of their words."""
    rng = np.random.default_rng(9)
    docs = []
    for family in range(40):
        base = rng.integers(0, 10**6, 60)
        for _ in range(10):
            changed = rng.random(60) < family / 400
            docs.append(" ".join(map(str, np.where(changed, rng.integers(0, 10**6, 60), base))))
    return pa.array(docs)


def test_candidates_are_those_of_a_minhash_lsh(corpus):
    config, bands = MinHash(ngram=2, num_perm=112), Bands(bands=14, rows=8)
    found = signatures(corpus, config)
    index = datasketch.MinHashLSH(num_perm=112, params=(bands.bands, bands.rows))
    theirs = [handed_out(row, config) for row in found]
    for row, minhash in enumerate(theirs):
        index.insert(row, minhash)
    expected = {
        (row, other)
        for row, minhash in enumerate(theirs)
        for other in index.query(minhash)
        if row < other
    }
    keys = band_keys(found, bands)
    ours = np.concatenate([candidate_pairs(column) for column in keys.T])
    assert 400 < len(expected) < 40 * 45, "neither all nor nothing"
    assert set(map(tuple, ours.tolist())) == expected
