"""Reads each second of data that are not read as sequences of tokens, and of several sources.

Samples of images with text lie in storage in one of three ways:

alone   a read each, at random
Arrow   a read for each record batch, of as many samples as it holds
tar     files read from end to end, in requests of a stated size
"""

from tokenmill.sizing.formula import formula

TAR_MEMBER_BYTES = 768  # of a member beside its content: header 512, and half a block to fill it
TAR_SAMPLE_MEMBERS = 2  # of a sample beside its images: text, and JSON of what is known of it


@formula(
    unit="reads/s",
    equation="tokens_per_s / sample_tokens",
    source="definition; each sample is read by itself",
)
def sample_reads_per_s(*, tokens_per_s: float, sample_tokens: float) -> float:
    """Reads each second, where every sample is fetched apart, as an image with its caption.

    >>> sample_reads_per_s(tokens_per_s=8.43e6, sample_tokens=1124)
    7500.0
    """
    return tokens_per_s / sample_tokens


@formula(
    unit="reads/s",
    equation="tokens_per_s / sample_tokens / batch_samples",
    source="definition; a record batch is read whole",
)
def batch_reads_per_s(*, tokens_per_s: float, sample_tokens: float, batch_samples: float) -> float:
    """Reads each second, where a read fetches all samples of a record batch.

    >>> batch_reads_per_s(tokens_per_s=8.43e6, sample_tokens=1124, batch_samples=100)
    75.0
    """
    return tokens_per_s / sample_tokens / batch_samples


@formula(
    unit="bytes",
    equation="sample_bytes + (images_per_sample + 2) x 768",
    source="POSIX ustar: a header of 512 bytes, content filled up to blocks of 512; the JSON itself"
    " is left out",
)
def tar_sample_bytes(*, sample_bytes: float, images_per_sample: float) -> float:
    """Bytes that a sample takes in a tar, as WebDataset has it: images, text and JSON.

    >>> tar_sample_bytes(sample_bytes=250_400, images_per_sample=1)
    252704
    """
    members = images_per_sample + TAR_SAMPLE_MEMBERS
    return sample_bytes + members * TAR_MEMBER_BYTES


@formula(
    unit="reads/s",
    equation="tokens_per_s / sample_tokens x tar_sample_bytes / request_bytes",
    source="definition; files are read from end to end",
)
def tar_reads_per_s(
    *, tokens_per_s: float, sample_tokens: float, tar_sample_bytes: float, request_bytes: float
) -> float:
    """Reads each second, where tars are read from end to end.

    >>> tar_reads_per_s(
    ...     tokens_per_s=8.43e6, sample_tokens=1124, tar_sample_bytes=256e3, request_bytes=64e6
    ... )
    30.0
    """
    return tokens_per_s / sample_tokens * tar_sample_bytes / request_bytes


@formula(unit="reads/s", equation="sum of its inputs")
def total_reads_per_s(**sources_reads_per_s: float) -> float:
    """Reads each second of all sources.

    >>> total_reads_per_s(web=1000.0, photos=500.0)
    1500.0
    """
    return sum(sources_reads_per_s.values())


@formula(unit="bytes", equation="tokens_per_s x stored_bytes_per_token / reads_per_s")
def mean_useful_bytes_per_read(
    *, tokens_per_s: float, stored_bytes_per_token: float, reads_per_s: float
) -> float:
    """Bytes that training uses of one read, where reads differ in size.

    >>> mean_useful_bytes_per_read(
    ...     tokens_per_s=8.43e6, stored_bytes_per_token=200.0, reads_per_s=7500.0
    ... )
    224800.0
    """
    return tokens_per_s * stored_bytes_per_token / reads_per_s
