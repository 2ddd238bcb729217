"""How many accelerators hold a model, to train it and to serve it, and what each of them holds."""

import math

from tokenmill.sizing.formula import formula, product, quotient

SERVE_BYTES_PER_PARAM = 2.0  # BF16 weights
OVERHEAD = 1.25  # activations, buffers, fragmentation
# of ZeRO, in bytes of a parameter: BF16 weights, BF16 gradients, FP32 weights and two moments
WEIGHT_BYTES, GRADIENT_BYTES, STATE_BYTES = 2.0, 2.0, 12.0
# what a stage of ZeRO is the first to divide among the replicas
STATE_DIVIDED, GRADIENTS_DIVIDED, WEIGHTS_DIVIDED = 1, 2, 3

_BEKMAN = (
    "Bekman, Machine Learning Engineering: 18 bytes a parameter to train, 2 to serve, and a"
    " quarter more"
)
_ZERO = "ZeRO, Rajbhandari et al. 2020, arXiv:1910.02054, section 5"


@formula(unit="accelerators", source=_BEKMAN)
def least_accelerators(
    *, params: float, bytes_per_param: float, overhead: float = OVERHEAD, hbm_bytes: float
) -> float:
    """Fewest accelerators whose memory holds a model.

    >>> least_accelerators(params=80e9, bytes_per_param=18, hbm_bytes=80e9)
    23
    """
    return math.ceil(params * bytes_per_param * overhead / hbm_bytes)


@formula(
    unit="replicas",
    equation="nodes / (accelerators that hold it: params x bytes_per_param x overhead / hbm_bytes,"
    " in whole nodes), rounded down, at least one",
    source=f"{_BEKMAN}; BLOOM trained 8 replicas on 48 nodes, Nemotron-4 340B 64 on 768, Llama 3"
    " 405B 128 on 2,048, where this tells 6, 64 and 136; divided among all (ZeRO, FSDP) more would"
    " fit: state training.data_parallel",
)
def fitting_replicas(
    *,
    nodes: float,
    per_node: float,
    params: float,
    bytes_per_param: float,
    overhead: float = OVERHEAD,
    hbm_bytes: float,
) -> float:
    """Replicas of a model that train side by side, each in the memory of whole nodes of its own.

    >>> of_model = dict(per_node=8, bytes_per_param=18, hbm_bytes=80e9)
    >>> [fitting_replicas(nodes=n, params=p, **of_model) for n, p in ((768, 340e9), (128, 8e9))]
    [64, 128]
    """
    held_by = params * bytes_per_param * overhead / hbm_bytes
    return max(1, math.floor(nodes / math.ceil(held_by / per_node)))


@formula(
    unit="bytes/parameter",
    equation="weight_bytes + gradient_bytes + state_bytes, of which are divided by ranks: none in"
    " stage 0, state in 1, gradients too in 2, weights too in 3",
    source=_ZERO,
)
def zero_bytes_per_param(
    *,
    stage: float,
    ranks: float,
    weight_bytes: float = WEIGHT_BYTES,
    gradient_bytes: float = GRADIENT_BYTES,
    state_bytes: float = STATE_BYTES,
) -> float:
    """Bytes of a parameter on one of the accelerators that train replicas of a model.

    >>> [zero_bytes_per_param(stage=s, ranks=64) for s in (0, 1, 2, 3)]
    [16.0, 4.1875, 2.21875, 0.25]
    """
    state = state_bytes / ranks if stage >= STATE_DIVIDED else state_bytes
    gradients = gradient_bytes / ranks if stage >= GRADIENTS_DIVIDED else gradient_bytes
    weights = weight_bytes / ranks if stage >= WEIGHTS_DIVIDED else weight_bytes
    return weights + gradients + state


# Accelerators that divide one replica of the model among them.
replica_accelerators = quotient(
    "replica_accelerators",
    "accelerators",
    "replicas",
    unit="accelerators",
    source="definition; tensor, pipeline and expert parallelism together",
)


@formula(unit="bytes", source=_ZERO)
def model_state_bytes(
    *, params: float, bytes_per_param: float, model_parallel: float = 1.0
) -> float:
    """Weights, gradients and optimizer state on one accelerator; activations come on top.

    >>> model_state_bytes(params=7.5e9, bytes_per_param=16) / 1e9  # GB
    120.0
    """
    return params * bytes_per_param / model_parallel


# Keys and values that serving keeps of each token of a sequence.
kv_bytes_per_token = product(
    "kv_bytes_per_token",
    2,
    "layers",
    "kv_heads",
    "head_dim",
    "element_bytes",
    unit="bytes/token",
    source="a key and a value in each layer and head: GQA, Ainslie et al. 2023, arXiv:2305.13245",
)


# Keys and values of one sequence.
kv_sequence_bytes = product("kv_sequence_bytes", "kv_bytes_per_token", "seq_len", unit="bytes")


@formula(
    unit="sequences",
    equation="(accelerators x hbm_bytes x usable_frac - weights_bytes) / kv_sequence_bytes,"
    " rounded down",
    source="definition; pages of keys and values leave hardly anything unused: vLLM,"
    " arXiv:2309.06180",
)
def sequences_that_fit(
    *,
    accelerators: float,
    hbm_bytes: float,
    usable_frac: float,
    weights_bytes: float,
    kv_sequence_bytes: float,
) -> float:
    """Sequences that a served model can answer at once, each of full length.

    >>> sequences_that_fit(
    ...     accelerators=1, hbm_bytes=80e9, usable_frac=0.9, weights_bytes=16e9,
    ...     kv_sequence_bytes=2e9,
    ... )
    28
    """
    free = accelerators * hbm_bytes * usable_frac - weights_bytes
    return max(0, math.floor(free / kv_sequence_bytes))
