"""What several jobs ask of one storage at once, and a fast pool before a slower store."""

from tokenmill.sizing.formula import formula, product, quotient, total
from tokenmill.sizing.formulas.training import SECONDS_PER_DAY, SECONDS_PER_HOUR

# of all jobs at the same time
together = total(unit="bytes/s", source="definition; all of it at the same time")

# Mean rate of what is written in a day.
mean_write_bytes_per_s = quotient(
    "mean_write_bytes_per_s", "bytes_per_day", SECONDS_PER_DAY, unit="bytes/s"
)

# What training reads in so many seconds, and a fast pool has ready.
window_bytes = product("window_bytes", "read_bytes_per_s", "window_s", unit="bytes")


@formula(unit="s")
def window_s(*, pool_bytes: float, checkpoint_bytes: float, read_bytes_per_s: float) -> float:
    """Seconds of training that a pool has ready, beside its checkpoints.

    >>> window_s(pool_bytes=3e12, checkpoint_bytes=1e12, read_bytes_per_s=2e9)
    1000.0
    """
    return max(0.0, pool_bytes - checkpoint_bytes) / read_bytes_per_s


@formula(
    unit="fraction", equation="(pool_bytes - checkpoint_bytes) / dataset_bytes, within 0 and 1"
)
def hot_share(*, pool_bytes: float, checkpoint_bytes: float, dataset_bytes: float) -> float:
    """Share of the dataset that a fast pool holds beside the checkpoints.

    >>> hot_share(pool_bytes=3e12, checkpoint_bytes=1e12, dataset_bytes=8e12)
    0.25
    """
    return min(1.0, max(0.0, (pool_bytes - checkpoint_bytes) / dataset_bytes))


@formula(unit="bytes/s", source="definition; reads are at random, what is hot stays hot")
def cold_read_bytes_per_s(*, read_bytes_per_s: float, hot_share: float) -> float:
    """Rate at which the store behind a pool is read, where part of the dataset stays in the pool.

    >>> cold_read_bytes_per_s(read_bytes_per_s=2e9, hot_share=0.25)
    1500000000.0
    """
    return read_bytes_per_s * (1 - hot_share)


# Hours until a pool is filled from the store behind it.
staging_hours = quotient(
    "staging_hours", "staged_bytes", ("cold_bytes_per_s", SECONDS_PER_HOUR), unit="hours"
)

# Of the dataset, what a pool is filled with.
staged_bytes = product("staged_bytes", "dataset_bytes", "share", unit="bytes")
