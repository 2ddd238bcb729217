"""Reads each second of data that are not read as sequences of tokens, and of several sources."""

from sizing.formula import Formula


def sample_reads_per_s(*, tokens_per_s: float, sample_tokens: float) -> float:
    """Reads each second, where every sample is fetched apart, as an image with its caption.

        tokens/s / tokens of a sample

    >>> sample_reads_per_s(tokens_per_s=8.43e6, sample_tokens=1124)
    7500.0
    """
    return tokens_per_s / sample_tokens


def total_reads_per_s(**sources_reads_per_s: float) -> float:
    """Reads each second of all sources.

        the sum over sources

    >>> total_reads_per_s(web=1000.0, photos=500.0)
    1500.0
    """
    return sum(sources_reads_per_s.values())


def mean_useful_bytes_per_read(
    *, tokens_per_s: float, stored_bytes_per_token: float, reads_per_s: float
) -> float:
    """Bytes that training uses of one read, where reads differ in size.

        tokens/s x stored bytes a token / reads/s

    >>> mean_useful_bytes_per_read(
    ...     tokens_per_s=8.43e6, stored_bytes_per_token=200.0, reads_per_s=7500.0
    ... )
    224800.0
    """
    return tokens_per_s * stored_bytes_per_token / reads_per_s


SAMPLE_READS_PER_S = Formula(
    function=sample_reads_per_s,
    equation="tokens_per_s / sample_tokens",
    unit="reads/s",
    source="definition; each sample is read by itself",
)
TOTAL_READS_PER_S = Formula(
    function=total_reads_per_s,
    equation="sum of its inputs",
    unit="reads/s",
    source="definition",
)
MEAN_USEFUL_BYTES_PER_READ = Formula(
    function=mean_useful_bytes_per_read,
    equation="tokens_per_s x stored_bytes_per_token / reads_per_s",
    unit="bytes",
    source="definition",
)
