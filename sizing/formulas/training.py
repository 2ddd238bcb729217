"""How fast a training run consumes tokens, and for how long."""

from sizing.formula import Formula

FLOPS_PER_PARAM_AND_TOKEN = 6  # 2 FLOP a multiply-add; forward once, backward twice
SECONDS_PER_DAY = 86_400
TOKENS_PER_PARAM = 20


def tokens_per_s(
    *, accelerators: float, dense_flops_per_s: float, mfu: float, active_params: float
) -> float:
    """Tokens the whole job trains on each second.

        accelerators x dense FLOP/s of one x MFU / (6 x active parameters)

    Attention is not counted (12 x layers x hidden x sequence length FLOP a token more), nor is
    recomputation: an MFU counts neither. In a mixture of experts only the active parameters work.

    >>> rate = tokens_per_s(
    ...     accelerators=1024, dense_flops_per_s=989e12, mfu=0.4, active_params=8e9
    ... )
    >>> f"{rate / 1e6:.2f} million tokens/s"
    '8.44 million tokens/s'
    """
    flops_per_token = FLOPS_PER_PARAM_AND_TOKEN * active_params
    return accelerators * dense_flops_per_s * mfu / flops_per_token


def training_days(*, trained_tokens: float, tokens_per_s: float) -> float:
    """Days of training, without failures.

        tokens trained on / (tokens/s x 86,400 s a day)

    >>> training_days(trained_tokens=86.4e9, tokens_per_s=1e6)
    1.0
    """
    return trained_tokens / (tokens_per_s * SECONDS_PER_DAY)


def trained_tokens(*, corpus_tokens: float, epochs: float) -> float:
    """Tokens seen in training, repeats counted.

        tokens in the corpus x epochs

    >>> trained_tokens(corpus_tokens=1e12, epochs=1.5)
    1500000000000.0
    """
    return corpus_tokens * epochs


def compute_optimal_tokens(*, params: float) -> float:
    """Tokens that make the best model of this size for its compute.

        20 x parameters

    >>> compute_optimal_tokens(params=8e9)
    160000000000.0
    """
    return TOKENS_PER_PARAM * params


TOKENS_PER_S = Formula(
    function=tokens_per_s,
    equation="accelerators x dense_flops_per_s x mfu / (6 x active_params)",
    unit="tokens/s",
    source="6 FLOP a parameter and token: Kaplan et al. 2020, arXiv:2001.08361; MFU: PaLM,"
    " Chowdhery et al. 2022, arXiv:2204.02311, appendix B, without its attention term",
)
TRAINING_DAYS = Formula(
    function=training_days,
    equation="trained_tokens / (tokens_per_s x 86,400)",
    unit="days",
    source="definition; failures and restarts come on top",
)
TRAINED_TOKENS = Formula(
    function=trained_tokens,
    equation="corpus_tokens x epochs",
    unit="tokens",
    source="definition",
)
COMPUTE_OPTIMAL_TOKENS = Formula(
    function=compute_optimal_tokens,
    equation="20 x params",
    unit="tokens",
    source="Chinchilla, Hoffmann et al. 2022, arXiv:2203.15556, rounded",
)
