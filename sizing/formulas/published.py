"""What documents work out on the way to a size: shares, sums and sizes for each of something.

The sheet needs none of them; sizing.claims does, to begin where a document begins.
"""

from sizing.formula import Formula
from sizing.units import BITS_PER_BYTE


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


def job_bytes_per_s(*, share_bytes_per_s: float, shares: float) -> float:
    """What a node, or a job, reads in all where each accelerator, or node, reads a share.

        bytes/s of a share x shares

    >>> job_bytes_per_s(share_bytes_per_s=189e6, shares=6) / 1e9  # GB/s
    1.134
    """
    return share_bytes_per_s * shares


def ports_bytes_per_s(*, ports: float, port_bits_per_s: float) -> float:
    """What network ports, sold in bits, move together in one direction.

        ports x bits/s of one / 8

    >>> ports_bytes_per_s(ports=8, port_bits_per_s=400e9) / 1e9  # GB/s
    400.0
    """
    return ports * port_bits_per_s / BITS_PER_BYTE


def link_bits_per_s(*, link_bytes_per_s: float) -> float:
    """A link that is told in bytes, as networks are sold.

        bytes/s x 8

    >>> link_bits_per_s(link_bytes_per_s=450e9) / 1e12  # Tb/s
    3.6
    """
    return link_bytes_per_s * BITS_PER_BYTE


def bytes_per_token(*, corpus_bytes: float, corpus_tokens: float) -> float:
    """Bytes of a corpus over its tokens.

        bytes / tokens

    >>> bytes_per_token(corpus_bytes=44e12, corpus_tokens=15e12) < 3
    True
    """
    return corpus_bytes / corpus_tokens


def bytes_per_sample(*, read_bytes_per_s: float, samples_per_s: float) -> float:
    """What is read for each sample.

        bytes/s / samples/s

    >>> bytes_per_sample(read_bytes_per_s=189e6, samples_per_s=5) / 1e6  # MB
    37.8
    """
    return read_bytes_per_s / samples_per_s


def drives_bytes(*, drives: float, drive_bytes: float) -> float:
    """Capacity of drives together.

        drives x bytes of one

    >>> drives_bytes(drives=8, drive_bytes=3.84e12) / 1e12  # TB
    30.72
    """
    return drives * drive_bytes


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
JOB_BYTES_PER_S = Formula(
    function=job_bytes_per_s,
    equation="share_bytes_per_s x shares",
    unit="bytes/s",
    source="definition",
)
PORTS_BYTES_PER_S = Formula(
    function=ports_bytes_per_s,
    equation="ports x port_bits_per_s / 8",
    unit="bytes/s",
    source="definition",
)
LINK_BITS_PER_S = Formula(
    function=link_bits_per_s,
    equation="link_bytes_per_s x 8",
    unit="bits/s",
    source="definition",
)
BYTES_PER_TOKEN = Formula(
    function=bytes_per_token,
    equation="corpus_bytes / corpus_tokens",
    unit="bytes/token",
    source="definition",
)
BYTES_PER_SAMPLE = Formula(
    function=bytes_per_sample,
    equation="read_bytes_per_s / samples_per_s",
    unit="bytes",
    source="definition",
)
DRIVES_BYTES = Formula(
    function=drives_bytes,
    equation="drives x drive_bytes",
    unit="bytes",
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
