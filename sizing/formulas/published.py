"""What documents work out on the way to a size: shares, sums and sizes for each of something.

The sheet needs none of them; sizing.claims does, to begin where a document begins.
"""

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.units import BITS_PER_BYTE


def iteration_flops_per_s(*, iteration_flops: float, iteration_s: float) -> float:
    """FLOP/s that an iteration reached.

        FLOP of an iteration / seconds it took

    >>> iteration_flops_per_s(iteration_flops=624e12, iteration_s=4) / 1e12  # TFLOP/s
    156.0
    """
    return iteration_flops / iteration_s


def utilization(*, achieved_flops_per_s: float, dense_flops_per_s: float) -> float:
    """Share of its peak that an accelerator reached.

        FLOP/s reached / dense FLOP/s

    >>> utilization(achieved_flops_per_s=156e12, dense_flops_per_s=312e12)
    0.5
    """
    return achieved_flops_per_s / dense_flops_per_s


def speedup(*, rate: float, base_rate: float) -> float:
    """How many times as fast one is as the other, both in one unit.

        rate / rate of the other

    >>> speedup(rate=900e9, base_rate=150e9)
    6.0
    """
    return rate / base_rate


def job_flops_per_s(*, flops_per_s: float, accelerators: float) -> float:
    """FLOP/s of all accelerators together.

        FLOP/s of one x accelerators

    >>> job_flops_per_s(flops_per_s=1e15, accelerators=8) / 1e15  # PFLOP/s
    8.0
    """
    return flops_per_s * accelerators


def ports_bytes_per_s(*, ports: float, port_bits_per_s: float) -> float:
    """What network ports, sold in bits, move together in one direction.

        ports x bits/s of one / 8

    >>> ports_bytes_per_s(ports=8, port_bits_per_s=400e9) / 1e9  # GB/s
    400.0
    """
    return ports * port_bits_per_s / BITS_PER_BYTE


def share_bytes(*, whole_bytes: float, shares: float) -> float:
    """What each accelerator, rank or server has of something.

        bytes / shares

    >>> share_bytes(whole_bytes=2048 * 2**30, shares=8) / 2**30  # GiB
    256.0
    """
    return whole_bytes / shares


def cores_per_accelerator(*, cores: float, per_node: float) -> float:
    """Cores of a node for each of its accelerators.

        cores / accelerators in a node

    >>> cores_per_accelerator(cores=192, per_node=8)
    24.0
    """
    return cores / per_node


ITERATION_FLOPS_PER_S = Formula(
    function=iteration_flops_per_s,
    equation="iteration_flops / iteration_s",
    unit="FLOP/s",
    source="definition",
)
UTILIZATION = Formula(
    function=utilization,
    equation="achieved_flops_per_s / dense_flops_per_s",
    unit="fraction",
    source="definition",
)
SPEEDUP = Formula(
    function=speedup,
    equation="rate / base_rate",
    unit="ratio",
    source="definition",
)
JOB_FLOPS_PER_S = Formula(
    function=job_flops_per_s,
    equation="flops_per_s x accelerators",
    unit="FLOP/s",
    source="definition",
)
PORTS_BYTES_PER_S = Formula(
    function=ports_bytes_per_s,
    equation="ports x port_bits_per_s / 8",
    unit="bytes/s",
    source="definition",
)
SHARE_BYTES = Formula(
    function=share_bytes,
    equation="whole_bytes / shares",
    unit="bytes",
    source="definition",
)
CORES_PER_ACCELERATOR = Formula(
    function=cores_per_accelerator,
    equation="cores / per_node",
    unit="cores",
    source="definition",
)
