"""How fast storage must be read to keep a training run fed, in bytes and in requests.

useful    the bytes that training consumes
device    what storage delivers for them: more by the read amplification, less what nodes
          still hold in memory from an earlier epoch

Samples of images with text lie in storage in one of three ways:

alone   a read each, at random
Arrow   a read for each record batch, of as many samples as it holds
tar     files read from end to end, in requests of a stated size
"""

import math

from tokenmill.sizing.formula import formula, of_node, product, quotient, total

HDD_READS_PER_S = 150.0  # of one spindle, at random; unverified
NVME_READS_PER_S = 500_000.0  # of one drive, at random, the lower of 0.5 to 1 M; unverified
TAR_MEMBER_BYTES = 768  # of a member beside its content: header 512, and half a block to fill it
TAR_SAMPLE_MEMBERS = 2  # of a sample beside its images: text, and JSON of what is known of it


# Sustained rate at which the whole job reads from storage, while nothing is cached.
read_bytes_per_s = product(
    "read_bytes_per_s",
    "tokens_per_s",
    "stored_bytes_per_token",
    "read_amplification",
    unit="bytes/s",
    source="definition; nothing is counted as cached in the nodes' memory",
)


@formula(
    unit="bytes/s",
    source="definition; the first epoch, of which nothing is cached, needs the whole rate",
)
def uncached_bytes_per_s(*, read_bytes_per_s: float, cached_frac: float) -> float:
    """Mean rate over all epochs, what the nodes still hold in memory left out.

    >>> uncached_bytes_per_s(read_bytes_per_s=12e6, cached_frac=0.25)
    9000000.0
    """
    return read_bytes_per_s * (1 - cached_frac)


# Nodes that the accelerators of a job stand in.
nodes = quotient("nodes", "accelerators", "per_node", whole=True, unit="nodes")

# The share of one node; all of it where the job is smaller than a node.
node_read_bytes_per_s = of_node(
    "node_read_bytes_per_s",
    "read_bytes_per_s",
    unit="bytes/s",
    source="definition; every accelerator reads a share of its own",
)

# Of the requests, the share of one node.
node_reads_per_s = of_node("node_reads_per_s", "reads_per_s", unit="reads/s")

# The share of one accelerator.
accelerator_read_bytes_per_s = quotient(
    "accelerator_read_bytes_per_s",
    "read_bytes_per_s",
    "accelerators",
    unit="bytes/s",
    source="definition; every accelerator reads a share of its own",
)

# Bytes of one sequence as stored.
sequence_bytes = product("sequence_bytes", "seq_len", "stored_bytes_per_token", unit="bytes")

# Bytes that training uses of one read.
useful_bytes_per_read = product(
    "useful_bytes_per_read", "sequence_bytes", "sequences_per_read", unit="bytes"
)


@formula(
    unit="reads/s",
    source="definition; data in another order than on storage is read in runs of sequences",
)
def sequence_reads_per_s(
    *, tokens_per_s: float, seq_len: float, sequences_per_read: float = 1.0
) -> float:
    """Reads each second, where shuffling fetches every sequence, or run of sequences, apart.

    >>> sequence_reads_per_s(tokens_per_s=8.192e6, seq_len=8192)
    1000.0
    >>> sequence_reads_per_s(tokens_per_s=8.192e6, seq_len=8192, sequences_per_read=16)
    62.5
    """
    return tokens_per_s / (seq_len * sequences_per_read)


@formula(
    unit="ratio",
    equation="amplification x (useful_bytes_per_read + wasted_bytes_per_read)"
    " / useful_bytes_per_read",
    source="fitted to what this project measured: Arrow IPC files on ext4, drives virtual, rows of"
    " 4 to 128 KiB",
)
def read_amplification(
    *, useful_bytes_per_read: float, wasted_bytes_per_read: float, amplification: float = 1.0
) -> float:
    """Bytes that storage delivers for each byte used, by how a file is read.

    amplification: in proportion to what is read, as of record batches with columns that
    training does not use.  wasted_bytes_per_read: the same however much a read fetches, as
    by the read-ahead of a memory map.

    >>> read_amplification(useful_bytes_per_read=4096, wasted_bytes_per_read=53_000)
    13.939453125
    """
    wasted = wasted_bytes_per_read / useful_bytes_per_read
    return amplification * (1 + wasted)


# Bytes that the kernel fetches around a read of a memory map, and that nobody uses.
wasted_bytes_per_read = product(
    "wasted_bytes_per_read",
    "read_ahead_bytes",
    "read_aheads_per_read",
    unit="bytes",
    source="fitted to what this project measured with read-aheads of 32 KiB to 8 MiB; an upper"
    " bound from 512 KiB on, where it was 1.0 to 1.8 of them",
)

# Memory of a node that holds pages of files.
page_cache_bytes = product("page_cache_bytes", "host_memory_bytes", "page_cache_frac", unit="bytes")


@formula(
    unit="fraction",
    equation="mean over epochs e of min(page_cache_bytes / dataset_bytes,"
    " 1 - (1 - 1 / nodes)^(e - 1))",
    source="upper bound: a random share of the dataset is held; a cache that drops what was"
    " longest unused keeps less",
)
def cached_frac(
    *, dataset_bytes: float, page_cache_bytes: float, nodes: float, epochs: float
) -> float:
    """Share of all reads that the page cache of a node can answer at most, over all epochs.

    Each epoch is shuffled across nodes, so a node reads another random share each time, and
    finds of it what it has read before and still holds; in the first epoch nothing. An
    epoch that is not completed counts by its share.

    >>> cached_frac(dataset_bytes=1e12, page_cache_bytes=2e12, nodes=1, epochs=4)
    0.75
    >>> cached_frac(dataset_bytes=1e12, page_cache_bytes=2e12, nodes=100, epochs=1)
    0.0
    """
    held = min(page_cache_bytes / dataset_bytes, 1.0)
    last = math.ceil(epochs) - 1  # epochs that another one was before
    if last < 1:
        return 0.0
    unread = 0.0 if nodes == 1 else math.exp(last * math.log1p(-1 / nodes))
    not_begun = (1 + last - epochs) * min(held, 1 - unread)
    cached = _cached_epochs(held, nodes, last) - not_begun
    return max(cached, 0.0) / epochs  # rounding may make it less than nothing


def _cached_epochs(held: float, nodes: float, last: int) -> float:
    """The sum over e = 1 … last of min(held, 1 - (1 - 1 / nodes)^e), without a loop.

    Up to the epoch from which on a node has read more than it holds, a geometric series.
    """
    if nodes == 1:
        return last * held
    unread = math.log1p(-1 / nodes)  # log of the share that a node has not read in an epoch
    rising = last if held == 1 else min(last, math.floor(math.log1p(-held) / unread))
    seen = rising + (nodes - 1) * math.expm1(rising * unread)
    return seen + (last - rising) * held


# Drives that answer so many reads each second, whatever their size.
drives_for_reads = quotient(
    "drives_for_reads",
    "reads_per_s",
    "drive_reads_per_s",
    whole=True,
    unit="drives",
    source="definition; redundancy and reads larger than one request come on top",
)

# Reads each second, where every sample is fetched apart, as an image with its caption.
sample_reads_per_s = quotient(
    "sample_reads_per_s",
    "tokens_per_s",
    "sample_tokens",
    unit="reads/s",
    source="definition; each sample is read by itself",
)

# Reads each second, where a read fetches all samples of a record batch.
batch_reads_per_s = quotient(
    "batch_reads_per_s",
    "tokens_per_s",
    ("sample_tokens", "batch_samples"),
    unit="reads/s",
    source="definition; a record batch is read whole",
)


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


# Reads each second, where tars are read from end to end.
tar_reads_per_s = quotient(
    "tar_reads_per_s",
    ("tokens_per_s", "tar_sample_bytes"),
    ("sample_tokens", "request_bytes"),
    unit="reads/s",
    source="definition; files are read from end to end",
)

# reads each second of all sources
total_reads_per_s = total(unit="reads/s")

# Bytes that training uses of one read, where reads differ in size.
mean_useful_bytes_per_read = quotient(
    "mean_useful_bytes_per_read",
    ("tokens_per_s", "stored_bytes_per_token"),
    "reads_per_s",
    unit="bytes",
)
