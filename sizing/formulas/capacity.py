"""How much must be stored, and what has to be bought to store it.

logical   the bytes of the files
usable    what the file system must show as its size: it must not run full, and data grows
raw       what the drives add up to: redundancy on top
"""

import math

from tokenmill.sizing.formula import Formula

DIGEST_BYTES = 16  # MD5, or 128 bits of another hash
DOC_ID_BYTES = 8
BAND_KEY_BYTES = 8
HASH_BYTES = 4  # of one value of a signature
DATATROVE_ROW_BYTES = 4  # the number of the document that follows each signature
LZ4_TEXT_RATIO = 1.6
LZ4_SOURCE = "measured for this project: 2.2 MB of C4; documentation makes 2.3 to 2.5"
LOG_BYTES_PER_ACCELERATOR_DAY = 1e6  # our choice


def stage_bytes(*, measured_bytes: float, measured_tokens: float, corpus_tokens: float) -> float:
    """Bytes of one stage of the pipeline for the whole corpus.

        bytes measured x tokens of the corpus / tokens measured

    >>> stage_bytes(measured_bytes=5e9, measured_tokens=1e9, corpus_tokens=1e12)
    5000000000000.0
    """
    return measured_bytes * (corpus_tokens / measured_tokens)


def text_bytes(*, corpus_tokens: float, text_bytes_per_token: float) -> float:
    """UTF-8 bytes of a corpus of so many tokens.

        tokens of the corpus x bytes of text a token

    >>> text_bytes(corpus_tokens=2e12, text_bytes_per_token=4.0)
    8000000000000.0
    """
    return corpus_tokens * text_bytes_per_token


def dataset_bytes(*, corpus_tokens: float, stored_bytes_per_token: float) -> float:
    """Bytes of a tokenized corpus of so many tokens.

        tokens of the corpus x bytes stored a token

    >>> dataset_bytes(corpus_tokens=2e12, stored_bytes_per_token=2.0)
    4000000000000.0
    """
    return corpus_tokens * stored_bytes_per_token


def raw_input_bytes(
    *, corpus_tokens: float, text_bytes_per_token: float, kept_frac: float, compression_ratio: float
) -> float:
    """Bytes of the files that come in, compressed text.

        tokens of the corpus x bytes of text a token / fraction kept / compression ratio

    Documents that will be removed are taken to be as long as those kept.

    >>> raw_input_bytes(
    ...     corpus_tokens=1e12, text_bytes_per_token=4.0, kept_frac=0.5, compression_ratio=4.0
    ... )
    2000000000000.0
    """
    return corpus_tokens * text_bytes_per_token / kept_frac / compression_ratio


def raw_sample_bytes(*, dataset_bytes: float, kept_frac: float) -> float:
    """Bytes of the samples that come in, images that are stored as they came.

        bytes of the dataset / fraction kept

    >>> raw_sample_bytes(dataset_bytes=240e12, kept_frac=0.5)
    480000000000000.0
    """
    return dataset_bytes / kept_frac


def filtered_bytes(
    *,
    corpus_tokens: float,
    text_bytes_per_token: float,
    kept_frac: float,
    lz4_ratio: float = LZ4_TEXT_RATIO,
) -> float:
    """Bytes of the documents between filtering and deduplication, at most.

        tokens of the corpus x bytes of text a token / fraction kept / LZ4's ratio

    As if no filter removed any: those that are removed as duplicates are stored here.

    >>> filtered_bytes(corpus_tokens=1e12, text_bytes_per_token=4.0, kept_frac=0.5)
    5000000000000.0
    """
    return corpus_tokens * text_bytes_per_token / kept_frac / lz4_ratio


def key_bytes(*, docs_in: float, num_perm: float, bands: float) -> float:
    """Digests, signatures and band keys of all documents that come in, as tokenmill stores them.

        documents in x (8 of its id + 16 of a digest + 4 x permutations + 8 x bands)

    >>> key_bytes(docs_in=1, num_perm=112, bands=14)
    584
    """
    signature, band_keys = HASH_BYTES * num_perm, BAND_KEY_BYTES * bands
    return docs_in * (DOC_ID_BYTES + DIGEST_BYTES + signature + band_keys)


def datatrove_signature_bytes(
    *, docs_in: float, bands: float, rows: float, hash_bytes: float
) -> float:
    """Signatures of all documents that come in, as datatrove's MinHash stores them.

        documents in x bands x (rows x bytes of a hash + 4)

    >>> datatrove_signature_bytes(docs_in=1, bands=14, rows=8, hash_bytes=8)
    952
    """
    return docs_in * bands * (rows * hash_bytes + DATATROVE_ROW_BYTES)


def versions_bytes(*, dataset_bytes: float, token_versions: float) -> float:
    """A dataset in as many tokenized versions as are kept.

        bytes of one x versions

    >>> versions_bytes(dataset_bytes=4e12, token_versions=3)
    12000000000000.0
    """
    return dataset_bytes * token_versions


def logs_bytes(
    *,
    accelerators: float,
    training_days: float,
    log_bytes_per_accelerator_day: float = LOG_BYTES_PER_ACCELERATOR_DAY,
) -> float:
    """Logs and metrics of a training run.

        accelerators x days x bytes each of them logs a day

    >>> logs_bytes(accelerators=1024, training_days=10) / 1e9  # GB
    10.24
    """
    return accelerators * training_days * log_bytes_per_accelerator_day


def logical_bytes(**parts_bytes: float) -> float:
    """All that is stored at once.

        the sum of its parts

    >>> logical_bytes(dataset=2e12, checkpoints=3e12)
    5000000000000.0
    """
    return sum(parts_bytes.values())


def usable_bytes(
    *, logical_bytes: float, fill_frac: float, growth_frac: float, growth_years: float
) -> float:
    """Size of the file system that holds so many bytes.

        logical bytes x (1 + growth a year) ^ years / fraction that may be filled

    >>> usable_bytes(logical_bytes=100e12, fill_frac=0.8, growth_frac=0.0, growth_years=1)
    125000000000000.0
    """
    grown = logical_bytes * math.pow(1 + growth_frac, growth_years)
    return grown / fill_frac


def raw_bytes(*, usable_bytes: float, redundancy: float) -> float:
    """Size of the drives behind a file system.

        usable bytes x raw bytes for each usable byte

    >>> raw_bytes(usable_bytes=125e12, redundancy=1.25)
    156250000000000.0
    """
    return usable_bytes * redundancy


STAGE_BYTES = Formula(
    function=stage_bytes,
    equation="measured_bytes x corpus_tokens / measured_tokens",
    unit="bytes",
    source="proportion; of a larger corpus filters and duplicates may leave another share",
)
TEXT_BYTES = Formula(
    function=text_bytes,
    equation="corpus_tokens x text_bytes_per_token",
    unit="bytes",
    source="definition",
)
DATASET_BYTES = Formula(
    function=dataset_bytes,
    equation="corpus_tokens x stored_bytes_per_token",
    unit="bytes",
    source="definition",
)
RAW_INPUT_BYTES = Formula(
    function=raw_input_bytes,
    equation="corpus_tokens x text_bytes_per_token / kept_frac / compression_ratio",
    unit="bytes",
    source="definition; documents that are removed are taken to be as long as those kept",
)
RAW_SAMPLE_BYTES = Formula(
    function=raw_sample_bytes,
    equation="dataset_bytes / kept_frac",
    unit="bytes",
    source="definition; samples that are removed are taken to be as large as those kept",
)
FILTERED_BYTES = Formula(
    function=filtered_bytes,
    equation="at most: corpus_tokens x text_bytes_per_token / kept_frac / lz4_ratio",
    unit="bytes",
    source="tokenmill's documents between filters and deduplication: Arrow, LZ4",
)
KEY_BYTES = Formula(
    function=key_bytes,
    equation="docs_in x (24 + 4 x num_perm + 8 x bands)",
    unit="bytes",
    source="tokenmill's key files: id, 128-bit digest, 32-bit signature, 64-bit band keys",
)
DATATROVE_SIGNATURE_BYTES = Formula(
    function=datatrove_signature_bytes,
    equation="docs_in x bands x (rows x hash_bytes + 4)",
    unit="bytes",
    source="datatrove's MinHash: a record of the signature and a 4-byte number in each band",
)
VERSIONS_BYTES = Formula(
    function=versions_bytes,
    equation="dataset_bytes x token_versions",
    unit="bytes",
    source="definition; versions are taken to be of one size",
)
LOGS_BYTES = Formula(
    function=logs_bytes,
    equation="accelerators x training_days x log_bytes_per_accelerator_day",
    unit="bytes",
    source="definition",
)
LOGICAL_BYTES = Formula(
    function=logical_bytes,
    equation="sum of its inputs",
    unit="bytes",
    source="definition; all that is stored at once",
)
USABLE_BYTES = Formula(
    function=usable_bytes,
    equation="logical_bytes x (1 + growth_frac) ^ growth_years / fill_frac",
    unit="bytes",
    source="Bekman, Machine Learning Engineering, storage: plan to use 80 % of what is bought",
)
RAW_BYTES = Formula(
    function=raw_bytes,
    equation="usable_bytes x redundancy",
    unit="bytes",
    source="definition: (k + m) / k for erasure coding and parity, copies for replicas",
)
