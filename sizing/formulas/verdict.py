"""Whether storage is enough, by how much it is short, and how much of it would be enough."""

import math

from tokenmill.sizing.formula import Formula

TIB = 1024**4  # in which file systems are provisioned


def shortfall(*, needed: float, offered: float) -> float:
    """How many times what is offered is needed, both in one unit; up to 1 it is enough.

        needed / offered

    >>> round(shortfall(needed=26e9, offered=3e9), 1)
    8.7
    """
    return needed / offered


def offered_by_capacity(*, bought_bytes: float, of_tib: float) -> float:
    """Bytes/s, or requests/s, of storage that is provisioned by capacity.

        bytes bought / 2^40 x what each TiB gives

    >>> offered_by_capacity(bought_bytes=20 * 2**40, of_tib=500e6) / 1e9  # GB/s
    10.0
    """
    return bought_bytes / TIB * of_tib


def bought_bytes(
    *, usable_bytes: float, least_bytes: float = 0, step_bytes: float = 0, instances: float = 1
) -> float:
    """Capacity that is bought of a tier of which there is a least, or steps.

        the more of what is needed, in whole steps, and instances x the least that is sold

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


def raw_write_bytes_per_s(*, write_bytes_per_s: float, redundancy: float) -> float:
    """Bytes/s that the drives of a file system take while its clients write.

        bytes/s of the clients x raw bytes for each usable byte

    Parity and copies are written too; reads touch one copy.

    >>> raw_write_bytes_per_s(write_bytes_per_s=40e9, redundancy=1.25) / 1e9  # GB/s
    50.0
    """
    return write_bytes_per_s * redundancy


def offered_together(*, units: float, of_one: float) -> float:
    """Bytes/s, or requests/s, of drives or of groups of nodes.

        units x what one gives

    >>> offered_together(units=8, of_one=7e9) / 1e9  # GB/s
    56.0
    """
    return units * of_one


def capacity_needed_bytes(*, needed: float, of_tib: float) -> float:
    """Capacity to buy for its bytes/s, or requests/s, whatever is stored.

        needed / what each TiB gives x 2^40

    >>> capacity_needed_bytes(needed=20e9, of_tib=500e6) / 2**40  # TiB
    40.0
    """
    return needed / of_tib * TIB


def units_needed(*, needed: float, of_one: float) -> float:
    """Clients, drives or prefixes that together give what is needed, both in one unit.

        needed / what one gives, rounded up

    >>> units_needed(needed=4121, of_one=150)
    28
    """
    return math.ceil(needed / of_one)


SHORTFALL = Formula(
    function=shortfall, equation="needed / offered", unit="ratio", source="definition"
)
OFFERED_BY_CAPACITY = Formula(
    function=offered_by_capacity,
    equation="bought_bytes / 2^40 x of_tib",
    unit="bytes/s",
    source="file systems in clouds are provisioned by the TiB",
)
BOUGHT_BYTES = Formula(
    function=bought_bytes,
    equation="usable_bytes, up to whole step_bytes where they are told, at least least_bytes of"
    " each of its instances, 1 where none are told",
    unit="bytes",
    source="definition",
)
RAW_WRITE_BYTES_PER_S = Formula(
    function=raw_write_bytes_per_s,
    equation="write_bytes_per_s x redundancy",
    unit="bytes/s",
    source="definition: parity and copies are written too, in whole stripes",
)
OFFERED_TOGETHER = Formula(
    function=offered_together, equation="units x of_one", unit="bytes/s", source="definition"
)
CAPACITY_NEEDED_BYTES = Formula(
    function=capacity_needed_bytes,
    equation="needed / of_tib x 2^40",
    unit="bytes",
    source="file systems in clouds are provisioned by the TiB",
)
UNITS_NEEDED = Formula(
    function=units_needed, equation="needed / of_one, rounded up", unit="units", source="definition"
)
