"""What training costs in FLOP, and what share of an accelerator's peak goes into the model.

model FLOP a token      6 a parameter that works on it, and attention
hardware FLOP a token   the same, and what is computed twice to save memory
MFU, HFU                either, as a share of the dense peak
"""

from tokenmill.sizing.formula import formula, product, quotient

FLOPS_PER_PARAM_AND_TOKEN = 6  # 2 a multiply-add; forward once, backward twice
ATTENTION_FLOPS = 12  # two products of the sequence with itself, each 2 FLOP, forward and backward
FORWARD_SHARE = 1 / 3  # of forward and backward together
SECONDS_PER_HOUR = 3600

_KAPLAN = "6 FLOP a parameter and token: Kaplan et al. 2020, arXiv:2001.08361"
_PALM = "PaLM, Chowdhery et al. 2022, arXiv:2204.02311, appendix B"


# The heads' together.
attention_width = product("attention_width", "heads", "head_dim", unit="dimensions")

# Training FLOP a token that grow with the sequence rather than with the parameters.
# Every token is counted as attending to the whole sequence, as published MFUs do; with a causal
# mask half of it is needed.
attention_flops_per_token = product(
    "attention_flops_per_token",
    ATTENTION_FLOPS,
    "layers",
    "attention_width",
    "seq_len",
    unit="FLOP",
    source=f"{_PALM}; a causal mask that skips half of it is not counted",
)


@formula(unit="FLOP", source=f"{_KAPLAN}; attention: {_PALM}")
def train_flops_per_token(*, active_params: float, attention_flops_per_token: float = 0.0) -> float:
    """FLOP that the model itself needs to train on a token; what an MFU counts.

    In a mixture of experts only the active parameters work. Recomputation is not counted.

    >>> train_flops_per_token(active_params=8e9)
    48000000000.0
    """
    return FLOPS_PER_PARAM_AND_TOKEN * active_params + attention_flops_per_token


@formula(
    unit="FLOP",
    equation="train_flops_per_token x (1 + recompute_frac / 3)",
    source="EleutherAI, Transformer Math 101: 8 FLOP a parameter with full recomputation",
)
def hardware_flops_per_token(*, train_flops_per_token: float, recompute_frac: float) -> float:
    """FLOP done for a token, activations that are computed a second time included.

    recompute_frac: of the forward pass that runs again during the backward one. The forward
    pass is a third of the whole, so full recomputation makes 8 FLOP a parameter of 6.

    >>> hardware_flops_per_token(train_flops_per_token=6 * 8e9, recompute_frac=1.0) / 8e9
    8.0
    """
    return train_flops_per_token * (1 + recompute_frac * FORWARD_SHARE)


def hfu_of_mfu(*, mfu: float, recompute_frac: float) -> float:
    """Hardware FLOPs utilization behind a model FLOPs utilization.

        mfu x (1 + recomputed fraction / 3)

    >>> hfu_of_mfu(mfu=0.45, recompute_frac=1.0)
    0.6
    """
    return mfu * (1 + recompute_frac * FORWARD_SHARE)


@formula(
    unit="fraction",
    equation="hfu / (1 + recompute_frac / 3)",
    source=f"{_PALM}: an HFU counts recomputation, an MFU does not",
)
def mfu_of_hfu(*, hfu: float, recompute_frac: float) -> float:
    """Model FLOPs utilization where the hardware's is known.

    >>> f"{mfu_of_hfu(hfu=0.6, recompute_frac=1.0):.2f}"
    '0.45'
    """
    return hfu / (1 + recompute_frac * FORWARD_SHARE)


# MFU of a job whose token rate is known.
mfu_of_rate = quotient(
    "mfu_of_rate",
    ("tokens_per_s", "train_flops_per_token"),
    ("accelerators", "dense_flops_per_s"),
    unit="fraction",
    source=_PALM,
)

# Model FLOP/s of one accelerator over a whole run.
achieved_flops_per_s = quotient(
    "achieved_flops_per_s",
    ("trained_tokens", "train_flops_per_token"),
    ("accelerator_hours", SECONDS_PER_HOUR),
    unit="FLOP/s",
)

# MFU of a run of which tokens and accelerator hours are known.
mfu_of_hours = quotient(
    "mfu_of_hours",
    ("trained_tokens", "train_flops_per_token"),
    ("accelerator_hours", SECONDS_PER_HOUR, "dense_flops_per_s"),
    unit="fraction",
    source=_PALM,
)

# FLOP of a whole training run.
train_flops = product(
    "train_flops", "trained_tokens", "train_flops_per_token", unit="FLOP", source=_KAPLAN
)
