"""The same corpus in the formats that trainers read, in bytes and in files.

Arrow      a row a document, or a row a packed sequence; columns beside the tokens
Parquet    the same, encoded and compressed: it has no integers of less than 4 bytes, so
           only what compression leaves counts, and that is the same for either width
Megatron   .bin: token ids and nothing else; .idx: 20 bytes a document
MDS        samples behind a table of offsets; shards listed in an index
JSONL.gz   the text itself, before any tokenizer
"""

import math

from tokenmill.sizing.formula import formula, product, total

ARROW_DOC_BYTES = 50.0  # offsets 12, number 8, id and source 30: "part-00042.jsonl.gz#1234567"
ARROW_SEQUENCE_BYTES = 16.0  # doc_id and doc_offset, 64 bits each
PARQUET_BYTES_PER_TOKEN = 1.9
PARQUET_SOURCE = "measured for this project: zstd, 2.2 MB of C4; documentation takes 1.0 to 1.6"
MEGATRON_HEADER_BYTES = 34  # magic 9, version 8, type of ids 1, counts 8 + 8
MEGATRON_SEQUENCE_BYTES = 12  # length 4, offset 8; a document is one sequence
MEGATRON_DOC_BYTES = 8  # the sequence it ends with; one more stands before the first
MDS_OFFSET_BYTES = 4  # of each sample, and one more
MDS_COUNT_BYTES = 4  # samples in a shard
MDS_CONFIG_BYTES = 188  # JSON at the head of a shard of one column
MDS_INDEX_ENTRY_BYTES = 304  # JSON about a shard in index.json
MDS_SHARD_BYTES = float(1 << 26)  # MDSWriter's size_limit
JSONL_RECORD_BYTES = 80.0  # keys, quotes, id and url of a record; our choice

_MDS = "MosaicML streaming, MDSWriter: a count, offsets and JSON of 188 bytes; 304 in index.json"


@formula(
    unit="bytes",
    source="tokenmill's dataset: lists of ids, document number, id, source; not compressed",
)
def arrow_bytes(
    *, tokens: float, docs: float, token_width_bytes: float, doc_bytes: float = ARROW_DOC_BYTES
) -> float:
    """Arrow IPC, a row a document, as tokenmill writes it.

    doc_bytes: offsets of three columns, a number, an id and a source as text.

    >>> arrow_bytes(tokens=700e9, docs=1e9, token_width_bytes=2)
    1450000000000.0
    """
    return tokens * token_width_bytes + docs * doc_bytes


@formula(
    unit="bytes", source="tokenmill's packed dataset: ids, document number, offset; not compressed"
)
def packed_arrow_bytes(
    *,
    tokens: float,
    seq_len: float,
    token_width_bytes: float,
    sequence_bytes: float = ARROW_SEQUENCE_BYTES,
) -> float:
    """Arrow IPC, a row a sequence of fixed length, as tokenmill writes it.

    >>> packed_arrow_bytes(tokens=8192e6, seq_len=8192, token_width_bytes=2)
    16400000000.0
    """
    return tokens * token_width_bytes + tokens / seq_len * sequence_bytes


# Parquet, compressed, a row a document.
parquet_bytes = product(
    "parquet_bytes",
    "tokens",
    "parquet_bytes_per_token",
    unit="bytes",
    source="Parquet's integers have 4 bytes or 8, whatever their range; compression decides",
)


@formula(
    unit="bytes",
    equation="tokens x token_width_bytes + docs x 20 + files x 42",
    source="Megatron-LM, IndexedDataset: length 4, offset 8 and end 8 a document; head 34 + 8",
)
def megatron_bytes(
    *, tokens: float, docs: float, token_width_bytes: float, files: float = 1.0
) -> float:
    """Megatron-LM's .bin and .idx together.

    files: pairs of .bin and .idx.

    >>> megatron_bytes(tokens=1000, docs=3, token_width_bytes=2)
    2102.0
    """
    index = docs * (MEGATRON_SEQUENCE_BYTES + MEGATRON_DOC_BYTES)
    heads = files * (MEGATRON_HEADER_BYTES + MEGATRON_DOC_BYTES)
    return tokens * token_width_bytes + index + heads


@formula(
    unit="files",
    equation="sequences / floor((mds_shard_bytes - 196) / (seq_len x token_width_bytes + 4)),"
    " rounded up",
    source=_MDS,
)
def mds_shards(
    *,
    tokens: float,
    seq_len: float,
    token_width_bytes: float,
    mds_shard_bytes: float = MDS_SHARD_BYTES,
) -> float:
    """Shards of MosaicML's streaming format, a sample a sequence; index.json is one file more.

    >>> mds_shards(tokens=1e9, seq_len=2048, token_width_bytes=2)
    30
    """
    sequences = math.ceil(tokens / seq_len)
    sample = seq_len * token_width_bytes + MDS_OFFSET_BYTES
    room = mds_shard_bytes - MDS_COUNT_BYTES - MDS_OFFSET_BYTES - MDS_CONFIG_BYTES
    return math.ceil(sequences / max(room // sample, 1))


@formula(
    unit="bytes",
    equation="sequences x (seq_len x token_width_bytes + 4) + shards x 500",
    source=_MDS,
)
def mds_bytes(
    *,
    tokens: float,
    seq_len: float,
    token_width_bytes: float,
    mds_shard_bytes: float = MDS_SHARD_BYTES,
) -> float:
    """MosaicML's streaming format, not compressed, a sample a sequence of fixed length.

    The last sequence is padded. A sample of no fixed length takes 4 bytes more.

    >>> mds_bytes(tokens=2048, seq_len=2048, token_width_bytes=2)
    4600
    """
    sequences = math.ceil(tokens / seq_len)
    shards = mds_shards(
        tokens=tokens,
        seq_len=seq_len,
        token_width_bytes=token_width_bytes,
        mds_shard_bytes=mds_shard_bytes,
    )
    samples = sequences * (seq_len * token_width_bytes + MDS_OFFSET_BYTES)
    head = MDS_COUNT_BYTES + MDS_OFFSET_BYTES + MDS_CONFIG_BYTES
    return samples + shards * (head + MDS_INDEX_ENTRY_BYTES)


@formula(unit="bytes")
def jsonl_gz_bytes(
    *,
    text_bytes: float,
    docs: float,
    compression_ratio: float,
    record_bytes: float = JSONL_RECORD_BYTES,
) -> float:
    """The text as compressed JSON lines.

    gzip at level 6 makes 2.6 of C4, 3.7 to 4.1 of documentation.

    >>> jsonl_gz_bytes(text_bytes=2800e9, docs=1e9, compression_ratio=3.0)
    960000000000.0
    """
    return (text_bytes + docs * record_bytes) / compression_ratio


# documents of several sources
total_docs = total(unit="documents")


@formula(unit="files", equation="format_bytes / shard_bytes, rounded up")
def files(*, format_bytes: float, shard_bytes: float) -> float:
    """Files of a stated size that so many bytes make.

    >>> files(format_bytes=1e12, shard_bytes=512e6)
    1954
    """
    return max(math.ceil(format_bytes / shard_bytes), 1)


@formula(
    unit="files",
    equation="2 x (format_bytes / shard_bytes, rounded up)",
    source="Megatron-LM: a .bin and its .idx",
)
def megatron_files(*, format_bytes: float, shard_bytes: float) -> float:
    """Files of Megatron-LM's format: each .bin has its .idx.

    >>> megatron_files(format_bytes=1e12, shard_bytes=512e6)
    3908
    """
    return 2 * files(format_bytes=format_bytes, shard_bytes=shard_bytes)
