"""Rules for images by what their headers and URLs tell, and for how many a document has."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator

from tokenmill.dedup.arrays import F64, I64, Bools
from tokenmill.pipelines.core.config import Bytes, Count
from tokenmill.pipelines.core.filter import REASON, Filter
from tokenmill.pipelines.core.step import (
    KEEP,
    Rule,
    StageResult,
    above,
    below,
    first_failing,
    ratio,
    without_value,
)
from tokenmill.pipelines.filters.images import edit
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of


def first_part(urls: pa.Array, parts: Sequence[str]) -> pa.Array:
    """(n,) string, the first of `parts`, in their order, that stands in each URL; null if none."""
    found = np.full(len(urls), -1, np.int64)
    for place, part in reversed(list(enumerate(parts))):
        has = pc.fill_null(pc.match_substring(urls, part), False)
        found[np.asarray(has)] = place
    return pa.array(parts, pa.string()).take(pa.array(found, mask=found < 0))


Side = Annotated[int, Field(ge=1)]
Ratio = Annotated[float, Field(gt=0.0)]

URL_PARTS = ("logo", "button", "icon", "plugin", "widget", "porn", "xxx", "sex")
COUNTED = ("count", "kept")  # of a document's images: all, and those that pass
# over all of them, in the order of the rules of size
MEASURED = {
    "min_side": np.fmin,
    "max_side": np.fmax,
    "min_ratio": np.fmin,
    "max_ratio": np.fmax,
    "min_bytes": np.fmin,
}
SIZES = ("too_small", "too_large", "too_narrow", "too_wide")


class ImageColumns(NamedTuple):
    """Of all images in order, (n_images,): strings, and floats that are NaN where unknown."""

    url: pa.Array
    format: pa.Array
    width: F64
    height: F64
    bytes: F64


def image_columns(documents: pa.RecordBatch) -> ImageColumns:
    """Look up the facts of the images of documents (schema ILLUSTRATED)."""
    items = documents["images"].flatten()
    numbers = (
        np.asarray(pc.fill_null(items.field(name).cast(pa.float64(), safe=False), np.nan))
        for name in ("width", "height", "bytes")
    )
    return ImageColumns(items.field("url"), items.field("format"), *numbers)


class ImageRules(Filter):
    """Keep images of the right format, size, shape and URL, and documents with neither too few nor
    too many of them, 1 to 30: OBELICS' limits unless told.

    Limits are included, `None` turns a rule off. An image leaves for the first of these it fails:
    url_parts: one of them stands in the URL ("url_part"); "Logo" passes, as published.
    unknown: "remove" images whose format, sides or bytes nothing tells, where a rule asks for
        them ("unknown"); "keep" lets them pass it. An image without a URL has no part of one.
    formats: another, as Pillow names it ("format"); "jpg" is "jpeg".
    min_side, max_side: of width and height, in pixels ("too_small", "too_large").
    min_ratio, max_ratio: width / height ("too_narrow", "too_wide").
    min_bytes: as stored ("too_few_bytes").
    And a document for what is left then:
    min_images, max_images: it has ("too_few_images", "too_many_images").

    To annotate takes no image out, and tells of each document how many it has and would keep, and
    the least and greatest side, ratio and bytes of its images.

    Source of the defaults: OBELICS, arXiv:2306.16527, as its code has them
    (config_filter_web_documents.yaml; the parts of URLs in 04_merge_web_docs_with_images.py). It
    also holds the size at which a page shows an image to the limits of sides; inputs here have no
    such size. The rule for bytes is ours.
    """

    name: ClassVar[str] = "images"
    needs_images: ClassVar[bool] = True

    url_parts: tuple[str, ...] | None = URL_PARTS
    unknown: Literal["keep", "remove"] = "keep"
    formats: tuple[str, ...] | None = ("jpeg", "png", "webp")
    min_side: Side | None = 150
    max_side: Side | None = 20_000
    min_ratio: Ratio | None = 0.5
    max_ratio: Ratio | None = 2.0
    min_bytes: Bytes | None = None
    min_images: Count | None = 1
    max_images: Count | None = 30

    @field_validator("url_parts")
    @classmethod
    def _no_empty_part(cls, parts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if "" in (parts or ()):
            raise ValueError("'' stands in every URL; no image that has one would be kept")
        return parts

    @field_validator("formats")
    @classmethod
    def _as_pillow_names_them(cls, formats: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if formats == ():
            raise ValueError("no format is left, so no image would be; null turns the rule off")
        lower = [name.lower() for name in formats or ()]
        return tuple(dict.fromkeys("jpeg" if n == "jpg" else n for n in lower)) or None

    def finds(self) -> dict[str, pa.DataType]:
        counted = dict.fromkeys(COUNTED, pa.int64())
        return {REASON: pa.string(), **counted, **dict.fromkeys(MEASURED, pa.float64())}

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        columns = image_columns(batch)
        part = first_part(columns.url, self.url_parts or ())
        sizes = self._size_rules(columns)
        rules = [
            without_value("url_part", np.asarray(part.is_valid())),
            without_value("unknown", self._unknown(columns)),
            without_value("format", self._other_format(columns)),
            *sizes,
        ]
        verdicts, values = first_failing(rules, len(part))
        if self.annotates:
            return self._tell(batch, verdicts == KEEP, sizes)
        places = np.flatnonzero(verdicts != KEEP)
        reasons = pa.array([r.reason for r in rules]).take(pa.array(verdicts[places] - 1))
        removed = edit.removed_images(
            self.stage_name,
            batch,
            places,
            reasons.to_pylist(),
            values=values[places],
            details=_details(columns, part, places, reasons),
        )
        edited = edit.drop_images(batch, verdicts == KEEP)
        of_documents = self._document_rules(counts_of(edited))
        return edit.edited_where(self.stage_name, batch, edited, of_documents, removed)

    def _tell(self, batch: pa.RecordBatch, passes: Bools, sizes: Sequence[Rule]) -> StageResult:
        kept = np.bincount(owners_of(batch)[passes], minlength=batch.num_rows)
        told = zip(MEASURED.items(), sizes, strict=True)
        found = {part: edit.extreme(batch, rule.value, pick) for (part, pick), rule in told}
        counted = dict(zip(COUNTED, (counts_of(batch), kept), strict=True))
        return self.judge_by(batch, self._document_rules(kept), {**found, **counted})

    def _document_rules(self, n_left: I64) -> list[Rule]:
        n = n_left.astype(np.float64)
        return [
            below("too_few_images", n, self.min_images),
            above("too_many_images", n, self.max_images),
        ]

    def _unknown(self, columns: ImageColumns) -> Bools:
        sides = (self.min_side, self.max_side, self.min_ratio, self.max_ratio)
        missing = np.zeros(len(columns.bytes), np.bool_)
        if self.unknown == "keep":
            return missing
        if self.formats is not None:
            missing |= np.asarray(columns.format.is_null())
        if any(limit is not None for limit in sides):
            missing |= np.isnan(columns.width) | np.isnan(columns.height)
        if self.min_bytes is not None:
            missing |= np.isnan(columns.bytes)
        return missing

    def _other_format(self, columns: ImageColumns) -> Bools:
        if self.formats is None:
            return np.zeros(len(columns.bytes), np.bool_)
        named = pc.is_in(columns.format, pa.array(self.formats, pa.string()))
        return ~np.asarray(pc.or_(named, columns.format.is_null()))

    def _size_rules(self, columns: ImageColumns) -> list[Rule]:
        width, height = columns.width, columns.height
        wide = ratio(width, height)
        return [
            below("too_small", np.minimum(width, height), self.min_side),
            above("too_large", np.maximum(width, height), self.max_side),
            below("too_narrow", wide, self.min_ratio),
            above("too_wide", wide, self.max_ratio),
            below("too_few_bytes", columns.bytes, self.min_bytes),
        ]


def _details(columns: ImageColumns, part: pa.Array, places: I64, reasons: pa.Array) -> pa.Array:
    """What a reader asks for: the part of the URL, the format, or the size as "640x480"."""
    at = pa.array(places)
    sides = [
        pa.array(side[places], pa.int64(), from_pandas=True)
        for side in (columns.width, columns.height)
    ]
    size = pc.binary_join_element_wise(*(side.cast(pa.string()) for side in sides), "x")
    none = pa.nulls(len(reasons), pa.string())
    of_size = pc.if_else(pc.is_in(reasons, pa.array(SIZES)), size, none)
    return pc.if_else(
        pc.equal(reasons, "url_part"),
        part.take(at),
        pc.if_else(pc.equal(reasons, "format"), columns.format.take(at), of_size),
    )
