"""How large checkpoints are, how many are kept, and how fast one must be written.

synchronous     training waits until storage has taken all of it
asynchronous    training waits until it is copied to host memory; storage takes it meanwhile
"""

import math

from tokenmill.sizing.formula import formula, greatest, of_node, product, quotient
from tokenmill.sizing.formulas.training import HOURS_PER_DAY, SECONDS_PER_DAY, SECONDS_PER_HOUR

# One checkpoint: weights and optimizer state of all parameters, active or not.
# 14 bytes are BF16 weights, FP32 master weights and Adam's two FP32 moments: 2 + 4 + 4 + 4.
checkpoint_bytes = product(
    "checkpoint_bytes",
    "params",
    "bytes_per_param",
    unit="bytes",
    source="MLPerf Storage, checkpointing; BLOOM's 2.3 TiB for 176 billion parameters",
)

# The file that one rank writes, where each accelerator's rank writes its own.
rank_checkpoint_bytes = quotient(
    "rank_checkpoint_bytes",
    "checkpoint_bytes",
    "accelerators",
    unit="bytes",
    source="each rank writes what it holds: PyTorch distributed checkpoints, MLPerf Storage",
)

# What one node writes of a checkpoint, or holds of it in host memory.
node_checkpoint_bytes = of_node("node_checkpoint_bytes", "checkpoint_bytes", unit="bytes")


@formula(unit="checkpoints")
def periodic_checkpoints(*, training_days: float, keep_every_s: float) -> float:
    """Checkpoints kept for ever because their turn had come.

    >>> periodic_checkpoints(training_days=10.5, keep_every_s=86_400)
    10
    """
    return math.floor(training_days * SECONDS_PER_DAY / keep_every_s)


# Checkpoints that a run writes, one at its end included; days in seconds as for the interval that
# is the whole run, of which rounding must make no second one.
written_checkpoints = quotient(
    "written_checkpoints",
    ("training_days", HOURS_PER_DAY, SECONDS_PER_HOUR),
    "interval_s",
    whole=True,
    unit="checkpoints",
)


@formula(
    unit="bytes",
    equation="checkpoint_bytes x (keep_last + keep_forever + periodic_checkpoints), of no more than"
    " written_checkpoints",
)
def kept_checkpoint_bytes(
    *,
    checkpoint_bytes: float,
    keep_last: float,
    keep_forever: float,
    periodic_checkpoints: float = 0.0,
    written_checkpoints: float = math.inf,
) -> float:
    """Checkpoints on storage at the end of training.

    keep_last: to restart from.  keep_forever: never deleted.  periodic_checkpoints: kept because
    their turn had come.

    >>> kept_checkpoint_bytes(checkpoint_bytes=5e12, keep_last=3, keep_forever=1)
    20000000000000.0
    """
    kept = keep_last + keep_forever + periodic_checkpoints
    return checkpoint_bytes * min(kept, written_checkpoints)


# What checkpoints write in a day, whatever becomes of them.
bytes_per_day = quotient(
    "bytes_per_day", ("checkpoint_bytes", SECONDS_PER_DAY), "interval_s", unit="bytes/day"
)

# Rate at which storage must take a checkpoint that training waits for.
write_bytes_per_s = quotient(
    "write_bytes_per_s",
    "checkpoint_bytes",
    ("interval_s", "stall_frac"),
    unit="bytes/s",
    source="definition; written synchronously, all ranks at once",
)

# Rate at which storage must take a checkpoint while training goes on.
# At a fraction of 1 one is barely written when the next begins.
drain_bytes_per_s = quotient(
    "drain_bytes_per_s",
    "checkpoint_bytes",
    ("interval_s", "drain_frac"),
    unit="bytes/s",
    source="definition; written while training goes on, all ranks at once",
)

# What one node writes each second while a checkpoint is written.
node_write_bytes_per_s = of_node(
    "node_write_bytes_per_s",
    "write_bytes_per_s",
    unit="bytes/s",
    source="definition; every rank writes its own part",
)

# Shortest interval in whose fraction storage can take a checkpoint.
drain_interval_s = quotient(
    "drain_interval_s", "checkpoint_bytes", ("write_bytes_per_s", "drain_frac"), unit="s"
)


# The interval that was stated; or the optimal one, or a longer one that storage can follow.
longest_interval_s = greatest(unit="s", source="one checkpoint is written before the next begins")

# Seconds that storage takes for a checkpoint; training waits for them if synchronous.
write_s = quotient("write_s", "checkpoint_bytes", "write_bytes_per_s", unit="s")

# Rate at which a checkpoint was written in so many seconds.
written_bytes_per_s = quotient("written_bytes_per_s", "checkpoint_bytes", "write_s", unit="bytes/s")

# Seconds that training waits for an asynchronous checkpoint: all ranks copy at once.
host_copy_s = quotient(
    "host_copy_s",
    "rank_checkpoint_bytes",
    "host_copy_bytes_per_s",
    unit="s",
    source="definition; every accelerator has a link of its own to its host",
)

# Bytes of all checkpoints that are written, kept or not.
written_bytes = product("written_bytes", "bytes_per_day", "training_days", unit="bytes")
