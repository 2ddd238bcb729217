"""Requests of samples that are read one by one, beside those of sequences."""

import pytest

from sizing.formulas.bandwidth import sequence_bytes, sequence_reads_per_s
from sizing.formulas.read_requests import (
    mean_useful_bytes_per_read,
    sample_reads_per_s,
    total_reads_per_s,
)

RATE_8B = 1024 * 989e12 * 0.4 / (6 * 8e9)  # tokens/s of 1,024 H100


def test_captioned_photographs_of_an_8b_model():
    got = sample_reads_per_s(tokens_per_s=RATE_8B, sample_tokens=1124)
    assert got == pytest.approx(7508, abs=1)


def test_sources_add_up():
    assert total_reads_per_s(web=3.0, code=4.0, photos=5.0) == 12.0
    assert total_reads_per_s(web=3.0) == 3.0


def test_the_mean_read_of_one_kind_is_that_kind():
    photos = sample_reads_per_s(tokens_per_s=RATE_8B, sample_tokens=1124)
    got = mean_useful_bytes_per_read(
        tokens_per_s=RATE_8B, stored_bytes_per_token=250_400 / 1124, reads_per_s=photos
    )
    assert got == pytest.approx(250_400)
    text = sequence_reads_per_s(tokens_per_s=RATE_8B, seq_len=8192)
    got = mean_useful_bytes_per_read(
        tokens_per_s=RATE_8B, stored_bytes_per_token=4, reads_per_s=text
    )
    assert got == pytest.approx(sequence_bytes(seq_len=8192, stored_bytes_per_token=4))
