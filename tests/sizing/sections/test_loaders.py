"""Workers, cores and memory of a node."""

import pytest

from tests.sizing.sections.sheets import sheet, values


def test_a_node_of_eight_has_16_workers_on_24_cores():
    made = sheet("")
    assert values(made, "loader workers, one node", "cores, one node") == [16, 24]
    few = sheet("cluster: {count: 4}\nloaders: {workers_per_accelerator: 3}")
    assert values(few, "loader workers, one node", "cores, one node") == [12, 16]


def test_samples_that_cost_more_take_more_workers():
    made = sheet("loaders: {sample_cpu_s: 2.5}")
    each_s = made["training rate"].value / 8192 / 128
    assert made["samples, one node"].value == pytest.approx(each_s)
    assert made["loader workers, one node"].value == int(each_s * 2.5 / 0.7) + 1
    assert "samples, one node" not in sheet("")


def test_samples_of_images_are_counted_rather_than_sequences():
    made = sheet("corpus: {tokens: 1T, image_text: {}}\nloaders: {sample_cpu_s: 0.05}")
    assert made["samples, one node"].value == pytest.approx(
        made["training rate"].value / 1124 / 128
    )


def test_more_cores_than_a_host_has_are_warned_of():
    made = sheet("loaders: {sample_cpu_s: 25}\ncluster: {host_cores: 64}")
    assert any("cores a node, cluster.host_cores is 64" in warning for warning in made.warnings)
    assert not any("cores a node" in warning for warning in sheet("").warnings)


def test_memory_of_a_host():
    made = sheet("training: {batch_tokens: 1024000}\ncluster: {host_memory: 1 TiB}")
    batch = 1000 * 8
    assert made["batch of one accelerator, decoded"].value == batch
    parts = values(
        made,
        "prefetched batches, one node",
        "pinned batches, one node",
        "shuffle buffers, one node",
    )
    assert parts == [16 * 2 * batch, 8 * 2 * batch, 16 * 1024 * 8192 * 4]
    assert made["host memory, one node"].value == sum(parts)


def test_an_asynchronous_checkpoint_waits_in_host_memory():
    plain, copied = sheet(""), sheet("checkpoints: {mode: async}")
    assert copied["host memory, one node"].value == (
        plain["host memory, one node"].value + copied["checkpoint of one node"].value
    )


def test_images_are_decoded_into_far_more_than_they_are_stored_in():
    made = sheet("corpus: {tokens: 1T, image_text: {}}")
    assert made["batch of one accelerator, decoded"].value == 4096 * 14 * 14 * 3 * 4
    assert not made["batch of one accelerator, decoded"].verified
    assert sheet("")["batch of one accelerator, decoded"].verified


def test_more_memory_than_a_host_has_is_warned_of():
    assert not sheet("storage: {page_cache_frac: 1}").warnings  # what is left over is no need
    made = sheet("loaders: {buffer_sequences: 10000000}")
    assert any("GiB a node" in w or "TiB a node" in w for w in made.warnings)
    assert not any("host_memory" in warning for warning in sheet("").warnings)
