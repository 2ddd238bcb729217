"""What a node needs to make batches ready: loader workers, cores for them, memory.

storage -> workers (read, decode, shuffle) -> prefetched batches -> pinned memory -> accelerator
"""

import math

from tokenmill.sizing.formula import formula, product, quotient, total

BUSY_FRAC = 0.7  # of its time that a worker may be busy, so that batches never come late
PINNED_BATCHES = 2  # one is copied to the accelerator while the next one is filled
WIDTH_IN_MEMORY = 8  # PyTorch's token ids are 64-bit integers

_DECODED = "definition; a full decode, as Pillow does it, without resizing"


@formula(unit="samples/s", source="definition; every accelerator reads a share of its own")
def node_samples_per_s(
    *, tokens_per_s: float, tokens_per_sample: float, accelerators: float, per_node: float
) -> float:
    """Samples, or sequences, that the workers of a node make ready each second.

    >>> node_samples_per_s(
    ...     tokens_per_s=8e6, tokens_per_sample=8000, accelerators=1000, per_node=8
    ... )
    8.0
    """
    return tokens_per_s / tokens_per_sample * min(per_node, accelerators) / accelerators


# Cores that do nothing but decode images.
decode_cores = quotient(
    "decode_cores", "images_per_s", "images_per_core_s", unit="cores", source=_DECODED
)

# CPU time to decode the images of a sample.
decode_cpu_s = quotient(
    "decode_cpu_s", "images_per_sample", "images_per_core_s", unit="s", source=_DECODED
)


@formula(
    unit="workers",
    equation="the larger of accelerators x workers_per_accelerator, and samples_per_s"
    " x sample_cpu_s / busy_frac rounded up",
    source="Bekman, Machine Learning Engineering: 2 to 3 workers an accelerator",
)
def workers(
    *,
    accelerators: float,
    workers_per_accelerator: float,
    samples_per_s: float = 0.0,
    sample_cpu_s: float = 0.0,
    busy_frac: float = BUSY_FRAC,
) -> float:
    """Loader processes of a node, or of a job.

    accelerators, samples_per_s: of the node, or of the job.

    >>> workers(accelerators=8, workers_per_accelerator=2)
    16
    >>> workers(
    ...     accelerators=8, workers_per_accelerator=2, samples_per_s=3500.0, sample_cpu_s=0.01
    ... )
    50
    """
    busy = math.ceil(samples_per_s * sample_cpu_s / busy_frac)
    return max(accelerators * workers_per_accelerator, busy)


@formula(
    unit="cores",
    source="Bekman, Machine Learning Engineering: a core for each worker and each accelerator;"
    " threads of the network and of checkpoints come on top",
)
def cores(*, workers: float, accelerators: float) -> float:
    """Cores for the workers, and for the process that drives each accelerator.

    >>> cores(workers=16, accelerators=8)
    24
    """
    return workers + accelerators


# One accelerator's share of a batch, as it lies in memory.
batch_bytes = quotient(
    "batch_bytes", ("batch_tokens", "decoded_bytes_per_token"), "accelerators", unit="bytes"
)

# Batches that workers have ready.
prefetched_bytes = product(
    "prefetched_bytes",
    "workers",
    "prefetch",
    "batch_bytes",
    unit="bytes",
    source="PyTorch DataLoader: each worker prefetches prefetch_factor batches",
)

# Batches in memory that accelerators copy from.
pinned_bytes = product(
    "pinned_bytes",
    "accelerators",
    PINNED_BATCHES,
    "batch_bytes",
    unit="bytes",
    source="our choice: one batch is copied while the next is filled",
)

# Sequences among which the workers shuffle.
buffered_bytes = product(
    "buffered_bytes",
    "workers",
    "buffer_sequences",
    "sequence_bytes",
    unit="bytes",
    source="definition; every worker has a buffer of its own",
)

# memory of a node that all this takes together
host_memory_bytes = total(
    unit="bytes", source="definition; the operating system and the training processes come on top"
)
