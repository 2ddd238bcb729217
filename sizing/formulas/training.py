"""How fast a training run consumes tokens, for how long, and from which sources."""

from tokenmill.sizing.formula import Formula

SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86_400
HOURS_PER_DAY = 24
TOKENS_PER_PARAM = 20


def tokens_per_s(
    *, accelerators: float, dense_flops_per_s: float, mfu: float, train_flops_per_token: float
) -> float:
    """Tokens the whole job trains on each second.

        accelerators x dense FLOP/s of one x MFU / train FLOP a token

    >>> rate = tokens_per_s(
    ...     accelerators=1024, dense_flops_per_s=989e12, mfu=0.4, train_flops_per_token=6 * 8e9
    ... )
    >>> f"{rate / 1e6:.2f} million tokens/s"
    '8.44 million tokens/s'
    """
    return accelerators * dense_flops_per_s * mfu / train_flops_per_token


def tokens_per_accelerator_s(*, tokens_per_s: float, accelerators: float) -> float:
    """Tokens one accelerator trains on each second.

        tokens/s of the job / accelerators

    >>> tokens_per_accelerator_s(tokens_per_s=1e6, accelerators=100)
    10000.0
    """
    return tokens_per_s / accelerators


def training_days(*, trained_tokens: float, tokens_per_s: float) -> float:
    """Days of training, without failures.

        tokens trained on / (tokens/s x 86,400 s a day)

    >>> training_days(trained_tokens=86.4e9, tokens_per_s=1e6)
    1.0
    """
    return trained_tokens / (tokens_per_s * SECONDS_PER_DAY)


def tokens_in_days(*, days: float, tokens_per_s: float) -> float:
    """Tokens trained on in so many days, without failures.

        days x tokens/s x 86,400 s a day

    >>> tokens_in_days(days=2.0, tokens_per_s=1e6)
    172800000000.0
    """
    return days * tokens_per_s * SECONDS_PER_DAY


def accelerator_hours(
    *, trained_tokens: float, train_flops_per_token: float, dense_flops_per_s: float, mfu: float
) -> float:
    """Hours of one accelerator that a training run takes, however many share it.

        tokens trained on x train FLOP a token / (dense FLOP/s of one x MFU x 3,600)

    >>> accelerator_hours(
    ...     trained_tokens=3.6e9, train_flops_per_token=1e12, dense_flops_per_s=200e12, mfu=0.5
    ... )
    10000.0
    """
    flops = trained_tokens * train_flops_per_token
    return flops / (dense_flops_per_s * mfu * SECONDS_PER_HOUR)


def job_accelerator_hours(*, training_days: float, accelerators: float) -> float:
    """Accelerator hours of a job that lasts so many days.

        days x 24 x accelerators

    >>> job_accelerator_hours(training_days=2.0, accelerators=8)
    384.0
    """
    return training_days * HOURS_PER_DAY * accelerators


def job_days(*, accelerator_hours: float, accelerators: float) -> float:
    """Days that a job takes on so many accelerators.

        accelerator hours / (24 x accelerators)

    >>> job_days(accelerator_hours=384.0, accelerators=8)
    2.0
    """
    return accelerator_hours / (HOURS_PER_DAY * accelerators)


def trained_tokens(*, corpus_tokens: float, epochs: float) -> float:
    """Tokens seen in training, repeats counted.

        tokens in the corpus x epochs

    >>> trained_tokens(corpus_tokens=1e12, epochs=1.5)
    1500000000000.0
    """
    return corpus_tokens * epochs


def epochs(*, trained_tokens: float, corpus_tokens: float) -> float:
    """How often training goes over a corpus, or over one of its sources.

        tokens trained on / tokens in the corpus

    >>> epochs(trained_tokens=1.5e12, corpus_tokens=1e12)
    1.5
    """
    return trained_tokens / corpus_tokens


def source_tokens(*, trained_tokens: float, weight: float, weights_sum: float) -> float:
    """Tokens that one source of several gives to training, repeats counted.

        tokens trained on x weight of the source / sum of all weights

    >>> source_tokens(trained_tokens=1e12, weight=3.0, weights_sum=4.0)
    750000000000.0
    """
    return trained_tokens * weight / weights_sum


def mixture_tokens(**sources_tokens: float) -> float:
    """Tokens that all sources together give to training.

        the sum over sources

    >>> mixture_tokens(web=750e9, code=250e9)
    1000000000000.0
    """
    return sum(sources_tokens.values())


def mixture_bytes_per_token(*, trained_tokens: float, **read_bytes: float) -> float:
    """Bytes read for each token of a mixture of sources.

        sum over sources of bytes read / tokens trained on

    read_bytes: of each source over the whole training: its tokens x its stored bytes a token.

    >>> mixture_bytes_per_token(trained_tokens=1e12, web=1.5e12, images=22.5e12)
    24.0
    """
    return sum(read_bytes.values()) / trained_tokens


def source_tokens_per_s(
    *, tokens_per_s: float, source_tokens: float, trained_tokens: float
) -> float:
    """Tokens of one source of several that training takes each second.

        tokens/s x tokens the source gives / tokens trained on

    >>> source_tokens_per_s(tokens_per_s=8e6, source_tokens=250e9, trained_tokens=1e12)
    2000000.0
    """
    return tokens_per_s * source_tokens / trained_tokens


def compute_optimal_tokens(*, params: float) -> float:
    """Tokens that make the best model of this size for its compute.

        20 x parameters

    >>> compute_optimal_tokens(params=8e9)
    160000000000.0
    """
    return TOKENS_PER_PARAM * params


TOKENS_PER_S = Formula(
    function=tokens_per_s,
    equation="accelerators x dense_flops_per_s x mfu / train_flops_per_token",
    unit="tokens/s",
    source="MFU as defined by PaLM, Chowdhery et al. 2022, arXiv:2204.02311, appendix B",
)
TOKENS_PER_ACCELERATOR_S = Formula(
    function=tokens_per_accelerator_s,
    equation="tokens_per_s / accelerators",
    unit="tokens/s",
    source="definition",
)
TRAINING_DAYS = Formula(
    function=training_days,
    equation="trained_tokens / (tokens_per_s x 86,400)",
    unit="days",
    source="definition; failures and restarts come on top",
)
TOKENS_IN_DAYS = Formula(
    function=tokens_in_days,
    equation="days x tokens_per_s x 86,400",
    unit="tokens",
    source="definition; failures and restarts take from it",
)
ACCELERATOR_HOURS = Formula(
    function=accelerator_hours,
    equation="trained_tokens x train_flops_per_token / (dense_flops_per_s x mfu x 3,600)",
    unit="hours",
    source="6 FLOP a parameter and token: Kaplan et al. 2020, arXiv:2001.08361; MFU: PaLM,"
    " arXiv:2204.02311",
)
JOB_ACCELERATOR_HOURS = Formula(
    function=job_accelerator_hours,
    equation="training_days x 24 x accelerators",
    unit="hours",
    source="definition",
)
JOB_DAYS = Formula(
    function=job_days,
    equation="accelerator_hours / (24 x accelerators)",
    unit="days",
    source="definition",
)
TRAINED_TOKENS = Formula(
    function=trained_tokens,
    equation="corpus_tokens x epochs",
    unit="tokens",
    source="definition",
)
EPOCHS = Formula(
    function=epochs,
    equation="trained_tokens / corpus_tokens",
    unit="epochs",
    source="definition",
)
SOURCE_TOKENS = Formula(
    function=source_tokens,
    equation="trained_tokens x weight / weights_sum",
    unit="tokens",
    source="definition; weights are shares of the tokens trained on",
)
MIXTURE_TOKENS = Formula(
    function=mixture_tokens,
    equation="sum of its inputs",
    unit="tokens",
    source="definition",
)
MIXTURE_BYTES_PER_TOKEN = Formula(
    function=mixture_bytes_per_token,
    equation="sum of the bytes read of each source / trained_tokens",
    unit="bytes/token",
    source="definition",
)
SOURCE_TOKENS_PER_S = Formula(
    function=source_tokens_per_s,
    equation="tokens_per_s x source_tokens / trained_tokens",
    unit="tokens/s",
    source="definition; sources are mixed evenly over the training",
)
COMPUTE_OPTIMAL_TOKENS = Formula(
    function=compute_optimal_tokens,
    equation="20 x params",
    unit="tokens",
    source="Chinchilla, Hoffmann et al. 2022, arXiv:2203.15556, rounded",
)
