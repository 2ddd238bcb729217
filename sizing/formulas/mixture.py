"""What a corpus of one or several sources holds, and what training reads of it."""

from tokenmill.sizing.formula import Formula


def corpus_tokens(**sources_tokens: float) -> float:
    """Tokens of all sources, each counted once.

        the sum over sources

    >>> corpus_tokens(web=750e9, code=250e9)
    1000000000000.0
    """
    return sum(sources_tokens.values())


def weights_sum(**sources_weights: float) -> float:
    """What the weights of all sources add up to; a source's share is its weight over this.

        the sum over sources

    >>> weights_sum(web=3.0, code=1.0)
    4.0
    """
    return sum(sources_weights.values())


def docs(*, corpus_tokens: float, tokens_per_doc: float) -> float:
    """Documents that so many tokens come from.

        tokens / tokens in a document

    >>> docs(corpus_tokens=7e9, tokens_per_doc=700)
    10000000.0
    """
    return corpus_tokens / tokens_per_doc


def docs_in(*, docs: float, kept_frac: float) -> float:
    """Documents that come in, for so many that are kept.

        documents kept / fraction kept

    >>> docs_in(docs=10e6, kept_frac=0.25)
    40000000.0
    """
    return docs / kept_frac


def read_bytes(*, trained_tokens: float, stored_bytes_per_token: float) -> float:
    """Bytes of a source that training uses in all, repeats counted.

        tokens trained on x stored bytes a token

    >>> read_bytes(trained_tokens=2e12, stored_bytes_per_token=4.0)
    8000000000000.0
    """
    return trained_tokens * stored_bytes_per_token


CORPUS_TOKENS = Formula(
    function=corpus_tokens,
    equation="sum of its inputs",
    unit="tokens",
    source="definition",
)
WEIGHTS_SUM = Formula(
    function=weights_sum,
    equation="sum of its inputs",
    unit="ratio",
    source="definition; without stated weights a source weighs what its tokens do",
)
DOCS = Formula(
    function=docs,
    equation="corpus_tokens / tokens_per_doc",
    unit="documents",
    source="definition",
)
DOCS_IN = Formula(
    function=docs_in,
    equation="docs / kept_frac",
    unit="documents",
    source="definition",
)
READ_BYTES = Formula(
    function=read_bytes,
    equation="trained_tokens x stored_bytes_per_token",
    unit="bytes",
    source="definition; what storage fetches besides is read amplification",
)
