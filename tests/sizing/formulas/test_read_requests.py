"""Requests of samples that are read one by one, beside those of sequences."""

import io
import random
import tarfile

import pytest

from tokenmill.sizing.formulas.bandwidth import sequence_bytes, sequence_reads_per_s
from tokenmill.sizing.formulas.read_requests import (
    batch_reads_per_s,
    mean_useful_bytes_per_read,
    sample_reads_per_s,
    tar_reads_per_s,
    tar_sample_bytes,
    total_reads_per_s,
)

RATE_8B = 1024 * 989e12 * 0.4 / (6 * 8e9)  # tokens/s of 1,024 H100


def test_captioned_photographs_of_an_8b_model():
    got = sample_reads_per_s(tokens_per_s=RATE_8B, sample_tokens=1124)
    assert got == pytest.approx(7508, abs=1)


def test_record_batches_and_tars_of_the_same_photographs():
    sample = {"tokens_per_s": RATE_8B, "sample_tokens": 1124}
    alone = sample_reads_per_s(**sample)
    assert batch_reads_per_s(**sample, batch_samples=1) == alone
    assert batch_reads_per_s(**sample, batch_samples=64) == pytest.approx(alone / 64)
    in_tar = tar_sample_bytes(sample_bytes=250_400, images_per_sample=1)
    one = tar_reads_per_s(**sample, tar_sample_bytes=in_tar, request_bytes=in_tar)
    assert one == pytest.approx(alone)
    many = tar_reads_per_s(**sample, tar_sample_bytes=in_tar, request_bytes=256 * in_tar)
    assert many == pytest.approx(alone / 256)


def test_a_tar_is_as_large_as_tarfile_makes_it():
    """Over contents of all lengths in a block, a member takes 768 bytes more on average."""
    rng, samples, total = random.Random(1), 300, 0
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(samples):
            for ending in ("jpg", "txt", "json"):
                data = bytes(rng.randrange(1, 5000))
                member = tarfile.TarInfo(f"{number}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
                total += len(data)
    told = tar_sample_bytes(sample_bytes=total / samples, images_per_sample=1)
    assert told == pytest.approx(len(out.getvalue()) / samples, rel=0.01)


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
