"""What a corpus of one or several sources holds, and how fast and how long training reads it."""

from tokenmill.sizing.formula import formula, product, quotient, total

SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86_400
HOURS_PER_DAY = 24
TOKENS_PER_PARAM = 20


# Tokens the whole job trains on each second.
tokens_per_s = quotient(
    "tokens_per_s",
    ("accelerators", "dense_flops_per_s", "mfu"),
    "train_flops_per_token",
    unit="tokens/s",
    source="MFU as defined by PaLM, Chowdhery et al. 2022, arXiv:2204.02311, appendix B",
)

# Tokens one accelerator trains on each second.
tokens_per_accelerator_s = quotient(
    "tokens_per_accelerator_s", "tokens_per_s", "accelerators", unit="tokens/s"
)

# Days of training, without failures.
training_days = quotient(
    "training_days",
    "trained_tokens",
    ("tokens_per_s", SECONDS_PER_DAY),
    unit="days",
    source="definition; failures and restarts come on top",
)

# Tokens trained on in so many days, without failures.
tokens_in_days = product(
    "tokens_in_days",
    "days",
    "tokens_per_s",
    SECONDS_PER_DAY,
    unit="tokens",
    source="definition; failures and restarts take from it",
)

# Hours of one accelerator that a training run takes, however many share it.
accelerator_hours = quotient(
    "accelerator_hours",
    ("trained_tokens", "train_flops_per_token"),
    ("dense_flops_per_s", "mfu", SECONDS_PER_HOUR),
    unit="hours",
    source="6 FLOP a parameter and token: Kaplan et al. 2020, arXiv:2001.08361; MFU: PaLM,"
    " arXiv:2204.02311",
)

# Accelerator hours of a job that lasts so many days.
job_accelerator_hours = product(
    "job_accelerator_hours", "training_days", HOURS_PER_DAY, "accelerators", unit="hours"
)

# Days that a job takes on so many accelerators.
job_days = quotient("job_days", "accelerator_hours", (HOURS_PER_DAY, "accelerators"), unit="days")

# Tokens seen in training, repeats counted.
trained_tokens = product("trained_tokens", "corpus_tokens", "epochs", unit="tokens")

# How often training goes over a corpus, or over one of its sources.
epochs = quotient("epochs", "trained_tokens", "corpus_tokens", unit="epochs")

# Tokens that one source of several gives to training, repeats counted.
source_tokens = quotient(
    "source_tokens",
    ("trained_tokens", "weight"),
    "weights_sum",
    unit="tokens",
    source="definition; weights are shares of the tokens trained on",
)

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


# Tokens of one source of several that training takes each second.
source_tokens_per_s = quotient(
    "source_tokens_per_s",
    ("tokens_per_s", "source_tokens"),
    "trained_tokens",
    unit="tokens/s",
    source="definition; sources are mixed evenly over the training",
)

# Tokens that make the best model of this size for its compute.
compute_optimal_tokens = product(
    "compute_optimal_tokens",
    TOKENS_PER_PARAM,
    "params",
    unit="tokens",
    source="Chinchilla, Hoffmann et al. 2022, arXiv:2203.15556, rounded",
)

# tokens of all sources, each counted once
corpus_tokens = total(unit="tokens")

# what the weights of all sources add up to; a source's share is its weight over this
weights_sum = total(
    unit="ratio", source="definition; without stated weights a source weighs what its tokens do"
)

# Documents that so many tokens come from.
docs = quotient("docs", "corpus_tokens", "tokens_per_doc", unit="documents")

# Documents that come in, for so many that are kept.
docs_in = quotient("docs_in", "docs", "kept_frac", unit="documents")

# Bytes of a source that training uses in all, repeats counted.
read_bytes = product(
    "read_bytes",
    "trained_tokens",
    "stored_bytes_per_token",
    unit="bytes",
    source="definition; what storage fetches besides is read amplification",
)
