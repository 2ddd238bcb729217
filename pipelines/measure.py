"""What a corpus turned out to be: documents, bytes and tokens, by source and in total."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

TOTAL = "total"  # all sources together


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Counts over the documents that reached the tokenizer, and the two bytes per token.

    text_bytes: UTF-8 bytes of the text as tokenized, before the tokenizer's own normalization.
    stored_bytes: bytes of the dataset's files, format included; a source's share is by tokens.
    *_se: standard error of the ratio over shards (linearised); None for fewer than two shards.
    shards: how many of them held documents.
    """

    docs: int
    chars: int
    text_bytes: int
    tokens: int
    stored_bytes: float
    shards: int
    text_bytes_per_token: float | None
    text_bytes_per_token_se: float | None
    stored_bytes_per_token: float | None
    stored_bytes_per_token_se: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(shards: Sequence[Mapping[str, Any]], stored_bytes: int) -> dict[str, Measurement]:
    """Measurements by source, and of all of them under "total".

    Args:
        shards: of each shard: source, docs, chars, text_bytes, tokens, and token_file_bytes
            (what it takes as stored, the measure of how stored bytes vary from shard to shard).
        stored_bytes: of the whole dataset on disk.
    """
    spread = sum(s["token_file_bytes"] for s in shards if s["docs"])
    scale = stored_bytes / spread if spread else 0.0
    sources = sorted({s["source"] for s in shards})
    made = {
        source: _measured([s for s in shards if s["source"] == source], scale) for source in sources
    }
    return {**made, TOTAL: _measured(shards, scale)}


def ratio_and_error(
    numerator: Sequence[float], denominator: Sequence[float]
) -> tuple[float | None, float | None]:
    """Ratio of two totals over shards, and its standard error.

        r = sum(y) / sum(x),   se = sqrt(n / (n - 1) * sum((y - r x)^2)) / sum(x)

    Source: Cochran, Sampling Techniques (1977), section 6.4, without the finite population
    correction: the shards stand for those of a corpus not yet seen.

    >>> ratio_and_error([4.0, 6.0], [1.0, 1.0])
    (5.0, 1.0)
    """
    y, x = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    total = float(x.sum())
    if total == 0:
        return None, None
    ratio = float(y.sum()) / total
    n = len(x)
    if n < 2:
        return ratio, None
    return ratio, math.sqrt(n / (n - 1) * float(((y - ratio * x) ** 2).sum())) / total


def _measured(shards: Sequence[Mapping[str, Any]], scale: float) -> Measurement:
    held = [s for s in shards if s["docs"]]
    tokens = [s["tokens"] for s in held]
    stored = [s["token_file_bytes"] * scale for s in held]
    text, text_se = ratio_and_error([s["text_bytes"] for s in held], tokens)
    per_token, per_token_se = ratio_and_error(stored, tokens)
    return Measurement(
        docs=sum(s["docs"] for s in held),
        chars=sum(s["chars"] for s in held),
        text_bytes=sum(s["text_bytes"] for s in held),
        tokens=sum(tokens),
        stored_bytes=sum(stored),
        shards=len(held),
        text_bytes_per_token=text,
        text_bytes_per_token_se=text_se,
        stored_bytes_per_token=per_token,
        stored_bytes_per_token_se=per_token_se,
    )
