"""The checkpoint phase: the ranks of a node write at once, alone and while training reads."""

import contextlib
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.checkpoint import CheckpointFile, Written
from tokenmill.pipelines.probe.demand import Demand
from tokenmill.pipelines.probe.team import Run, Team
from tokenmill.pipelines.probe.worker import Train
from tokenmill.sizing.units import format_bytes

MOST_BYTES = 1_000_000_000  # written of a node's checkpoint unless more is asked for
ROOM = 1.1


@dataclass(frozen=True, kw_only=True)
class CheckpointRates:
    """n_bytes: of all ranks together.  device_frac: of reading back, as of training.

    write_bytes_per_s: until the last rank's fsync returned.
    """

    n_bytes: int
    ranks: int
    write_bytes_per_s: float
    read_bytes_per_s: float
    device_frac: float | None
    verified: bool


@contextlib.contextmanager
def node_files(
    folder: Path, wanted: Demand, *, ranks: int, n_bytes: int | None, seed: int
) -> Iterator[list[CheckpointFile]]:
    """A file for each rank: the node's checkpoint, or 1 GB of it unless more is asked for.

    Whatever a rank left, as one that was killed, is deleted at the end; so is the folder where
    it was made for this.

    Raises:
        ConfigError: the folder cannot be written, or has no room.
    """
    total = int(min(wanted.checkpoint_bytes, MOST_BYTES if n_bytes is None else n_bytes))
    name, is_new = f".tokenmill-probe-{uuid.uuid4().hex}", not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / name
        trial.touch()
        trial.unlink()
    except OSError as e:
        raise ConfigError(
            f"{folder}: checkpoints cannot be written there ({e.strerror}); choose another"
            " --checkpoint"
        ) from e
    try:
        _check_room(folder, total)
        each = max(1, total // ranks)
        yield [
            CheckpointFile(folder=folder, name=name, n_bytes=each, rank=rank, seed=seed)
            for rank in range(ranks)
        ]
    finally:
        with contextlib.suppress(OSError):
            for left in folder.glob(f"{name}*"):
                left.unlink(missing_ok=True)
            if is_new:
                folder.rmdir()  # unless something else has come into it


def _check_room(folder: Path, total: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < ROOM * total:
        raise ConfigError(
            f"{folder}: {format_bytes(free)} are free, checkpoints of {format_bytes(total)} are to"
            " be written; give a smaller --checkpoint-bytes"
        )


def rates(written: Sequence[Written], each: int, *, seen: bool) -> CheckpointRates:
    """Of all ranks: the slowest decides.

    each: bytes of one rank's file.  seen: whether device bytes count what is read of them.
    """
    total, read_back = sum(w.n_bytes for w in written), each * len(written)
    devices = [w.device_bytes for w in written if w.device_bytes is not None]
    return CheckpointRates(
        n_bytes=read_back,
        ranks=len(written),
        write_bytes_per_s=total / max(w.write_s for w in written),
        read_bytes_per_s=read_back / max(w.read_s for w in written),
        device_frac=sum(devices) / read_back if seen and len(devices) == len(written) else None,
        verified=all(w.verified for w in written),
    )


def while_training(
    team: Team,
    orders: Sequence[Train],
    files: Sequence[CheckpointFile],
    *,
    steps: int,
    most_s: float,
    seen: bool,
) -> tuple[Run, CheckpointRates]:
    """Training and checkpoints at once: files are written again until training has ended.

    seen: as of `rates`.
    """
    until = files[0].folder / f"{files[0].name}-until"
    repeated = [CheckpointFile(**{**vars(file), "until": until}) for file in files]
    try:
        with team.writing(repeated, after=len(orders)) as written:
            try:
                run = team.train(orders, steps=steps, most_s=most_s)
            finally:
                until.touch()
    finally:
        until.unlink(missing_ok=True)
    return run, rates(written, files[0].n_bytes, seen=seen)
