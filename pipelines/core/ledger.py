"""Where documents and bytes went: counts that must add up.

    docs_in + docs_created = docs_out + sum(removed) + sum(failed)
    bytes_in               = bytes_out + bytes_removed + bytes_edited

Bytes are UTF-8 bytes of document text. `bytes_edited` is what a stage took from
documents it passed on; it is negative where a stage made text longer.

Of images, where a recipe has them:

    images_in = images_out + sum(removed) + sum(failed) + with_document
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

from tokenmill.pipelines.core.errors import LedgerError


class _Counts:
    """What is counted of different batches, and adds up."""

    def __add__(self, other: Self) -> Self:
        mine, theirs = vars(self), vars(other)
        return type(self)(**{name: _sum(mine[name], theirs[name]) for name in mine})


@dataclass(frozen=True, kw_only=True)
class ImageStats(_Counts):
    """What one stage did to the images of some documents. Stats of different batches add up.

    removed: by reason.  failed: by cause.  with_document: those that left because it did.
    bytes_in, bytes_out: of the images, as stored.
    """

    images_in: int = 0
    images_out: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    with_document: int = 0
    bytes_in: int = 0
    bytes_out: int = 0

    def check(self, where: str) -> "ImageStats":
        """Return self; LedgerError, with both sides and `where`, if it does not balance."""
        gone = sum(self.removed.values()) + sum(self.failed.values()) + self.with_document
        if self.images_in != self.images_out + gone:
            raise LedgerError(
                f"{where}: {self.images_in} images in, but {self.images_out} out,"
                f" {dict(self.removed)} removed, {dict(self.failed)} failed and"
                f" {self.with_document} gone with their documents"
            )
        return self


@dataclass(frozen=True, kw_only=True)
class StageStats(_Counts):
    """What one stage did to some documents. Stats of different batches add up.

    removed: by reason.  failed: by cause.  docs_created: by splitting or repeating others.
    images: what it did to their images; None in a recipe without.
    """

    docs_in: int = 0
    docs_created: int = 0
    docs_out: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_removed: int = 0
    bytes_edited: int = 0
    images: ImageStats | None = None

    def check(self, where: str) -> "StageStats":
        """Return self; LedgerError, with both sides and `where`, if it does not balance."""
        out = self.docs_out + sum(self.removed.values()) + sum(self.failed.values())
        if self.docs_in + self.docs_created != out:
            raise LedgerError(
                f"{where}: {self.docs_in} documents in and {self.docs_created} created, but"
                f" {self.docs_out} out, {dict(self.removed)} removed, {dict(self.failed)} failed"
            )
        if self.bytes_in != self.bytes_out + self.bytes_removed + self.bytes_edited:
            raise LedgerError(
                f"{where}: {self.bytes_in} bytes in, but {self.bytes_out} out,"
                f" {self.bytes_removed} removed and {self.bytes_edited} edited away"
            )
        if self.images is not None:
            self.images.check(where)
        return self

    def to_json(self) -> dict[str, Any]:
        """The counts as a JSON object; `from_json` undoes it."""
        images = {} if self.images is None else {"images": dict(vars(self.images))}
        return {name: v for name, v in vars(self).items() if name != "images"} | images

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "StageStats":
        images = data.get("images")
        return StageStats(**{**data, "images": None if images is None else ImageStats(**images)})


def check_chain(stages: Iterable[tuple[str, StageStats]], where: str) -> None:
    """Check each stage, and that each takes what the one before let out; LedgerError where not."""
    checked = [(name, stats.check(f"{where}, {name}")) for name, stats in stages]
    for (before, old), (name, new) in pairwise(checked):
        if (old.docs_out, old.bytes_out) != (new.docs_in, new.bytes_in):
            raise LedgerError(
                f"{where}: {before} let out {old.docs_out} documents of {old.bytes_out} bytes,"
                f" {name} took in {new.docs_in} of {new.bytes_in}"
            )
        out, came = old.images, new.images
        if out and came and (out.images_out, out.bytes_out) != (came.images_in, came.bytes_in):
            raise LedgerError(
                f"{where}, from {before} to {name}: {out.images_out} images of {out.bytes_out}"
                f" bytes went out, {came.images_in} of {came.bytes_in} came in"
            )


def _sum(a: Any, b: Any) -> Any:
    """Of two numbers, mappings of numbers, or counts of images, of which one may be None."""
    if isinstance(a, Mapping):
        return {k: a.get(k, 0) + b.get(k, 0) for k in sorted(a.keys() | b.keys())}
    return a or b if a is None or b is None else a + b
