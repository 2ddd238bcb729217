"""How documents compress within more of them, by the end of what comes before."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tokenmill.pipelines.measure import beside

WORDS = np.array([f"word{i}" for i in range(2_000)])


def batch_of(n, n_words, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, n_words)) for _ in range(n)]
    return pa.record_batch({"text": pa.array(texts, pa.large_string())})


@pytest.mark.parametrize(
    ("n", "n_words", "off"),
    [(400, 200, 0.002), (40, 2_000, 0.002), (60, 200, 0.05), (1, 60_000, 0.002)],
)
def test_a_piece_is_what_a_batch_adds_behind_its_like(n, n_words, off):
    batch = batch_of(n, n_words)
    before = batch_of(n, n_words, seed=1)
    added = beside._lz4(pa.concat_batches([before, batch])).size - beside._lz4(before).size
    assert beside.set_down(batch, is_piece=True) == pytest.approx(added, rel=off)


def test_what_comes_again_out_of_the_reach_of_lz4_is_as_large_as_before():
    """Versions of pages: the end of a piece is like its beginning, but does not stand before it."""
    once = batch_of(60, 200)  # 95 kB
    batch = pa.concat_batches([once] * 5)
    piece = batch.slice(0, 90)
    whole = beside._lz4(batch).size - beside._empty(batch)
    assert beside.set_down(piece, is_piece=True) == pytest.approx(whole * 90 / 300, rel=0.02)


@given(
    st.lists(st.lists(st.text(max_size=9), max_size=5), min_size=1, max_size=4),
    st.integers(0, 40),
    st.integers(1, 40),
)
def test_a_stretch_is_what_lies_between_two_bytes_but_for_characters_cut(texts, begin, length):
    batches = [pa.record_batch({"text": pa.array(of, pa.large_string())}) for of in texts]
    text = "".join(itertools.chain(*texts)).encode()
    stretch = text[begin : begin + length].decode(errors="ignore")
    assume(stretch)
    found = beside.cut(batches, begin, begin + length)
    found.validate(full=True)
    got = "".join(found["text"].to_pylist())
    assert stretch in got
    assert len(got) <= len(stretch) + 1
    assert all(found["text"].to_pylist()[i] for i in (0, -1))
