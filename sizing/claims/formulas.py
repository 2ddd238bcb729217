"""What documents work out on the way to a size: shares, sums and sizes for each of something.

What things cost beside what else they could cost, and how many bytes the parameters of a model
take. The sheet needs none of them; claims do, to begin where a document begins.
"""

from tokenmill.sizing.formula import formula, total
from tokenmill.sizing.units import BITS_PER_BYTE


@formula(unit="FLOP/s")
def iteration_flops_per_s(*, iteration_flops: float, iteration_s: float) -> float:
    """FLOP/s that an iteration reached.

    >>> iteration_flops_per_s(iteration_flops=624e12, iteration_s=4) / 1e12  # TFLOP/s
    156.0
    """
    return iteration_flops / iteration_s


@formula(unit="fraction")
def utilization(*, achieved_flops_per_s: float, dense_flops_per_s: float) -> float:
    """Share of its peak that an accelerator reached.

    >>> utilization(achieved_flops_per_s=156e12, dense_flops_per_s=312e12)
    0.5
    """
    return achieved_flops_per_s / dense_flops_per_s


@formula(unit="ratio")
def times(*, amount: float, base: float) -> float:
    """How many times the one is the other, both in one unit: rates, prices, bytes.

    >>> times(amount=900e9, base=150e9)
    6.0
    """
    return amount / base


@formula(unit="FLOP/s")
def job_flops_per_s(*, flops_per_s: float, accelerators: float) -> float:
    """FLOP/s of all accelerators together.

    >>> job_flops_per_s(flops_per_s=1e15, accelerators=8) / 1e15  # PFLOP/s
    8.0
    """
    return flops_per_s * accelerators


@formula(unit="bytes/s")
def ports_bytes_per_s(*, ports: float, port_bits_per_s: float) -> float:
    """What network ports, sold in bits, move together in one direction.

    >>> ports_bytes_per_s(ports=8, port_bits_per_s=400e9) / 1e9  # GB/s
    400.0
    """
    return ports * port_bits_per_s / BITS_PER_BYTE


@formula(unit="FLOP/s")
def reduced_flops_per_s(*, in_bytes_per_s: float, element_bytes: float) -> float:
    """Additions of a switch that adds what comes in, one for each element.

    >>> reduced_flops_per_s(in_bytes_per_s=800e9, element_bytes=4) / 1e9  # GFLOP/s
    200.0
    """
    return in_bytes_per_s / element_bytes


@formula(unit="bytes/s")
def fed_bytes_per_s(
    *, accelerators: float, accelerator_bytes_per_s: float, busy_frac: float
) -> float:
    """What accelerators read together that wait for some of the time.

    accelerator_bytes_per_s: of one that never waits.

    >>> fed_bytes_per_s(accelerators=8, accelerator_bytes_per_s=2e9, busy_frac=0.5) / 1e9  # GB/s
    8.0
    """
    return accelerators * accelerator_bytes_per_s * busy_frac


@formula(unit="accelerators")
def fed_accelerators(
    *, read_bytes_per_s: float, accelerator_bytes_per_s: float, busy_frac: float
) -> float:
    """Accelerators that read so much together, of which each waits for some of the time.

    >>> fed_accelerators(read_bytes_per_s=8e9, accelerator_bytes_per_s=2e9, busy_frac=0.5)
    8.0
    """
    return read_bytes_per_s / (accelerator_bytes_per_s * busy_frac)


@formula(unit="bytes")
def share_bytes(*, whole_bytes: float, shares: float) -> float:
    """What each accelerator, rank or server has of something.

    >>> share_bytes(whole_bytes=2048 * 2**30, shares=8) / 2**30  # GiB
    256.0
    """
    return whole_bytes / shares


@formula(unit="cores")
def cores_per_accelerator(*, cores: float, per_node: float) -> float:
    """Cores of a node for each of its accelerators.

    >>> cores_per_accelerator(cores=192, per_node=8)
    24.0
    """
    return cores / per_node


@formula(unit="USD")
def several_usd(*, count: float, one_usd: float) -> float:
    """What several of something cost: accelerators alone, or a request told as so many others.

    >>> several_usd(count=8, one_usd=30_000)
    240000
    """
    return count * one_usd


@formula(unit="USD")
def share_usd(*, whole_usd: float, shares: float) -> float:
    """What each of several parts of something costs.

    >>> share_usd(whole_usd=100.0, shares=8)
    12.5
    """
    return whole_usd / shares


@formula(unit="fraction")
def remaining_frac(*, taken_frac: float) -> float:
    """What is left of a market, or of any whole.

    >>> remaining_frac(taken_frac=0.75)
    0.25
    """
    return 1 - taken_frac


@formula(unit="bytes/parameter")
def bytes_per_param(*, memory_bytes: float, params: float) -> float:
    """Memory that a parameter has where so many of them just fit.

    >>> bytes_per_param(memory_bytes=32e9, params=1e9)
    32.0
    """
    return memory_bytes / params


# bytes of a parameter as the sum of what is held of it
parts_bytes_per_param = total(unit="bytes/parameter")


@formula(unit="ratio")
def state_over_weights(*, bytes_per_param: float, weight_bytes: float) -> float:
    """What is held of a parameter besides its weight, in sizes of its weight.

    >>> state_over_weights(bytes_per_param=16, weight_bytes=2)
    7.0
    """
    return (bytes_per_param - weight_bytes) / weight_bytes


@formula(
    unit="parameters",
    equation="layers x (2 hidden^2 + 2 hidden^2 x kv_heads / heads"
    " + 3 hidden x ffn) + 2 x vocab_size x hidden",
    source="the layout of Llama 3, arXiv:2407.21783",
)
def transformer_params(
    *, layers: float, hidden: float, ffn: float, heads: float, kv_heads: float, vocab_size: float
) -> float:
    """Parameters of a Llama-like model: gated feed-forward, grouped queries, untied embeddings.

    Norms, a few parameters in 100,000, are left out.

    >>> llama_3_8b = transformer_params(
    ...     layers=32, hidden=4096, ffn=14_336, heads=32, kv_heads=8, vocab_size=128_256
    ... )
    >>> f"{llama_3_8b / 1e9:.2f} billion"
    '8.03 billion'
    """
    attention = 2 * hidden**2 + 2 * hidden**2 * kv_heads / heads
    return layers * (attention + 3 * hidden * ffn) + 2 * vocab_size * hidden
