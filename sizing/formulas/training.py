"""What a corpus of one or several sources holds, and how fast and how long training reads it."""

from tokenmill.sizing.formula import formula, total

SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86_400
HOURS_PER_DAY = 24
TOKENS_PER_PARAM = 20


@formula(
    unit="tokens/s",
    source="MFU as defined by PaLM, Chowdhery et al. 2022, arXiv:2204.02311, appendix B",
)
def tokens_per_s(
    *, accelerators: float, dense_flops_per_s: float, mfu: float, train_flops_per_token: float
) -> float:
    """Tokens the whole job trains on each second.

    >>> rate = tokens_per_s(
    ...     accelerators=1024, dense_flops_per_s=989e12, mfu=0.4, train_flops_per_token=6 * 8e9
    ... )
    >>> f"{rate / 1e6:.2f} million tokens/s"
    '8.44 million tokens/s'
    """
    return accelerators * dense_flops_per_s * mfu / train_flops_per_token


@formula(unit="tokens/s")
def tokens_per_accelerator_s(*, tokens_per_s: float, accelerators: float) -> float:
    """Tokens one accelerator trains on each second.

    >>> tokens_per_accelerator_s(tokens_per_s=1e6, accelerators=100)
    10000.0
    """
    return tokens_per_s / accelerators


@formula(unit="days", source="definition; failures and restarts come on top")
def training_days(*, trained_tokens: float, tokens_per_s: float) -> float:
    """Days of training, without failures.

    >>> training_days(trained_tokens=86.4e9, tokens_per_s=1e6)
    1.0
    """
    return trained_tokens / (tokens_per_s * SECONDS_PER_DAY)


@formula(unit="tokens", source="definition; failures and restarts take from it")
def tokens_in_days(*, days: float, tokens_per_s: float) -> float:
    """Tokens trained on in so many days, without failures.

    >>> tokens_in_days(days=2.0, tokens_per_s=1e6)
    172800000000.0
    """
    return days * tokens_per_s * SECONDS_PER_DAY


@formula(
    unit="hours",
    equation="trained_tokens x train_flops_per_token / (dense_flops_per_s x mfu x 3,600)",
    source="6 FLOP a parameter and token: Kaplan et al. 2020, arXiv:2001.08361; MFU: PaLM,"
    " arXiv:2204.02311",
)
def accelerator_hours(
    *, trained_tokens: float, train_flops_per_token: float, dense_flops_per_s: float, mfu: float
) -> float:
    """Hours of one accelerator that a training run takes, however many share it.

    >>> accelerator_hours(
    ...     trained_tokens=3.6e9, train_flops_per_token=1e12, dense_flops_per_s=200e12, mfu=0.5
    ... )
    10000.0
    """
    flops = trained_tokens * train_flops_per_token
    return flops / (dense_flops_per_s * mfu * SECONDS_PER_HOUR)


@formula(unit="hours")
def job_accelerator_hours(*, training_days: float, accelerators: float) -> float:
    """Accelerator hours of a job that lasts so many days.

    >>> job_accelerator_hours(training_days=2.0, accelerators=8)
    384.0
    """
    return training_days * HOURS_PER_DAY * accelerators


@formula(unit="days")
def job_days(*, accelerator_hours: float, accelerators: float) -> float:
    """Days that a job takes on so many accelerators.

    >>> job_days(accelerator_hours=384.0, accelerators=8)
    2.0
    """
    return accelerator_hours / (HOURS_PER_DAY * accelerators)


@formula(unit="tokens")
def trained_tokens(*, corpus_tokens: float, epochs: float) -> float:
    """Tokens seen in training, repeats counted.

    >>> trained_tokens(corpus_tokens=1e12, epochs=1.5)
    1500000000000.0
    """
    return corpus_tokens * epochs


@formula(unit="epochs")
def epochs(*, trained_tokens: float, corpus_tokens: float) -> float:
    """How often training goes over a corpus, or over one of its sources.

    >>> epochs(trained_tokens=1.5e12, corpus_tokens=1e12)
    1.5
    """
    return trained_tokens / corpus_tokens


@formula(unit="tokens", source="definition; weights are shares of the tokens trained on")
def source_tokens(*, trained_tokens: float, weight: float, weights_sum: float) -> float:
    """Tokens that one source of several gives to training, repeats counted.

    >>> source_tokens(trained_tokens=1e12, weight=3.0, weights_sum=4.0)
    750000000000.0
    """
    return trained_tokens * weight / weights_sum


# tokens that all sources together give to training
mixture_tokens = total(unit="tokens")


@formula(unit="bytes/token", equation="sum of the bytes read of each source / trained_tokens")
def mixture_bytes_per_token(*, trained_tokens: float, **read_bytes: float) -> float:
    """Bytes read for each token of a mixture of sources.

    read_bytes: of each source over the whole training: its tokens x its stored bytes a token.

    >>> mixture_bytes_per_token(trained_tokens=1e12, web=1.5e12, images=22.5e12)
    24.0
    """
    return sum(read_bytes.values()) / trained_tokens


@formula(unit="tokens/s", source="definition; sources are mixed evenly over the training")
def source_tokens_per_s(
    *, tokens_per_s: float, source_tokens: float, trained_tokens: float
) -> float:
    """Tokens of one source of several that training takes each second.

    >>> source_tokens_per_s(tokens_per_s=8e6, source_tokens=250e9, trained_tokens=1e12)
    2000000.0
    """
    return tokens_per_s * source_tokens / trained_tokens


@formula(unit="tokens", source="Chinchilla, Hoffmann et al. 2022, arXiv:2203.15556, rounded")
def compute_optimal_tokens(*, params: float) -> float:
    """Tokens that make the best model of this size for its compute.

    >>> compute_optimal_tokens(params=8e9)
    160000000000.0
    """
    return TOKENS_PER_PARAM * params


# tokens of all sources, each counted once
corpus_tokens = total(unit="tokens")


# what the weights of all sources add up to; a source's share is its weight over this
weights_sum = total(
    unit="ratio", source="definition; without stated weights a source weighs what its tokens do"
)


@formula(unit="documents")
def docs(*, corpus_tokens: float, tokens_per_doc: float) -> float:
    """Documents that so many tokens come from.

    >>> docs(corpus_tokens=7e9, tokens_per_doc=700)
    10000000.0
    """
    return corpus_tokens / tokens_per_doc


@formula(unit="documents")
def docs_in(*, docs: float, kept_frac: float) -> float:
    """Documents that come in, for so many that are kept.

    >>> docs_in(docs=10e6, kept_frac=0.25)
    40000000.0
    """
    return docs / kept_frac


@formula(unit="bytes", source="definition; what storage fetches besides is read amplification")
def read_bytes(*, trained_tokens: float, stored_bytes_per_token: float) -> float:
    """Bytes of a source that training uses in all, repeats counted.

    >>> read_bytes(trained_tokens=2e12, stored_bytes_per_token=4.0)
    8000000000000.0
    """
    return trained_tokens * stored_bytes_per_token
