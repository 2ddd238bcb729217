"""How many parameters a model has, and how many bytes each of them takes."""

from tokenmill.sizing.formula import formula


@formula(unit="bytes/parameter", equation="memory_bytes / params")
def bytes_per_param(*, memory_bytes: float, params: float) -> float:
    """Memory that a parameter has where so many of them just fit.

    >>> bytes_per_param(memory_bytes=32e9, params=1e9)
    32.0
    """
    return memory_bytes / params


@formula(unit="bytes/parameter", equation="the sum of the parts")
def parts_bytes_per_param(**parts: float) -> float:
    """Bytes of a parameter as the sum of what is held of it.

    >>> parts_bytes_per_param(weight=2, gradient=2, master=4, momentum=4, variance=4)
    16
    """
    return sum(parts.values())


@formula(unit="ratio", equation="bytes_per_param / weight_bytes")
def memory_over_weights(*, bytes_per_param: float, weight_bytes: float) -> float:
    """All that is held of a parameter, in sizes of its weight.

    >>> memory_over_weights(bytes_per_param=16, weight_bytes=2)
    8.0
    """
    return bytes_per_param / weight_bytes


@formula(unit="ratio", equation="(bytes_per_param - weight_bytes) / weight_bytes")
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
