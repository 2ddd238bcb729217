"""Rules by scores that other programs computed: of images, as for NSFW, and of documents."""

from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.filters.rules import Rule, first_failing
from tokenmill.pipelines.images.edit import drop_images, owners_of, removed_images
from tokenmill.pipelines.images.result import edited_where
from tokenmill.pipelines.images.score_file import Scored
from tokenmill.pipelines.repeats.keys import image_keys, text_keys
from tokenmill.pipelines.stage import KEEP, StageResult


class ImageScores(Scored):
    """Take out images whose scores are beyond their limits, or the documents they stand in.

    file: Parquet, a row for each image, with a column named as `by` and one for each score.
    by: how images are known there; an MD5 as 16 bytes or 32 hexadecimal digits.
    least, most: limits by column, ends included ("low_clip", "high_nsfw").
    remove: the image, or its whole document.
    unknown: what becomes of images without a score ("no_score").

    Classifiers are no part of this package: run yours over the input's images, and give their
    scores here. OBELICS, arXiv:2306.16527, removes documents with an image whose score for
    "hentai" is over 0.9, or for "porn" over 0.85 (07_01).
    """

    name: ClassVar[str] = "image_scores"
    needs_images: ClassVar[bool] = True

    by: Literal["md5", "url"] = "md5"
    remove: Literal["image", "document"] = "image"
    unknown: Literal["keep", "remove"] = "keep"

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        rules, known = self.rules(image_keys(batch, self.by), self.by)
        missing = ~known & (self.unknown == "remove")
        rules = [Rule("no_score", np.full(len(known), np.nan), missing), *rules]
        if self.remove == "document":
            return self._documents(batch, rules)
        verdicts, values = first_failing(rules, len(known))
        places = np.flatnonzero(verdicts != KEEP)
        reasons = [rules[v - 1].reason for v in verdicts[places]]
        receipts = removed_images(self.name, batch, places, reasons, values=values[places])
        return edited_where(self.name, batch, drop_images(batch, verdicts == KEEP), (), receipts)

    def _documents(self, batch: pa.RecordBatch, rules: list[Rule]) -> StageResult:
        """Judge a document by the first of its images that fails a rule."""
        owners = owners_of(batch)
        made = []
        for rule in rules:
            fails = np.zeros(batch.num_rows, np.bool_)
            value = np.full(batch.num_rows, np.nan)
            places = np.flatnonzero(rule.fails)[::-1]
            fails[owners[places]] = True
            value[owners[places]] = rule.value[places]  # the first image is written last
            made.append(Rule(rule.reason, value, fails))
        return edited_where(self.name, batch, batch, made, None)


class DocumentScores(Scored):
    """Remove documents whose scores are beyond their limits.

    file: Parquet, a row for each document, with a column named as `by` and one for each score.
    by: the documents' ids, as receipts and the dataset have them, or their URLs.
    least, most: limits by column, ends included ("low_clip", "high_nsfw").
    unknown: what becomes of documents without a score ("no_score").

    For what needs a model: language, perplexity, quality. OBELICS keeps documents that fastText
    has for English with 0.8 or more, and of a KenLM perplexity of 1,500 or less.
    """

    name: ClassVar[str] = "document_scores"

    by: Literal["id", "url"] = "id"
    unknown: Literal["keep", "remove"] = "keep"

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        rules, known = self.rules(text_keys(batch[self.by]), self.by)
        missing = ~known & (self.unknown == "remove")
        rules = [Rule("no_score", np.full(len(known), np.nan), missing), *rules]
        return edited_where(self.name, batch, batch, rules, None)
