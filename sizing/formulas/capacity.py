"""How much must be stored, and what has to be bought to store it.

logical   the bytes of the files
usable    what the file system must show as its size: it must not run full, and data grows
raw       what the drives add up to: redundancy on top
"""

import math

from tokenmill.sizing.formula import formula, product, quotient, total

DIGEST_BYTES = 16  # MD5, or 128 bits of another hash
DOC_ID_BYTES = 8
BAND_KEY_BYTES = 8
SET_SIZES_BYTES = 8
DATATROVE_ROW_BYTES = 4  # the number of the document that follows each signature
LZ4_TEXT_RATIO = 1.6
LZ4_SOURCE = "measured for this project: 2.2 MB of C4; documentation makes 2.3 to 2.5"
LOG_BYTES_PER_ACCELERATOR_DAY = 1e6  # our choice


# Bytes of one stage of the pipeline for the whole corpus.
stage_bytes = quotient(
    "stage_bytes",
    ("measured_bytes", "corpus_tokens"),
    "measured_tokens",
    unit="bytes",
    source="proportion to the tokens",
)


@formula(
    unit="times",
    equation="(corpus_tokens / measured_tokens) ^ (1 / growth_exponent)",
    source="Heaps: unique documents grow as documents ^ growth_exponent; 1: no further duplicates",
)
def docs_ratio(
    *, corpus_tokens: float, measured_tokens: float, growth_exponent: float = 1.0
) -> float:
    """Documents that must come in for so many tokens, of those that were measured.

    >>> docs_ratio(corpus_tokens=4e9, measured_tokens=1e9)
    4.0
    >>> docs_ratio(corpus_tokens=4e9, measured_tokens=1e9, growth_exponent=0.5)
    16.0
    """
    return math.pow(corpus_tokens / measured_tokens, 1 / growth_exponent)


# Bytes of a stage that holds something of every document that comes in.
docs_stage_bytes = product(
    "docs_stage_bytes",
    "measured_bytes",
    "docs_ratio",
    unit="bytes",
    source="proportion to the documents that come in",
)

# UTF-8 bytes of a corpus of so many tokens.
text_bytes = product("text_bytes", "corpus_tokens", "text_bytes_per_token", unit="bytes")

# Bytes of a tokenized corpus of so many tokens.
dataset_bytes = product("dataset_bytes", "corpus_tokens", "stored_bytes_per_token", unit="bytes")

# Bytes of the files that come in, compressed text.
# Documents that will be removed are taken to be as long as those kept.
raw_input_bytes = quotient(
    "raw_input_bytes",
    ("corpus_tokens", "text_bytes_per_token"),
    ("kept_frac", "compression_ratio"),
    unit="bytes",
    source="definition; documents that are removed are taken to be as long as those kept",
)

# Bytes of the samples that come in, images that are stored as they came.
raw_sample_bytes = quotient(
    "raw_sample_bytes",
    "dataset_bytes",
    "kept_frac",
    unit="bytes",
    source="definition; samples that are removed are taken to be as large as those kept",
)


# Bytes of the documents between filtering and deduplication, as if no filter removed any: those
# that are removed as duplicates are stored here.
filtered_bytes = quotient(
    "filtered_bytes",
    ("corpus_tokens", "text_bytes_per_token"),
    ("kept_frac", "lz4_ratio"),
    unit="bytes",
    equation="at most: corpus_tokens x text_bytes_per_token / kept_frac / lz4_ratio",
    source="tokenmill's documents between filters and deduplication: Arrow, LZ4",
)


@formula(
    unit="bytes",
    equation="docs_in x (32 + 8 x bands)",
    source="tokenmill's key files: id, 128-bit digest, two 32-bit sizes of a set, 64-bit band keys",
)
def key_bytes(*, docs_in: float, bands: float) -> float:
    """Digests and band keys of all documents that come in, as tokenmill stores them beside sets.

    32: 8 of the id, 16 of the digest, 8 of where a set ends and of how many hashes it has.

    >>> key_bytes(docs_in=1, bands=14)
    144
    """
    return docs_in * (DOC_ID_BYTES + DIGEST_BYTES + SET_SIZES_BYTES + BAND_KEY_BYTES * bands)


# Sets of the n-grams of all documents that come in.
set_bytes = quotient(
    "set_bytes",
    ("corpus_tokens", "text_bytes_per_token", "sets_frac"),
    "kept_frac",
    unit="bytes",
    source="tokenmill's step `near`: 32 bits of each word n-gram, until the run ends",
)


@formula(
    unit="bytes",
    source="datatrove's MinHash: a record of the signature and a 4-byte number in each band",
)
def datatrove_signature_bytes(
    *, docs_in: float, bands: float, rows: float, hash_bytes: float
) -> float:
    """Signatures of all documents that come in, as datatrove's MinHash stores them.

    >>> datatrove_signature_bytes(docs_in=1, bands=14, rows=8, hash_bytes=8)
    952
    """
    return docs_in * bands * (rows * hash_bytes + DATATROVE_ROW_BYTES)


# A dataset in as many tokenized versions as are kept.
versions_bytes = product(
    "versions_bytes",
    "dataset_bytes",
    "token_versions",
    unit="bytes",
    source="definition; versions are taken to be of one size",
)

# Logs and metrics of a training run.
logs_bytes = product(
    "logs_bytes", "accelerators", "training_days", "log_bytes_per_accelerator_day", unit="bytes"
)

# all that is stored at once
logical_bytes = total(unit="bytes", source="definition; all that is stored at once")


@formula(
    unit="bytes",
    equation="logical_bytes x (1 + growth_frac) ^ growth_years / fill_frac",
    source="Bekman, Machine Learning Engineering, storage: plan to use 80 % of what is bought",
)
def usable_bytes(
    *, logical_bytes: float, fill_frac: float, growth_frac: float, growth_years: float
) -> float:
    """Size of the file system that holds so many bytes.

    >>> usable_bytes(logical_bytes=100e12, fill_frac=0.8, growth_frac=0.0, growth_years=1)
    125000000000000.0
    """
    grown = logical_bytes * math.pow(1 + growth_frac, growth_years)
    return grown / fill_frac


# Bytes of the dataset that one node's own drives hold.
node_dataset_bytes = product("node_dataset_bytes", "dataset_bytes", "node_share", unit="bytes")

# Size of the drives behind a file system.
raw_bytes = product(
    "raw_bytes",
    "usable_bytes",
    "redundancy",
    unit="bytes",
    source="definition: (k + m) / k for erasure coding and parity, copies for replicas",
)

# What jobs that are alike keep.
kept_by_jobs_bytes = product("kept_by_jobs_bytes", "kept_bytes", "jobs", unit="bytes")
