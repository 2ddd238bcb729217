"""What images and other large samples demand of storage, by three methods of unlike worth.

tokens      bytes of an image-text sample over its tokens, times the token rate
FLOP ratio  bytes of a sample over its FLOP, times FLOP/s: an upper bound, since no loader,
            network or small kernel reaches the rate that it assumes
measured    bytes of a batch over the time a real accelerator computes on it
"""

from tokenmill.sizing.formula import formula, product, quotient

_RATIO = (
    "Ibrahim et al., PMBS 2021, doi 10.1109/PMBS54543.2021.00007; an upper bound: V100"
    " measured for DLIO read 8 to 15 times less than their peak implies"
)


@formula(unit="tokens")
def sample_tokens(
    *, tokens_per_image: float, images_per_sample: float, text_tokens: float
) -> float:
    """Tokens of one sample: images with their text.

    >>> sample_tokens(tokens_per_image=1024, images_per_sample=1, text_tokens=100)
    1124
    """
    return tokens_per_image * images_per_sample + text_tokens


@formula(unit="bytes", source="definition; images as stored, compressed")
def sample_bytes(*, image_bytes: float, images_per_sample: float, text_bytes: float) -> float:
    """Bytes of one sample as stored: images, compressed, with their text.

    >>> sample_bytes(image_bytes=250e3, images_per_sample=1, text_bytes=400)
    250400.0
    """
    return image_bytes * images_per_sample + text_bytes


# Stored bytes a token of image-text samples.
image_text_bytes_per_token = quotient(
    "image_text_bytes_per_token",
    "sample_bytes",
    "sample_tokens",
    unit="bytes/token",
    source="definition; images are stored, not their tokens",
)


@formula(unit="bytes/token", source="definition; images are read where they stand")
def referenced_bytes_per_token(
    *,
    stored_bytes_per_token: float,
    image_bytes: float,
    images_per_sample: float,
    sample_tokens: float,
) -> float:
    """Bytes that are read a token where a dataset says where its images stand, with these.

    >>> referenced_bytes_per_token(
    ...     stored_bytes_per_token=4, image_bytes=250e3, images_per_sample=1, sample_tokens=1000
    ... )
    254.0
    """
    return stored_bytes_per_token + image_bytes * images_per_sample / sample_tokens


# Images that the whole job reads and decodes each second.
images_per_s = quotient(
    "images_per_s", ("tokens_per_s", "images_per_sample"), "sample_tokens", unit="images/s"
)

# Bytes read for each FLOP of training on a sample.
# Both counted in one base, or bytes that are binary beside FLOP that are not are 7 % off.
bytes_per_flop = quotient(
    "bytes_per_flop", "sample_bytes", "sample_flops", unit="bytes/FLOP", source=_RATIO
)


@formula(
    unit="bytes/s", equation="at most: sample_bytes / sample_flops x flops_per_s", source=_RATIO
)
def flop_ratio_bytes_per_s(
    *, sample_bytes: float, sample_flops: float, flops_per_s: float
) -> float:
    """Read rate at most, were all the FLOP/s spent on samples.

    flops_per_s: sustained and dense. At the peak the bound was 8 to 15 times what V100 needed.

    >>> rate = flop_ratio_bytes_per_s(
    ...     sample_bytes=0.14 * 2**20, sample_flops=31 * 2**30, flops_per_s=130e12
    ... )
    >>> f"{rate / 1e6:.1f} MB/s"  # ResNet-50 on a V100
    '573.3 MB/s'
    """
    return bytes_per_flop(sample_bytes=sample_bytes, sample_flops=sample_flops) * flops_per_s


# Samples that one accelerator trains on each second.
compute_samples_per_s = quotient(
    "compute_samples_per_s",
    ("dense_flops_per_s", "mfu"),
    "sample_flops",
    unit="samples/s",
    source="MFU as defined by PaLM, Chowdhery et al. 2022, arXiv:2204.02311, appendix B",
)

# Bytes read for so many samples each second.
sample_read_bytes_per_s = product(
    "sample_read_bytes_per_s", "samples_per_s", "sample_bytes", unit="bytes/s"
)

# What one accelerator reads, from the time it computes on a batch.
measured_read_bytes_per_s = quotient(
    "measured_read_bytes_per_s",
    ("batch_samples", "record_bytes"),
    "computation_s",
    unit="bytes/s",
    source="MLPerf Storage and DLIO: an accelerator is emulated by waiting computation_s",
)
