"""A restart that reads the weights once, or once for every replica, and imports its software."""

import pytest

from tests.sizing.sections.sheets import OF_405B, sheet, values


def test_the_405b_read_once_and_read_by_each_of_128_replicas():
    made = sheet(OF_405B)
    once, each = values(made, "restart read, whole job", "restart read without broadcast")
    assert once / 1e12 == pytest.approx(5.68, rel=0.001)
    assert each / 1e12 == pytest.approx(108.8, rel=0.001)
    rates = values(made, "restart read bandwidth", "restart read bandwidth without broadcast")
    assert rates == pytest.approx([once / 100, each / 100])


def test_without_broadcast_every_replica_reads():
    made = sheet(f"{OF_405B}\ncheckpoints: {{broadcast: false}}")
    each, once = values(made, "restart read, whole job", "restart read with broadcast")
    assert each / 1e12 == pytest.approx(108.8, rel=0.001)
    assert once / 1e12 == pytest.approx(5.68, rel=0.001)
    assert made["restart read bandwidth"].value == pytest.approx(each / 100)


def test_a_replica_a_node_unless_stated():
    made = sheet("")
    assert made["restart read without broadcast"].value == 8e9 * (2 * 128 + 12)


@pytest.mark.parametrize(
    ("recipe", "weights", "rest"),
    [
        ("recipe: fp32+adam", 4, 8),
        ("recipe: weights", 2, 0),
        ("bytes_per_param: 6", 2, 4),
        ("bytes_per_param: 1", 1, 0),
    ],
)
def test_replicas_need_the_weights_of_the_recipe(recipe, weights, rest):
    made = sheet(f"checkpoints: {{{recipe}}}")
    assert made["restart read without broadcast"].value == 8e9 * (weights * 128 + rest)


@pytest.mark.parametrize(("stated", "is_less"), [(0.1, True), (1.99, True), (2, False)])
def test_checkpoints_that_cannot_hold_the_weights_are_told(stated, is_less):
    made = sheet(f"checkpoints: {{bytes_per_param: {stated}}}")
    told = [w for w in made.warnings if f"checkpoints of {stated} bytes/parameter" in w]
    assert [w.endswith("reads these too, 16 GB, which is not counted") for w in told] == [
        True
    ] * is_less


@pytest.mark.parametrize(
    ("stated", "loading_s"),
    [
        ("", 540),  # 5 % of three hours
        ("mode: async", 600),  # of which storage has 18 minutes
        ("restart_load_frac: 0.1", 100),
        ("restart_s: 500", 50),
        ("{interval_s: 20 min, stall_frac: 1%}", 100),
        ("interval_s: 1 h, write_bytes_per_s: 1 MB/s", 180),  # that is too slow for it
        ("interval_s: 1 h, write_bytes_per_s: 9 GB/s", 180),
    ],
)
def test_a_seldom_restart_loads_no_faster_than_a_checkpoint_is_written(stated, loading_s):
    """8 H100 fail each 6,250 hours: 420 MB/s were to buy for reads, 78 MB/s for writes."""
    plan = "model: {params: 3B}\ncluster: {count: 8}\ncorpus: {tokens: 10B}"
    made = sheet(f"{plan}\ncheckpoints: {stated if '{' in stated else f'{{{stated}}}'}")
    assert made["restart read bandwidth"].value == pytest.approx(42e9 / loading_s)
    assert made["restart read bandwidth, one node"].value == pytest.approx(42e9 / loading_s)


@pytest.mark.parametrize(
    ("count", "loading_s"),
    [(16_384, 0.01 * 3600 * 50_000 / 16_384), (100_000, 100)],  # 100 s whatever it loses
)
def test_a_job_that_often_fails_loads_as_fast_however_long_its_checkpoints_may_take(
    count, loading_s
):
    """Ten minutes each three hours were told enough where storage takes 1 GB/s: 1.6 of 8.9."""
    plan = f"model: {{params: 70B}}\ncluster: {{count: {count}}}\ntraining: {{tokens: 15T}}"
    made = sheet(f"{plan}\ncheckpoints: {{mode: async, write_bytes_per_s: 1 GB/s}}")
    assert made["restart read bandwidth"].value == pytest.approx(980e9 / loading_s)


def test_a_restart_of_which_nothing_may_be_loading_has_no_rate():
    made = sheet("checkpoints: {restart_load_frac: 0}")
    assert "restart read bandwidth" not in made
    assert "restart read, whole job" in made


def test_storage_that_is_known_says_how_long_loading_takes():
    made = sheet(f"{OF_405B}\nstorage: {{read_bytes_per_s: 500 GB/s}}")
    assert made["restart read time"].value == pytest.approx(11.4, abs=0.05)
    assert not any("reading" in warning for warning in made.warnings)
    slow = sheet(f"{OF_405B}\nstorage: {{read_bytes_per_s: 4 GB/s}}")
    assert (
        "reading 5.68 TB to restart takes 23.7 minutes, a restart is planned to take 16.7 minutes"
        in slow.warnings
    )
    assert "restart read time" not in sheet("")


def test_a_storm_of_imports():
    made = sheet("imports: {files_per_process: 1000, metadata_ops_per_s: 10000}")
    assert values(made, "files opened at start", "import time") == [1_024_000, 102.4]
    assert not any("importing" in warning for warning in made.warnings)
    large = sheet(OF_405B)
    assert not large["import time"].verified
    assert any("importing software" in w and "109 minutes" in w for w in large.warnings)


def test_the_nodes_of_a_replica_read_its_weights_whoever_else_does():
    name = "restart read bandwidth, one node"
    node = sheet(OF_405B)[name]
    assert node.value == pytest.approx(405.7e9 * (2 / 16 + 12 / 2048) / 100)
    fits = sheet(OF_405B.replace("data_parallel: 128, ", ""))[name]  # 136, of 15 nodes and more
    assert fits.value == pytest.approx(405.7e9 * (2 / (2048 / 136) + 12 / 2048) / 100)
    unknown = "cluster: {accelerator: ours, dense_flops_per_s: 1e15, per_node: 8, count: 16}"
    alone = sheet(f"{unknown}\ncheckpoints: {{restart_load_frac: 0.1}}")[name]  # one replica a node
    assert alone.value == pytest.approx(8e9 * (2 / 1 + 12 / 2) / 100)
    assert name not in sheet("checkpoints: {restart_load_frac: 0.0}")
