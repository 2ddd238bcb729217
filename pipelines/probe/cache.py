"""The page cache: it is emptied between runs, and its share of what was read is counted.

    /proc/self/io  read_bytes   bytes that a process had fetched from a disk
    logical bytes               bytes that its loader asked for

The counter does not see all storage: not a network's, another program's, or memory.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

LEAST_DEVICE_FRAC = 0.95
RAM_TIMES = 5  # that a dataset is larger than the host's memory: MLPerf Storage
_DISKS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"})
_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_FAR = frozenset(
    {"nfs", "nfs4", "lustre", "cifs", "smb3", "ceph", "9p", "virtiofs", "beegfs", "gpfs", "wekafs"}
)
_SPOTS, _SPOT_BYTES = 16, 256 * 1024


class Mount(NamedTuple):
    """fstype: of the file system.  at: where it is mounted."""

    fstype: str
    at: str


class Sight(NamedTuple):
    """Whether the counter sees the storage, else why not; is_memory: files lie in memory."""

    seen: bool
    why: str
    is_memory: bool = False


def evict(files: Iterable[Path]) -> None:
    """Drop the pages of the files from this host's cache, those that no process has mapped."""
    for path in files:
        with path.open("rb") as f:
            with contextlib.suppress(OSError):
                os.fsync(f.fileno())  # what is not yet on the device stays in the cache
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def device_bytes() -> int | None:
    """Bytes that this process had fetched from disks; None where the kernel does not tell."""
    try:
        with open("/proc/self/io", encoding="ascii") as f:
            lines = [line for line in f if line.startswith("read_bytes:")]
        return int(lines[0].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def fetched(before: int | None, after: int | None) -> int | None:
    """Bytes fetched between two answers of `device_bytes`; None where the kernel does not tell."""
    return None if before is None or after is None else after - before


def read_ahead_bytes(folder: Path) -> int | None:
    """How far the kernel reads ahead of what is asked for there; None where it does not tell."""
    number = folder.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    for path in (
        f"/sys/class/bdi/{device}/read_ahead_kb",
        f"/sys/dev/block/{device}/../queue/read_ahead_kb",  # of the disk that a partition is of
    ):
        with contextlib.suppress(OSError, ValueError):
            return 1024 * int(Path(path).read_text(encoding="ascii"))
    return None


def mount_of(path: Path, mountinfo: str | None = None) -> Mount:
    """The file system a path lies on; "unknown" where the kernel does not tell.

    mountinfo: text as in /proc/self/mountinfo, of this process without it.

    >>> mount_of(Path("/data/x"), "36 35 8:1 / /data rw - nfs4 server:/a rw")
    Mount(fstype='nfs4', at='/data')
    """
    if mountinfo is None:
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            mountinfo = ""
    best = Mount("unknown", "")
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        if len(left.split()) < 5 or not right:
            continue
        at = left.split()[4].replace("\\040", " ")
        if path.is_relative_to(at) and len(at) >= len(best.at):
            best = Mount(right.split()[0], at)
    return best


def sight(files: Sequence[Path], mount: Mount) -> Sight:
    """Whether device bytes count what is read of these files: by the mount, and by trying."""
    if mount.fstype in _MEMORY:
        why = f"{mount.at} is {mount.fstype}: what lies there lies in this host's memory"
        return Sight(False, why, is_memory=True)
    if mount.fstype in _FAR or mount.fstype.startswith("fuse"):
        why = f"{mount.at} is {mount.fstype}: what servers and clients cache is not told"
        return Sight(False, why)
    if device_bytes() is None:
        return Sight(False, "this kernel has no /proc/self/io")
    if mount.fstype in _DISKS or _counted(files):
        return Sight(True, "")
    return Sight(False, f"reads from {mount.at} ({mount.fstype}) move no counter of this process")


def _counted(files: Sequence[Path]) -> bool:
    """Whether reading what was just evicted moves the counter."""
    evict(files)
    before = device_bytes()
    for path in files[:_SPOTS]:
        with path.open("rb", buffering=0) as f:
            f.seek(path.stat().st_size // 2)
            f.read(_SPOT_BYTES)
    return (fetched(before, device_bytes()) or 0) > 0
