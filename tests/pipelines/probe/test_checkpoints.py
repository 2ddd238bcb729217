"""One rank's file: written, evicted, read back, verified, gone."""

import resource

import pytest

from tests.pipelines.probe.test_demand import made
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.checkpoints import CheckpointFile, node_files, rates


def a_file(folder, n_bytes=10_000_000, kind=CheckpointFile):
    return kind(folder=folder, name=".trial", n_bytes=n_bytes, rank=0, seed=1)


@pytest.mark.parametrize("n_bytes", [1, 4 * 1024**2 - 1, 25_000_000])
def test_what_was_written_is_read_back(tmp_path, n_bytes):
    got = a_file(tmp_path, n_bytes).run()
    assert got.verified
    assert got.n_bytes == n_bytes
    assert got.write_s > 0 < got.read_s
    assert list(tmp_path.iterdir()) == []


def test_reading_back_is_from_the_device(disk):
    (disk / "trial").unlink()
    got = a_file(disk).run()
    assert got.device_bytes >= 0.95 * got.n_bytes


class Torn(CheckpointFile):
    """Storage that loses a byte."""

    def _write(self, path, blocks):
        digest = super()._write(path, blocks)
        with path.open("r+b") as f:
            f.seek(self.n_bytes // 2)
            lost = f.read(1)
            f.seek(self.n_bytes // 2)
            f.write(bytes([lost[0] ^ 1]))
        return digest


def test_one_wrong_bit_is_seen(tmp_path):
    got = a_file(tmp_path, kind=Torn).run()
    assert not got.verified
    assert not rates([got], got.n_bytes, seen=True).verified


@pytest.mark.parametrize(("seen", "known"), [(True, True), (False, False)])
def test_storage_that_no_counter_sees_has_an_unknown_share(disk, seen, known):
    got = a_file(disk, 1000).run()
    assert (rates([got], got.n_bytes, seen=seen).device_frac is not None) == known


def test_nothing_is_left_behind_a_failure(tmp_path):
    with pytest.raises(ConfigError) as e:
        a_file(tmp_path / "none").run()
    assert str(e.value) == (
        f"{tmp_path}/none: a checkpoint of 10 MB a rank cannot be written and read back (No such"
        " file or directory); give a smaller --checkpoint-bytes, or another --checkpoint"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_is_told(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        with pytest.raises(ConfigError, match=r"cannot be written and read back \(File too large"):
            a_file(tmp_path).run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_what_a_rank_left_is_deleted_and_nothing_else(tmp_path):
    (tmp_path / "mine").touch()
    with node_files(tmp_path, made(), ranks=2, n_bytes=10, seed=0) as files:
        (tmp_path / f"{files[0].name}-0").touch()
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]
    with node_files(tmp_path / "new", made(), ranks=1, n_bytes=10, seed=0) as files:
        (tmp_path / "new" / f"{files[0].name}-0").touch()
    assert not (tmp_path / "new").exists()


def test_a_nodes_checkpoint_is_cut_to_what_was_asked_for(tmp_path):
    wanted = made(checkpoint_bytes=8e9)
    for n_bytes, each in ((None, 250_000_000), (1000, 250)):
        with node_files(tmp_path / "new", wanted, ranks=4, n_bytes=n_bytes, seed=0) as files:
            assert [f.n_bytes for f in files] == [each] * 4
    with node_files(tmp_path, made(checkpoint_bytes=100), ranks=4, n_bytes=None, seed=0) as few:
        assert {f.n_bytes for f in few} == {25}


def test_a_read_only_target(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "below", tmp_path / "file"):
        with (
            pytest.raises(ConfigError, match="checkpoints cannot be written there"),
            node_files(folder, made(), ranks=1, n_bytes=None, seed=0),
        ):
            pass


def test_a_target_without_room(tmp_path):
    wanted = made(checkpoint_bytes=1e18)
    with (
        pytest.raises(ConfigError, match="are free, checkpoints of 1 EB are to be written"),
        node_files(tmp_path / "new", wanted, ranks=1, n_bytes=10**18, seed=0),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
