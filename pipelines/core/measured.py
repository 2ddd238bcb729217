"""What a corpus turned out to be: documents, bytes and tokens, by source and in total."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np
from pydantic import Field

from tokenmill.pipelines.core.data import Data, Number

TOTAL = "total"  # all sources together


class Ratio(Data):
    """A ratio of two totals over shards; its error is None for fewer than two."""

    value: float | None = Field(description="None without anything to divide by")
    se: float | None = Field(description="Standard error over shards, linearised")


class Illustrations(Data):
    """Counts of the images of documents that reached the tokenizer, and ratios.

    A sample is a document. Bytes and pixels are of images of which they are known, bytes as
    encoded; a token that stands for an image is none of text.
    """

    images: int = Field(description="How many")
    image_bytes: int = Field(description="Of all images, as encoded")
    image_tokens: int = Field(description="Tokens that stand for images")
    bytes_per_token: Ratio = Field(description="Bytes of images and text, a token of either")
    bytes_per_doc: Ratio = Field(description="Bytes of images and text (UTF-8) together")
    image_bytes_per_doc: Ratio = Field(description="Bytes of images")
    images_per_doc: Ratio = Field(description="Images of a document")
    bytes_per_image: Ratio = Field(description="Over images whose bytes are known")
    pixels_per_image: Ratio = Field(description="Over images whose width and height are known")
    tokens_per_image: Ratio = Field(description="Tokens that stand for an image")
    tokens_per_doc: Ratio = Field(description="Tokens of text and images")
    text_tokens_per_doc: Ratio = Field(description="Tokens of text")
    text_bytes_per_doc: Ratio = Field(description="Bytes of text (UTF-8)")


class Measurement(Data):
    """Counts over the documents that reached the tokenizer, and the two bytes per token.

    A source's share of the stored bytes is by tokens. Errors are linearised; None for fewer than
    two shards.
    """

    docs: int = Field(description="Documents")
    chars: int = Field(description="Characters of their text")
    text_bytes: int = Field(description="UTF-8 bytes, before the tokenizer's own normalization")
    tokens: int | None = Field(description="Those of images too; None without a tokenizer")
    stored_bytes: Number = Field(description="Bytes of files; of a mixture, without copies")
    shards: int = Field(description="How many shards held documents")
    text_bytes_per_token: float | None = Field(description="Of tokens of text, not of images")
    text_bytes_per_token_se: float | None = Field(description="Its standard error over shards")
    stored_bytes_per_token: float | None = Field(description="Of tokens of any kind, if any are")
    stored_bytes_per_token_se: float | None = Field(description="Its standard error over shards")
    images: Illustrations | None = Field(None, description="Not in a run of text alone")


class ShardCounts(TypedDict):
    """What is measured of one shard.

    tokens: None without a tokenizer.
    token_file_bytes: it takes as stored, the measure of how stored bytes vary over shards.
    images: of a run that has some: images, image_bytes, image_tokens, pixels, and of how many
        images bytes and pixels are known, with_bytes and with_size.
    """

    source: str
    docs: int
    chars: int
    text_bytes: int
    tokens: int | None
    token_file_bytes: int
    images: NotRequired[dict[str, int]]


def measure(shards: Sequence[ShardCounts], stored_bytes: float) -> dict[str, Measurement]:
    """Measurements by source, and of all under "total"; stored_bytes: of the dataset on disk."""
    spread = sum(s["token_file_bytes"] for s in shards if s["docs"])
    scale = stored_bytes / spread if spread else 0.0
    sources = sorted({s["source"] for s in shards})
    made = {
        source: _measured([s for s in shards if s["source"] == source], scale) for source in sources
    }
    return {**made, TOTAL: _measured(shards, scale)}


def added(counts: Iterable[Any], none: Any = None) -> Any:
    """Counts of parts together: numbers, lists of as many numbers, or mappings of such by key.

    none: what there is of no parts.

    >>> added([{"a": 1, "bins": [0, 2]}, {"bins": [1, 1], "b": 0.5}])
    {'a': 1, 'bins': [1, 3], 'b': 0.5}
    """
    total = None
    for of in counts:
        total = _onto(total, of)
    return none if total is None else total


def _onto(total: Any, of: Any) -> Any:
    """The total with another part; a mapping that was made for it is changed in place."""
    if isinstance(of, Mapping):
        total = {} if total is None else total
        for key, part in of.items():
            total[key] = _onto(total.get(key), part)
        return total
    if isinstance(of, list):
        return of if total is None else [a + b for a, b in zip(total, of, strict=True)]
    return of if total is None else total + of


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


def _measured(shards: Sequence[ShardCounts], scale: float) -> Measurement:
    held = [s for s in shards if s["docs"]]
    tokens = [s["tokens"] or 0 for s in held]
    stored = [s["token_file_bytes"] * scale for s in held]
    text, text_se = ratio_and_error([s["text_bytes"] for s in held], _text_tokens(held))
    per_token, per_token_se = ratio_and_error(stored, tokens) if scale else (None, None)
    return Measurement(
        docs=sum(s["docs"] for s in held),
        chars=sum(s["chars"] for s in held),
        text_bytes=sum(s["text_bytes"] for s in held),
        tokens=None if any(s["tokens"] is None for s in shards) else sum(tokens),
        stored_bytes=sum(stored),
        shards=len(held),
        text_bytes_per_token=text,
        text_bytes_per_token_se=text_se,
        stored_bytes_per_token=per_token,
        stored_bytes_per_token_se=per_token_se,
        images=_illustrations(held) if any("images" in s for s in shards) else None,
    )


def _text_tokens(shards: Sequence[ShardCounts]) -> list[int]:
    return [
        (s["tokens"] or 0) - (s["images"]["image_tokens"] if "images" in s else 0) for s in shards
    ]


def _illustrations(shards: Sequence[ShardCounts]) -> Illustrations:
    """shards: those that held documents."""
    names = ("images", "image_bytes", "image_tokens", "pixels", "with_bytes", "with_size")
    of = {name: [s["images"][name] for s in shards] for name in names}
    docs, tokens = [s["docs"] for s in shards], [s["tokens"] or 0 for s in shards]
    text_bytes = [s["text_bytes"] for s in shards]
    both = [image + text for image, text in zip(of["image_bytes"], text_bytes, strict=True)]
    ratios: dict[str, tuple[list[int], list[int]]] = {
        "bytes_per_token": (both, tokens),
        "bytes_per_doc": (both, docs),
        "image_bytes_per_doc": (of["image_bytes"], docs),
        "images_per_doc": (of["images"], docs),
        "bytes_per_image": (of["image_bytes"], of["with_bytes"]),
        "pixels_per_image": (of["pixels"], of["with_size"]),
        "tokens_per_image": (of["image_tokens"], of["images"]),
        "tokens_per_doc": (tokens, docs),
        "text_tokens_per_doc": (_text_tokens(shards), docs),
        "text_bytes_per_doc": (text_bytes, docs),
    }
    made = {name: ratio_and_error(*parts) for name, parts in ratios.items()}
    return Illustrations(
        images=sum(of["images"]),
        image_bytes=sum(of["image_bytes"]),
        image_tokens=sum(of["image_tokens"]),
        **{name: Ratio(value=value, se=se) for name, (value, se) in made.items()},
    )
