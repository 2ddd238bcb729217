"""What Bekman advises for a node of eight accelerators, and what batches take in memory."""

import pytest

from tokenmill.sizing.formulas.loaders import (
    batch_bytes,
    buffered_bytes,
    cores,
    decode_cores,
    decode_cpu_s,
    host_memory_bytes,
    node_samples_per_s,
    pinned_bytes,
    prefetched_bytes,
    workers,
)


@pytest.mark.parametrize(("of_one", "of_node", "needed_cores"), [(2, 16, 24), (3, 24, 32)])
def test_a_node_of_eight_has_16_to_24_workers_on_24_to_32_cores(of_one, of_node, needed_cores):
    got = workers(accelerators=8, workers_per_accelerator=of_one)
    assert got == of_node
    assert cores(workers=got, accelerators=8) == needed_cores


@pytest.mark.parametrize(
    ("samples_per_s", "of_node"), [(0.0, 16), (1119.0, 16), (1121.0, 17), (1190.0, 17), (3500, 50)]
)
def test_slow_samples_take_more_workers_none_busy_over_70_percent(samples_per_s, of_node):
    got = workers(
        accelerators=8, workers_per_accelerator=2, samples_per_s=samples_per_s, sample_cpu_s=0.01
    )
    assert got == of_node


def test_cores_that_decode_are_those_their_samples_take():
    """8,000 samples a second of 3 images each, 160 images a second on a core: 150 of them."""
    of_sample = decode_cpu_s(images_per_sample=3, images_per_core_s=160)
    assert decode_cores(images_per_s=24_000, images_per_core_s=160) == 150
    assert 8_000 * of_sample == 150


@pytest.mark.parametrize(("accelerators", "samples"), [(1024, 8.0), (8, 1024.0), (4, 1024.0)])
def test_samples_of_a_node(accelerators, samples):
    facts = {"tokens_per_s": 1024 * 8192.0, "tokens_per_sample": 8192, "per_node": 8}
    assert node_samples_per_s(accelerators=accelerators, **facts) == samples


def test_how_busy_workers_may_be_can_be_said():
    assert (
        workers(
            accelerators=1,
            workers_per_accelerator=1,
            samples_per_s=100.0,
            sample_cpu_s=0.1,
            busy_frac=1.0,
        )
        == 10
    )


def test_memory_of_a_node():
    batch = batch_bytes(batch_tokens=2**22, accelerators=1024, decoded_bytes_per_token=8)
    assert batch == 4096 * 8
    assert prefetched_bytes(workers=16, prefetch=3, batch_bytes=batch) == 48 * batch
    assert pinned_bytes(accelerators=8, batch_bytes=batch) == 16 * batch
    assert buffered_bytes(workers=16, buffer_sequences=3, sequence_bytes=32_768) == 48 * 32_768
    assert host_memory_bytes(a=1.5, b=2.5) == 4


def test_without_both_a_rate_and_a_time_samples_take_no_workers():
    assert workers(accelerators=1, workers_per_accelerator=1, samples_per_s=100.0) == 1
    assert workers(accelerators=1, workers_per_accelerator=1, sample_cpu_s=100.0) == 1
