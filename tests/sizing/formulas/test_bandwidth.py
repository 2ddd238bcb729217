"""Read rates against a table of published models, at 40 % of H100's dense BF16 peak."""

import io
import math
import random
import tarfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.sizing.formulas.bandwidth import (
    HDD_READS_PER_S,
    NVME_READS_PER_S,
    accelerator_read_bytes_per_s,
    batch_reads_per_s,
    cached_frac,
    drives_for_reads,
    mean_useful_bytes_per_read,
    node_read_bytes_per_s,
    nodes,
    page_cache_bytes,
    read_amplification,
    read_bytes_per_s,
    sample_reads_per_s,
    sequence_bytes,
    sequence_reads_per_s,
    tar_reads_per_s,
    tar_sample_bytes,
    total_reads_per_s,
    uncached_bytes_per_s,
    useful_bytes_per_read,
)
from tokenmill.sizing.formulas.training import tokens_per_s


def rate_of(params, accelerators):
    return tokens_per_s(
        accelerators=accelerators,
        dense_flops_per_s=989e12,
        mfu=0.4,
        train_flops_per_token=6 * params,
    )


@pytest.mark.parametrize(
    ("params", "accelerators", "int32_mb_per_s", "reads_2048", "reads_8192"),
    [
        (405e9, 16_384, 10.7, 1302, 326),
        (70e9, 1024, 3.9, 471, 118),
        (8e9, 1024, 33.8, 4121, 1030),
        (1e9, 1024, 270, 32_967, 8242),
    ],
)
def test_text_reads_of_published_models(
    params, accelerators, int32_mb_per_s, reads_2048, reads_8192
):
    rate = rate_of(params, accelerators)
    read = read_bytes_per_s(tokens_per_s=rate, stored_bytes_per_token=4, read_amplification=1)
    assert read / 1e6 == pytest.approx(int32_mb_per_s, rel=0.02)
    for seq_len, reads in [(2048, reads_2048), (8192, reads_8192)]:
        got = sequence_reads_per_s(tokens_per_s=rate, seq_len=seq_len)
        assert got == pytest.approx(reads, abs=0.51)


def test_sequences_read_in_runs_need_fewer_reads():
    one = sequence_reads_per_s(tokens_per_s=1e6, seq_len=1000)
    runs = sequence_reads_per_s(tokens_per_s=1e6, seq_len=1000, sequences_per_read=8)
    assert (one, runs) == (1000, 125)


def test_amplification_multiplies():
    """A shuffle through a memory map reads 14 bytes for one: 1.4 GB/s for 100 MB/s."""
    read = read_bytes_per_s(tokens_per_s=50e6, stored_bytes_per_token=2.0, read_amplification=14)
    assert read == 1.4e9


@pytest.mark.parametrize(
    ("wasted", "amplification", "measured"),
    [
        (51_600, 1.0, 13.6),  # memory-mapped rows at random, read-ahead as it comes
        (54_100, 1.0, 14.2),
        (3_600, 1.0, 1.88),  # the same with MADV_RANDOM: the page of each end
        (0, 1.23, 1.23),  # record batches in order
        (0, 1.30, 1.30),
    ],
)
def test_measured_amplification_of_rows_of_4_kib(wasted, amplification, measured):
    got = read_amplification(
        useful_bytes_per_read=4096, wasted_bytes_per_read=wasted, amplification=amplification
    )
    assert got == pytest.approx(measured, rel=0.002)


def test_waste_counts_less_the_more_a_read_fetches():
    small, large = (
        read_amplification(useful_bytes_per_read=n, wasted_bytes_per_read=53_000, amplification=1.0)
        for n in (4096, 4_194_304)
    )
    assert small == pytest.approx(13.9, abs=0.05)
    assert large == pytest.approx(1.0126, abs=1e-4)


def test_without_a_proportion_only_waste_counts():
    assert read_amplification(useful_bytes_per_read=1000, wasted_bytes_per_read=500) == 1.5


def test_waste_and_proportion_multiply():
    got = read_amplification(
        useful_bytes_per_read=1000, wasted_bytes_per_read=500, amplification=1.2
    )
    assert got == pytest.approx(1.8)


def test_nodes_share_the_read_and_a_small_job_has_only_one():
    share = node_read_bytes_per_s(read_bytes_per_s=64e6, accelerators=64, per_node=8)
    assert share == 8e6
    assert node_read_bytes_per_s(read_bytes_per_s=64e6, accelerators=2, per_node=8) == 64e6
    assert accelerator_read_bytes_per_s(read_bytes_per_s=64e6, accelerators=64) == 1e6


@pytest.mark.parametrize(("accelerators", "n"), [(1, 1), (8, 1), (9, 2), (16_384, 2048)])
def test_a_node_begun_is_a_node(accelerators, n):
    assert nodes(accelerators=accelerators, per_node=8) == n


def test_a_sequence_of_8192_int32_tokens_is_32_kib():
    one = sequence_bytes(seq_len=8192, stored_bytes_per_token=4)
    assert one == 32 * 1024
    assert useful_bytes_per_read(sequence_bytes=one, sequences_per_read=4) == 128 * 1024


def shuffled_epochs(nodes, epochs, sequences, held, *, seed):
    """The share of reads that node 0 finds in memory, which drops what was longest unused."""
    draw = random.Random(seed)
    memory, hits, reads = {}, 0, 0
    for _ in range(epochs):
        order = list(range(sequences))
        draw.shuffle(order)
        for sequence in order[::nodes]:
            reads += 1
            hits += memory.pop(sequence, 0)
            memory[sequence] = 1
            if len(memory) > held:
                del memory[next(iter(memory))]
    return hits / reads


@pytest.mark.parametrize(("nodes", "epochs"), [(1, 3), (2, 4), (8, 6)])
def test_with_memory_for_all_the_cached_share_is_what_was_seen_before(nodes, epochs):
    bound = cached_frac(dataset_bytes=1.0, page_cache_bytes=1.0, nodes=nodes, epochs=epochs)
    seen = shuffled_epochs(nodes, epochs, 40_000, 40_000, seed=nodes)
    assert seen == pytest.approx(bound, abs=0.01)


@pytest.mark.parametrize(("nodes", "held"), [(1, 0.25), (1, 0.9), (4, 0.25), (16, 0.1)])
def test_with_less_memory_it_is_a_bound(nodes, held):
    bound = cached_frac(dataset_bytes=4.0, page_cache_bytes=4 * held, nodes=nodes, epochs=8)
    found = shuffled_epochs(nodes, 8, 20_000, int(20_000 * held), seed=nodes)
    assert found <= bound * 1.01
    assert bound <= held


def test_the_first_epoch_is_never_cached_and_a_begun_one_counts_by_its_share():
    def share(epochs):
        return cached_frac(dataset_bytes=1.0, page_cache_bytes=0.5, nodes=1, epochs=epochs)

    assert share(0.3) == share(1.0) == 0.0
    assert share(1.5) == pytest.approx(0.5 * 0.5 / 1.5)
    assert share(2.0) == pytest.approx(0.25)
    assert uncached_bytes_per_s(read_bytes_per_s=100.0, cached_frac=share(2.0)) == 75.0


def epoch_by_epoch(*, held, nodes, epochs):
    """The mean over epochs as its definition has it."""
    cached = 0.0
    for earlier in range(1, math.ceil(epochs)):
        seen = 1 - (1 - 1 / nodes) ** earlier
        cached += min(held, seen) * min(epochs - earlier, 1.0)
    return cached / epochs


@given(
    held=st.floats(0, 3),
    nodes=st.one_of(st.integers(1, 20), st.integers(1, 10**6)),
    epochs=st.floats(0.01, 300),
)
@example(held=1.0, nodes=1, epochs=2.5)
@example(held=1.0, nodes=4, epochs=50.0)
@example(held=0.5, nodes=2, epochs=3.0)
@example(held=0.75, nodes=2, epochs=2.5)
@example(held=0.0, nodes=7, epochs=9.0)
def test_the_sum_in_closed_form_is_that_of_a_loop(held, nodes, epochs):
    got = cached_frac(dataset_bytes=1.0, page_cache_bytes=held, nodes=nodes, epochs=epochs)
    assert got == pytest.approx(epoch_by_epoch(held=held, nodes=nodes, epochs=epochs), abs=1e-9)
    assert 0 <= got <= 1


@pytest.mark.parametrize("nodes", [1, 128, 10**9, 10**18])
@pytest.mark.parametrize("held", [0.25, 1.0, 2.0])
def test_any_number_of_epochs_and_nodes_takes_no_time(nodes, held):
    got = cached_frac(dataset_bytes=1.0, page_cache_bytes=held, nodes=nodes, epochs=1e12)
    if nodes < 10**6:
        assert got == pytest.approx(min(held, 1.0))
    assert 0 <= got <= min(held, 1.0)
    few = cached_frac(dataset_bytes=1.0, page_cache_bytes=held, nodes=nodes, epochs=3)
    assert 0 <= few <= got


def test_what_hardly_any_node_has_seen_is_no_less_than_nothing():
    got = cached_frac(
        dataset_bytes=1.0,
        page_cache_bytes=0.7635140281131412,
        nodes=484166474572598,
        epochs=1.023285224125122,
    )
    assert got == 0.0


def test_drives_for_a_shuffle():
    reads = sequence_reads_per_s(tokens_per_s=rate_of(1e9, 1024), seq_len=2048)
    assert drives_for_reads(reads_per_s=reads, drive_reads_per_s=HDD_READS_PER_S) == 220
    assert drives_for_reads(reads_per_s=reads, drive_reads_per_s=NVME_READS_PER_S) == 1
    assert drives_for_reads(reads_per_s=500_001, drive_reads_per_s=NVME_READS_PER_S) == 2
    assert drives_for_reads(reads_per_s=300.0, drive_reads_per_s=150.0) == 2


def test_page_cache_is_a_share_of_memory():
    assert page_cache_bytes(host_memory_bytes=2.0e12, page_cache_frac=0.25) == 0.5e12


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
