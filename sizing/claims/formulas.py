"""What documents work out on the way to a size: shares, sums and sizes for each of something.

What things cost beside what else they could cost, and how many bytes the parameters of a model
take. The sheet needs none of them; claims do, to begin where a document begins.
"""

from tokenmill.sizing.formula import formula, product, quotient, total
from tokenmill.sizing.units import BITS_PER_BYTE

# FLOP/s that an iteration reached.
iteration_flops_per_s = quotient(
    "iteration_flops_per_s", "iteration_flops", "iteration_s", unit="FLOP/s"
)

# Share of its peak that an accelerator reached.
utilization = quotient("utilization", "achieved_flops_per_s", "dense_flops_per_s", unit="fraction")

# How many times the one is the other, both in one unit: rates, prices, bytes.
times = quotient("times", "amount", "base", unit="ratio")

# FLOP/s of all accelerators together.
job_flops_per_s = product("job_flops_per_s", "flops_per_s", "accelerators", unit="FLOP/s")

# What network ports, sold in bits, move together in one direction.
ports_bytes_per_s = quotient(
    "ports_bytes_per_s", ("ports", "port_bits_per_s"), BITS_PER_BYTE, unit="bytes/s"
)

# Additions of a switch that adds what comes in, one for each element.
reduced_flops_per_s = quotient(
    "reduced_flops_per_s", "in_bytes_per_s", "element_bytes", unit="FLOP/s"
)

# What accelerators read together that wait for some of the time.
# accelerator_bytes_per_s: of one that never waits.
fed_bytes_per_s = product(
    "fed_bytes_per_s", "accelerators", "accelerator_bytes_per_s", "busy_frac", unit="bytes/s"
)

# Accelerators that read so much together, of which each waits for some of the time.
fed_accelerators = quotient(
    "fed_accelerators",
    "read_bytes_per_s",
    ("accelerator_bytes_per_s", "busy_frac"),
    unit="accelerators",
)

# What each accelerator, rank or server has of something.
share_bytes = quotient("share_bytes", "whole_bytes", "shares", unit="bytes")

# Cores of a node for each of its accelerators.
cores_per_accelerator = quotient("cores_per_accelerator", "cores", "per_node", unit="cores")

# What several of something cost: accelerators alone, or a request told as so many others.
several_usd = product("several_usd", "count", "one_usd", unit="USD")

# What each of several parts of something costs.
share_usd = quotient("share_usd", "whole_usd", "shares", unit="USD")


@formula(unit="fraction")
def remaining_frac(*, taken_frac: float) -> float:
    """What is left of a market, or of any whole.

    >>> remaining_frac(taken_frac=0.75)
    0.25
    """
    return 1 - taken_frac


# Memory that a parameter has where so many of them just fit.
bytes_per_param = quotient("bytes_per_param", "memory_bytes", "params", unit="bytes/parameter")

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
