"""How documents compress within more of them, by the end of what comes before."""

import numpy as np
import pyarrow as pa
import pytest

from tokenmill.pipelines.measure import beside

WORDS = np.array([f"word{i}" for i in range(2_000)])


def batch_of(n, n_words, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, n_words)) for _ in range(n)]
    return pa.record_batch({"text": pa.array(texts, pa.large_string())})


@pytest.mark.parametrize(("n", "n_words"), [(400, 200), (40, 2_000), (1, 60_000)])
def test_a_piece_is_what_a_batch_adds_behind_its_like(n, n_words):
    batch = batch_of(n, n_words)
    twice = pa.concat_batches([batch, batch])
    added = beside._lz4(twice).size - beside._lz4(batch).size
    assert beside.set_down(batch, is_piece=True) == pytest.approx(added, rel=0.002)


def test_a_piece_within_the_reach_of_lz4_is_not_given_itself():
    batch = batch_of(5, 100)
    alone = beside._lz4(batch).size - beside._empty(batch)
    assert beside.set_down(batch, is_piece=True) == alone
