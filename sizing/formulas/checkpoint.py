"""How large checkpoints are, how many are kept, and how fast one must be written."""

from sizing.formula import Formula


def checkpoint_bytes(*, params: float, bytes_per_param: float) -> float:
    """One checkpoint: weights and optimizer state of all parameters, active or not.

        parameters x bytes a parameter

    14 bytes are BF16 weights, FP32 master weights and Adam's two FP32 moments: 2 + 4 + 4 + 4.

    >>> checkpoint_bytes(params=405e9, bytes_per_param=14) / 1e12  # TB
    5.67
    """
    return params * bytes_per_param


def kept_checkpoint_bytes(
    *, checkpoint_bytes: float, keep_last: float, keep_forever: float
) -> float:
    """Checkpoints on storage at once.

        bytes of one x (the last ones kept to restart from + those never deleted)

    >>> kept_checkpoint_bytes(checkpoint_bytes=5e12, keep_last=3, keep_forever=1)
    20000000000000.0
    """
    return checkpoint_bytes * (keep_last + keep_forever)


def write_bytes_per_s(*, checkpoint_bytes: float, interval_s: float, stall_frac: float) -> float:
    """Rate at which storage must take a checkpoint that training waits for.

        bytes of one / (seconds between two x fraction of the time training may wait)

    >>> write_bytes_per_s(checkpoint_bytes=1.8e12, interval_s=1800, stall_frac=0.05) / 1e9  # GB/s
    20.0
    """
    return checkpoint_bytes / (interval_s * stall_frac)


CHECKPOINT_BYTES = Formula(
    function=checkpoint_bytes,
    equation="params x bytes_per_param",
    unit="bytes",
    source="MLPerf Storage, checkpointing; BLOOM's 2.3 TiB for 176 billion parameters",
)
KEPT_CHECKPOINT_BYTES = Formula(
    function=kept_checkpoint_bytes,
    equation="checkpoint_bytes x (keep_last + keep_forever)",
    unit="bytes",
    source="definition",
)
WRITE_BYTES_PER_S = Formula(
    function=write_bytes_per_s,
    equation="checkpoint_bytes / (interval_s x stall_frac)",
    unit="bytes/s",
    source="definition; written synchronously, all ranks at once",
)
