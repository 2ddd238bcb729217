"""How much must be stored, and what has to be bought to store it.

logical   the bytes of the files
usable    what the file system must show as its size: it must not run full, and data grows
raw       what the drives add up to: redundancy on top
"""

import math
import re

from sizing.errors import PlanError
from sizing.formula import Formula

_ERASURE = re.compile(r"(\d+)\s*\+\s*(\d+)", re.ASCII)
_REPLICAS = re.compile(r"(\d+)\s*(?:x|replicas?)", re.ASCII)


def redundancy_factor(redundancy: str) -> float:
    """Raw bytes for each usable byte.

    "8+2": erasure coding or RAID, k data and m parity parts: (k + m) / k.
    "3 replicas" or "3x": whole copies.  "none": 1.

    Raises:
        PlanError: none of these.

    >>> redundancy_factor("8+2"), redundancy_factor("3 replicas"), redundancy_factor("none")
    (1.25, 3.0, 1.0)
    """
    text = redundancy.strip()
    if text == "none":
        return 1.0
    if (erasure := _ERASURE.fullmatch(text)) and int(erasure[1]) > 0:
        return (int(erasure[1]) + int(erasure[2])) / int(erasure[1])
    if (replicas := _REPLICAS.fullmatch(text)) and int(replicas[1]) > 0:
        return float(replicas[1])
    raise PlanError(
        f"unknown redundancy {redundancy!r}; write '8+2' (data + parity), '3 replicas' or 'none'"
    )


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

    >>> raw_bytes(usable_bytes=125e12, redundancy=redundancy_factor("8+2"))
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
LOGICAL_BYTES = Formula(
    function=logical_bytes,
    equation="sum of its inputs",
    unit="bytes",
    source="definition; every stage is counted as kept",
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
    source="definition: (k + m) / k for erasure coding, copies for replicas",
)
