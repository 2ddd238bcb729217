"""The page cache on this machine's disk, and storage that no counter sees."""

import mmap
from pathlib import Path

import pytest

from tokenmill.pipelines.probe.cache import (
    Mount,
    device_bytes,
    evict,
    mount_of,
    read_ahead_bytes,
    sight,
)

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:30 / /data rw - nfs4 server:/a rw
41 27 0:31 / /data/my\\040fast rw - lustre mgs@tcp:/b rw
42 27 0:32 / /data/five - xfs /dev/x rw
43 27 0:33 / - ext4 /dev/x rw
garbage
"""


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/data/set", Mount("nfs4", "/data")),
        ("/data/five/set", Mount("xfs", "/data/five")),
        ("/data/my fast/set", Mount("lustre", "/data/my fast")),
        ("/database", Mount("ext4", "/")),
        ("/proc/self", Mount("proc", "/proc")),
    ],
)
def test_the_mount_of_a_path(path, mount):
    assert mount_of(Path(path), MOUNTS) == mount


def test_a_kernel_that_tells_nothing():
    assert mount_of(Path("/data"), "") == Mount("unknown", "")


@pytest.mark.parametrize("fstype", ["nfs", "nfs4", "lustre", "fuse", "fuse.s3fs", "ceph", "9p"])
def test_servers_and_their_caches_cannot_be_seen(fstype):
    got = sight([], Mount(fstype, "/data"))
    assert not got.seen
    assert got.why == f"/data is {fstype}: what servers and clients cache is not told"


def test_a_file_system_in_memory_cannot_be_seen():
    got = sight([], Mount("tmpfs", "/tmp"))
    assert got.is_memory
    assert "what lies there lies in this host's memory" in got.why


def test_how_far_the_kernel_reads_ahead(disk):
    told = read_ahead_bytes(disk)
    assert told is None or told % 1024 == 0
    assert read_ahead_bytes(Path("/proc")) is None


def test_one_of_an_unknown_kind_is_tried(disk):
    path = disk / "file"
    path.write_bytes(bytes(1_000_000))
    with path.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as held:
        bytes(held)  # mapped pages stay: nothing is read from the disk
        got = sight([path], Mount("overlay", "/"))
        assert not got.seen
        assert got.why == "reads from / (overlay) move no counter of this process"


def test_what_was_evicted_comes_from_the_device(disk):
    path = disk / "file"
    path.write_bytes(bytes(4_000_000))  # not synced: eviction does it
    evict([path])
    before = device_bytes()
    path.read_bytes()
    cold = device_bytes() - before
    path.read_bytes()
    assert cold >= 4_000_000
    assert device_bytes() - before - cold < 1_000_000
