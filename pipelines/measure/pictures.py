"""The images of a run: counted before duplicates are looked for, and behind that told by probes.

images of every part ── counted, by format ──┐
images of documents drawn ── share left ─────┴── images, bytes, pixels, tokens of the dataset
                          └─ 1 / copies ──────── unique, too frequent: by URL and by MD5
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.corpus.step import ImageRule
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import Drawn, between, exact
from tokenmill.pipelines.measure.images import (
    BEFORE,
    END,
    KEYS,
    SUMMED,
    fates,
    formats_of,
    sum_name,
)
from tokenmill.pipelines.measure.job import PROBED_IMAGES_FILE, MeasureJob
from tokenmill.pipelines.measure.joint import Prediction
from tokenmill.pipelines.measure.left import Left, share_of
from tokenmill.pipelines.measure.scan import READ
from tokenmill.pipelines.measure.scanned import Scanned
from tokenmill.pipelines.measure.unique import bracket
from tokenmill.pipelines.storage.files import open_arrow
from tokenmill.sizing.corpus import CorpusImages, FormatEstimate, ImageEstimate

DEFAULT_RULE = ImageRule(("url", "md5"), 10, "none", True)  # where the recipe has none
CUT_TOKENS = 0.5, 4.5  # fewer for each image: two breaks become one, and what is beside them
WHAT = ("images", *SUMMED)


@dataclass(frozen=True, kw_only=True)
class PredictedImages:
    """Of the images of a run.

    images_in, bytes_in: of the inputs.  before, bytes_before: of documents that duplicates are
    looked for among.  formats: what is left, images, bytes, pixels and tokens by format.
    kept_frac: by step.  unique_frac, repeated_frac: by URL and MD5.
    receipts: images that left, those with their documents aside.
    cut: taken out of text by `repeated_images`, of documents that stay.
    """

    images_in: Drawn
    bytes_in: Drawn
    before: Drawn
    bytes_before: Drawn
    formats: Mapping[str, Mapping[str, Drawn]]
    kept_frac: Mapping[str, Drawn]
    receipts: Drawn
    cut: Drawn
    unique_frac: Mapping[str, Drawn]
    repeated_frac: Mapping[str, Drawn]
    more_than: int

    def total(self, what: str) -> Drawn:
        """Of all formats."""
        return sum((by_what[what] for by_what in self.formats.values()), exact(0))

    def estimate(self) -> ImageEstimate:
        """As estimate.json has it."""
        return ImageEstimate(
            images_in=self.images_in.figure(),
            image_bytes_in=self.bytes_in.figure(),
            images=self.total("images").figure(),
            image_bytes=self.total("bytes").figure(),
            image_tokens=self.total("tokens").figure(),
            formats={
                name: FormatEstimate(**{w: of[w].figure() for w in ("images", "bytes", "pixels")})
                for name, of in self.formats.items()
            },
            kept_frac={name: drawn.figure() for name, drawn in self.kept_frac.items()},
            unique_frac={name: drawn.figure() for name, drawn in self.unique_frac.items()},
            repeated_frac={name: drawn.figure() for name, drawn in self.repeated_frac.items()},
            more_than=self.more_than,
        )


class Pictures:
    """What probes say of images.

    left: of documents; None where all of them stay.
    """

    def __init__(
        self, job: MeasureJob, *, scanned: Scanned, probed: Probed, left: Left | None
    ) -> None:
        self._job, self._scanned, self._probed, self._left = job, scanned, probed, left
        (self._images,) = open_arrow(job.out / PROBED_IMAGES_FILE)[0]
        self._doc = np.asarray(self._images["doc"])
        self._docs = np.union1d(probed.doc_id, probed.kept_id)
        self._names = np.asarray(self._images["format"].to_pylist(), object)
        flags = (np.asarray(self._images[name]) for name in ("out", "perhaps", "placed"))
        self._out, self._perhaps, self._placed = flags
        # of those like a document the first is kept, unless it goes with its images
        own, kept = (np.searchsorted(self._docs, i) for i in (probed.doc_id, probed.kept_id))
        rule = job.image_rule
        if rule is not None:
            kept = np.where(fates(self._images, rule, len(self._docs)).lost[kept], own, kept)
        self._own, self._kept = own, kept
        self._ended = np.asarray(self._images["left_at"]) >= len(job.later_stages)

    def predicted(self) -> PredictedImages:
        """Put it together."""
        step = self._job.image_step
        formats = formats_of(self._scanned.sum_names())
        before = {
            name: {what: self._scanned.sums(sum_name(BEFORE, name, what)) for what in WHAT}
            for name in formats
        }
        kept = {name: self._scanned.kept(name, "images") for name in self._scanned.first}
        if step is not None:
            kept[step.name] = self._kept_by()
        more_than = (self._job.image_rule or DEFAULT_RULE).more_than
        times = {by: n for by in KEYS if (n := np.asarray(self._images[by])).any()}
        return PredictedImages(
            images_in=self._scanned.went_in("images"),
            bytes_in=self._scanned.went_in("image_bytes"),
            before=self._scanned.left("images"),
            bytes_before=self._scanned.left("image_bytes"),
            formats={name: self._of_format(name, by_what) for name, by_what in before.items()},
            kept_frac=kept,
            receipts=self._receipts(kept),
            cut=self._cut(),
            unique_frac={by: self._unique(n) for by, n in times.items()},
            repeated_frac={by: self._repeated(n, more_than) for by, n in times.items()},
            more_than=more_than,
        )

    def _of_format(self, name: str, before: Mapping[str, Drawn]) -> dict[str, Drawn]:
        if self._left is None:
            return {what: self._scanned.sums(sum_name(END, name, what)) for what in WHAT}
        return {what: whole * self._share(name, what) for what, whole in before.items()}

    def _share(self, name: str, what: str) -> Drawn:
        """Of what images of a format come to, what is left at the end."""
        values = self._values(what) * (self._names == name)
        if not values.any():  # no probe has one of them
            values = self._values("images")
        if not values.any() or self._left is None:
            return exact(1.0)
        last = self._probed.last
        stays = self._ended & ~self._out
        share = self._of_docs(values, values * (stays & ~self._perhaps), last.most)
        if not last.whole.all() or self._perhaps.any():
            share = bracket(self._of_docs(values, values * stays, last.alike), share)
        return share * self._left.beyond_read()

    def _kept_by(self) -> Drawn:
        """Of images that duplicates are looked for among, what `repeated_images` leaves."""
        ones = self._values("images")
        if not len(ones):
            return exact(1.0)
        least = self._of_docs(ones, ones * ~(self._out | self._perhaps))
        if not self._perhaps.any():
            return least
        return bracket(self._of_docs(ones, ones * ~self._out), least)

    def _receipts(self, kept: Mapping[str, Drawn]) -> Drawn:
        receipts = exact(0.0)
        for stats in (s.images for s in self._scanned.totals.values() if s.images is not None):
            receipts += float(sum(stats.removed.values()) + sum(stats.failed.values()))
        read = self._scanned.totals[READ].images
        n_read = max(read.images_in if read else 0, 1)
        receipts = receipts * self._scanned.went_in("images") * (1 / n_read)
        step = self._job.image_step
        if step is None:
            return receipts
        before = self._scanned.left("images")
        return receipts + before * (exact(1.0) - kept[step.name])

    def _cut(self) -> Drawn:
        placed = self._values("images") * self._placed
        if self._left is None or not (placed * (self._out | self._perhaps)).any():
            return exact(0.0)
        rule, last = self._job.image_rule or DEFAULT_RULE, self._probed.last
        lost = fates(self._images, rule, len(self._docs)).lost[self._doc]
        ones = self._values("images")
        share = self._of_docs(ones, placed * (self._out & ~lost), last.most)
        if self._perhaps.any() or not last.whole.all():
            most = placed * ((self._out & ~lost) | self._perhaps)
            share = bracket(self._of_docs(ones, most, last.alike), share)
        return self._scanned.left("images") * share

    def _unique(self, times: I64) -> Drawn:
        """Of images that have a key, those that one of each leaves; if not all was read, or fewer.

        times: (n_images,) that the corpus has its key.
        """
        known = (times > 0).astype(np.float64)
        seen = self._of_docs(known, known / np.maximum(times, 1))
        return seen if self._scanned.is_whole else bracket(seen, exact(0.0))

    def _repeated(self, times: I64, more_than: int) -> Drawn:
        """Of the same, those that are too frequent; if not all was read, or more."""
        seen = self._of_docs((times > 0).astype(np.float64), (times > more_than).astype(np.float64))
        return seen if self._scanned.is_whole else bracket(exact(1.0), seen)

    def _of_docs(self, whole: F64, left: F64, copies: F64 | None = None) -> Drawn:
        """A share of images, from documents drawn.

        whole, left: (n_images,).  copies: (n_probes,) of each document, of which one is left; all
            are if not given.
        """
        n = len(self._docs)
        weights = np.bincount(self._doc, whole, n)[self._own].astype(np.float64)
        kept = self._own if copies is None else self._kept
        return share_of(
            self._probed,
            weights,
            np.bincount(self._doc, left, n)[kept] / (1 if copies is None else copies),
            whole=exact(float((weights * self._probed.scale).sum())),
            seed=self._job.measuring.seed,
        )

    def _values(self, what: str) -> F64:
        if what == "images":
            return np.ones(len(self._doc))
        return np.asarray(self._images[what]).astype(np.float64)


def with_images(prediction: Prediction, images: PredictedImages) -> Prediction:
    """With tokens of images too. Where one is taken out of text, what stood around it is encoded
    as one.
    """
    fewer = images.cut * between(*CUT_TOKENS, order=12, value=1.5) * -1.0
    text_tokens = (prediction.tokens + fewer).within(0.0)
    text_bytes = list(prediction.text_bytes.values())[-1]
    return replace(
        prediction,
        tokens=text_tokens + images.total("tokens"),
        text_bytes_per_token=_ratio(text_bytes, text_tokens),
    )


def corpus_images(
    job: MeasureJob, prediction: Prediction, told: PredictedImages
) -> CorpusImages | None:
    """As sizing reads it; None where no image is left."""
    images, options = told.total("images"), job.recipe.images
    if not images.value or options is None:
        return None
    name = list(prediction.docs)[-1]
    docs, text_bytes = prediction.docs[name], prediction.text_bytes[name]
    image_tokens = told.total("tokens")
    text_tokens = (prediction.tokens - image_tokens).within(0.0)
    size, pixels = told.total("bytes"), told.total("pixels")
    return CorpusImages(
        images=images.figure(),
        images_per_sample=_ratio(images, docs).figure(),
        tokens_per_image=_ratio(image_tokens, images).figure(),
        text_tokens=_ratio(text_tokens, docs).figure(),
        text_bytes=_ratio(text_bytes, docs).figure(),
        image_bytes=_ratio(size, images).figure() if size.value else None,
        pixels_per_image=_ratio(pixels, images).figure() if pixels.value else None,
        in_dataset=options.store == "bytes",
    )


def _ratio(part: Drawn, whole: Drawn) -> Drawn:
    """Of one to another, that may be none in some draws: these say nothing."""
    value = part.value / whole.value if whole.value else 0.0
    some = whole.draws > 0
    draws = np.full(len(some), value)
    draws[some] = part.draws[some] / whole.draws[some]
    return Drawn(value, draws)
