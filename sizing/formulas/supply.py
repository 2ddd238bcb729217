"""Whether storage is enough, by how much it is short, and how much of it would be enough."""

import math

from tokenmill.sizing.formula import formula, product, quotient

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
