"""What a corpus of one or several sources holds, and what training reads of it."""

from tokenmill.sizing.formula import formula


@formula(unit="tokens", equation="sum of its inputs")
def corpus_tokens(**sources_tokens: float) -> float:
    """Tokens of all sources, each counted once.

    >>> corpus_tokens(web=750e9, code=250e9)
    1000000000000.0
    """
    return sum(sources_tokens.values())


@formula(
    unit="ratio",
    equation="sum of its inputs",
    source="definition; without stated weights a source weighs what its tokens do",
)
def weights_sum(**sources_weights: float) -> float:
    """What the weights of all sources add up to; a source's share is its weight over this.

    >>> weights_sum(web=3.0, code=1.0)
    4.0
    """
    return sum(sources_weights.values())


@formula(unit="documents", equation="corpus_tokens / tokens_per_doc")
def docs(*, corpus_tokens: float, tokens_per_doc: float) -> float:
    """Documents that so many tokens come from.

    >>> docs(corpus_tokens=7e9, tokens_per_doc=700)
    10000000.0
    """
    return corpus_tokens / tokens_per_doc


@formula(unit="documents", equation="docs / kept_frac")
def docs_in(*, docs: float, kept_frac: float) -> float:
    """Documents that come in, for so many that are kept.

    >>> docs_in(docs=10e6, kept_frac=0.25)
    40000000.0
    """
    return docs / kept_frac


@formula(
    unit="bytes",
    equation="trained_tokens x stored_bytes_per_token",
    source="definition; what storage fetches besides is read amplification",
)
def read_bytes(*, trained_tokens: float, stored_bytes_per_token: float) -> float:
    """Bytes of a source that training uses in all, repeats counted.

    >>> read_bytes(trained_tokens=2e12, stored_bytes_per_token=4.0)
    8000000000000.0
    """
    return trained_tokens * stored_bytes_per_token
