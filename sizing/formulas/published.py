"""What documents work out on the way to a size: shares, sums and sizes for each of something.

The sheet needs none of them; sizing.claims does, to begin where a document begins.
"""

from tokenmill.sizing.formula import formula
from tokenmill.sizing.units import BITS_PER_BYTE


@formula(unit="FLOP/s", equation="iteration_flops / iteration_s")
def iteration_flops_per_s(*, iteration_flops: float, iteration_s: float) -> float:
    """FLOP/s that an iteration reached.

    >>> iteration_flops_per_s(iteration_flops=624e12, iteration_s=4) / 1e12  # TFLOP/s
    156.0
    """
    return iteration_flops / iteration_s


@formula(unit="fraction", equation="achieved_flops_per_s / dense_flops_per_s")
def utilization(*, achieved_flops_per_s: float, dense_flops_per_s: float) -> float:
    """Share of its peak that an accelerator reached.

    >>> utilization(achieved_flops_per_s=156e12, dense_flops_per_s=312e12)
    0.5
    """
    return achieved_flops_per_s / dense_flops_per_s


@formula(unit="ratio", equation="rate / base_rate")
def speedup(*, rate: float, base_rate: float) -> float:
    """How many times as fast one is as the other, both in one unit.

    >>> speedup(rate=900e9, base_rate=150e9)
    6.0
    """
    return rate / base_rate


@formula(unit="FLOP/s", equation="flops_per_s x accelerators")
def job_flops_per_s(*, flops_per_s: float, accelerators: float) -> float:
    """FLOP/s of all accelerators together.

    >>> job_flops_per_s(flops_per_s=1e15, accelerators=8) / 1e15  # PFLOP/s
    8.0
    """
    return flops_per_s * accelerators


@formula(unit="bytes/s", equation="ports x port_bits_per_s / 8")
def ports_bytes_per_s(*, ports: float, port_bits_per_s: float) -> float:
    """What network ports, sold in bits, move together in one direction.

    >>> ports_bytes_per_s(ports=8, port_bits_per_s=400e9) / 1e9  # GB/s
    400.0
    """
    return ports * port_bits_per_s / BITS_PER_BYTE


@formula(unit="bytes", equation="whole_bytes / shares")
def share_bytes(*, whole_bytes: float, shares: float) -> float:
    """What each accelerator, rank or server has of something.

    >>> share_bytes(whole_bytes=2048 * 2**30, shares=8) / 2**30  # GiB
    256.0
    """
    return whole_bytes / shares


@formula(unit="cores", equation="cores / per_node")
def cores_per_accelerator(*, cores: float, per_node: float) -> float:
    """Cores of a node for each of its accelerators.

    >>> cores_per_accelerator(cores=192, per_node=8)
    24.0
    """
    return cores / per_node
