"""How large checkpoints are, how many are kept, and how fast one must be written.

synchronous     training waits until storage has taken all of it
asynchronous    training waits until it is copied to host memory; storage takes it meanwhile
"""

import math

from tokenmill.sizing.formula import formula
from tokenmill.sizing.formulas.training import SECONDS_PER_DAY


@formula(
    unit="bytes", source="MLPerf Storage, checkpointing; BLOOM's 2.3 TiB for 176 billion parameters"
)
def checkpoint_bytes(*, params: float, bytes_per_param: float) -> float:
    """One checkpoint: weights and optimizer state of all parameters, active or not.

    14 bytes are BF16 weights, FP32 master weights and Adam's two FP32 moments: 2 + 4 + 4 + 4.

    >>> checkpoint_bytes(params=405e9, bytes_per_param=14) / 1e12  # TB
    5.67
    """
    return params * bytes_per_param


@formula(
    unit="bytes",
    source="each rank writes what it holds: PyTorch distributed checkpoints, MLPerf Storage",
)
def rank_checkpoint_bytes(*, checkpoint_bytes: float, accelerators: float) -> float:
    """The file that one rank writes, where each accelerator's rank writes its own.

    >>> rank_checkpoint_bytes(checkpoint_bytes=5.6e12, accelerators=16_000) / 1e6  # MB
    350.0
    """
    return checkpoint_bytes / accelerators


@formula(unit="bytes")
def node_checkpoint_bytes(
    *, checkpoint_bytes: float, accelerators: float, per_node: float
) -> float:
    """What one node writes of a checkpoint, or holds of it in host memory.

    >>> node_checkpoint_bytes(checkpoint_bytes=5.6e12, accelerators=16_000, per_node=8) / 1e9  # GB
    2.8
    """
    return checkpoint_bytes * min(per_node, accelerators) / accelerators


@formula(unit="checkpoints")
def periodic_checkpoints(*, training_days: float, keep_every_s: float) -> float:
    """Checkpoints kept for ever because their turn had come.

    >>> periodic_checkpoints(training_days=10.5, keep_every_s=86_400)
    10
    """
    return math.floor(training_days * SECONDS_PER_DAY / keep_every_s)


@formula(unit="bytes")
def kept_checkpoint_bytes(
    *,
    checkpoint_bytes: float,
    keep_last: float,
    keep_forever: float,
    periodic_checkpoints: float = 0.0,
) -> float:
    """Checkpoints on storage at the end of training.

    keep_last: to restart from.  keep_forever: never deleted.  periodic_checkpoints: kept because
    their turn had come.

    >>> kept_checkpoint_bytes(checkpoint_bytes=5e12, keep_last=3, keep_forever=1)
    20000000000000.0
    """
    return checkpoint_bytes * (keep_last + keep_forever + periodic_checkpoints)


@formula(unit="bytes/day")
def bytes_per_day(*, checkpoint_bytes: float, interval_s: float) -> float:
    """What checkpoints write in a day, whatever becomes of them.

    >>> bytes_per_day(checkpoint_bytes=1e12, interval_s=3 * 3600) / 1e12  # TB
    8.0
    """
    return checkpoint_bytes * SECONDS_PER_DAY / interval_s


@formula(unit="bytes/s", source="definition; written synchronously, all ranks at once")
def write_bytes_per_s(*, checkpoint_bytes: float, interval_s: float, stall_frac: float) -> float:
    """Rate at which storage must take a checkpoint that training waits for.

    >>> write_bytes_per_s(checkpoint_bytes=1.8e12, interval_s=1800, stall_frac=0.05) / 1e9  # GB/s
    20.0
    """
    return checkpoint_bytes / (interval_s * stall_frac)


@formula(unit="bytes/s", source="definition; written while training goes on, all ranks at once")
def drain_bytes_per_s(*, checkpoint_bytes: float, interval_s: float, drain_frac: float) -> float:
    """Rate at which storage must take a checkpoint while training goes on.

    At a fraction of 1 one is barely written when the next begins.

    >>> drain_bytes_per_s(checkpoint_bytes=1.8e12, interval_s=1800, drain_frac=0.1) / 1e9  # GB/s
    10.0
    """
    return checkpoint_bytes / (interval_s * drain_frac)


@formula(unit="bytes/s", source="definition; every rank writes its own part")
def node_write_bytes_per_s(
    *, write_bytes_per_s: float, accelerators: float, per_node: float
) -> float:
    """What one node writes each second while a checkpoint is written.

    >>> node_write_bytes_per_s(write_bytes_per_s=20e9, accelerators=1000, per_node=8) / 1e6  # MB/s
    160.0
    """
    return write_bytes_per_s * min(per_node, accelerators) / accelerators


@formula(unit="s")
def drain_interval_s(
    *, checkpoint_bytes: float, write_bytes_per_s: float, drain_frac: float
) -> float:
    """Shortest interval in whose fraction storage can take a checkpoint.

    >>> drain_interval_s(checkpoint_bytes=1.8e12, write_bytes_per_s=10e9, drain_frac=0.1)
    1800.0
    """
    return checkpoint_bytes / (write_bytes_per_s * drain_frac)


@formula(
    unit="s",
    equation="the longest of its inputs",
    source="one checkpoint is written before the next begins",
)
def longest_interval_s(**intervals_s: float) -> float:
    """The interval that was stated; or the optimal one, or a longer one that storage can follow.

    >>> longest_interval_s(optimal_interval_s=600.0, drain_interval_s=1800.0)
    1800.0
    """
    return max(intervals_s.values())


@formula(unit="s")
def write_s(*, checkpoint_bytes: float, write_bytes_per_s: float) -> float:
    """Seconds that storage takes for a checkpoint; training waits for them if synchronous.

    >>> write_s(checkpoint_bytes=5.68e12, write_bytes_per_s=50e9)
    113.6
    """
    return checkpoint_bytes / write_bytes_per_s


@formula(unit="bytes/s")
def written_bytes_per_s(*, checkpoint_bytes: float, write_s: float) -> float:
    """Rate at which a checkpoint was written in so many seconds.

    >>> written_bytes_per_s(checkpoint_bytes=2e12, write_s=40) / 1e9  # GB/s
    50.0
    """
    return checkpoint_bytes / write_s


@formula(unit="s", source="definition; every accelerator has a link of its own to its host")
def host_copy_s(*, rank_checkpoint_bytes: float, host_copy_bytes_per_s: float) -> float:
    """Seconds that training waits for an asynchronous checkpoint: all ranks copy at once.

    >>> host_copy_s(rank_checkpoint_bytes=5e9, host_copy_bytes_per_s=25e9)
    0.2
    """
    return rank_checkpoint_bytes / host_copy_bytes_per_s


@formula(unit="bytes")
def written_bytes(*, bytes_per_day: float, training_days: float) -> float:
    """Bytes of all checkpoints that are written, kept or not.

    >>> written_bytes(bytes_per_day=2e12, training_days=3.0) / 1e12  # TB
    6.0
    """
    return bytes_per_day * training_days
