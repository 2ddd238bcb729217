"""What jobs ask of one storage together, of a pool before a slower store, and what is enough."""

import math

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


TIB = 1024**4  # in which file systems are provisioned


# How many times what is offered is needed, both in one unit; up to 1 it is enough.
shortfall = quotient("shortfall", "needed", "offered", unit="ratio")

# Bytes/s, or requests/s, of storage that is provisioned by capacity.
offered_by_capacity = quotient(
    "offered_by_capacity",
    ("bought_bytes", "of_tib"),
    TIB,
    unit="bytes/s",
    equation="bought_bytes / 2^40 x of_tib",
    source="file systems in clouds are provisioned by the TiB",
)


@formula(
    unit="bytes",
    equation="usable_bytes, up to whole step_bytes where they are told, at least least_bytes of"
    " each of its instances, 1 where none are told",
)
def bought_bytes(
    *, usable_bytes: float, least_bytes: float = 0, step_bytes: float = 0, instances: float = 1
) -> float:
    """Capacity that is bought of a tier of which there is a least, or steps.

    The least need not be a whole step. step_bytes: 0 where any size is sold.

    >>> bought_bytes(usable_bytes=1e12, least_bytes=9.6e12)
    9600000000000.0
    >>> [bought_bytes(usable_bytes=n, least_bytes=1.2, step_bytes=2.4) for n in (1, 2, 4)]
    [1.2, 2.4, 4.8]
    """
    least = instances * least_bytes
    if usable_bytes <= least:
        return least
    return math.ceil(usable_bytes / step_bytes) * step_bytes if step_bytes else usable_bytes


# Bytes/s that the drives of a file system take while its clients write.
# Parity and copies are written too; reads touch one copy.
raw_write_bytes_per_s = product(
    "raw_write_bytes_per_s",
    "write_bytes_per_s",
    "redundancy",
    unit="bytes/s",
    source="definition: parity and copies are written too, in whole stripes",
)

# Bytes/s, or requests/s, of drives or of groups of nodes.
offered_together = product("offered_together", "units", "of_one", unit="bytes/s")

# Capacity to buy for its bytes/s, or requests/s, whatever is stored.
capacity_needed_bytes = quotient(
    "capacity_needed_bytes",
    ("needed", TIB),
    "of_tib",
    unit="bytes",
    equation="needed / of_tib x 2^40",
    source="file systems in clouds are provisioned by the TiB",
)


# Clients, drives or prefixes that together give what is needed, both in one unit.
units_needed = quotient("units_needed", "needed", "of_one", whole=True, unit="units")
