"""What a shard's pass has counted and written so far."""

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.arrow_files import parquet_file
from tokenmill.pipelines.contamination.overlap_rows import overlap_file
from tokenmill.pipelines.images.account import image_stats
from tokenmill.pipelines.images.blobs import Blobs
from tokenmill.pipelines.images.thumbnails import thumbnail_file
from tokenmill.pipelines.job import Done
from tokenmill.pipelines.ledger import ImageStats, StageStats
from tokenmill.pipelines.passes import Pass, decontamination, repeated_spans, repeats, stage_names
from tokenmill.pipelines.pieces import PIECE
from tokenmill.pipelines.prepare_job import PrepareJob
from tokenmill.pipelines.repeats.apply import PARAGRAPH
from tokenmill.pipelines.repeats.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.schema import REMOVED, REMOVED_IMAGE, ROW_BITS
from tokenmill.pipelines.shard import SourceShard
from tokenmill.pipelines.spans.apply import SPAN
from tokenmill.pipelines.stage import StageResult
from tokenmill.pipelines.token_shards import TokenShards


class Tally:
    """The account of a shard's pass, and the files that stay beside the dataset.

    paths: files written.  facts: for later steps and the report.
    blobs: the bytes of the images of the batch at hand.
    """

    def __init__(
        self, job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack
    ) -> None:
        # every stage stands in the account, in order, also one that sees no document
        self._with_images = job.recipe.images is not None
        none = StageStats(images=ImageStats() if self._with_images else None)
        self.stats = dict.fromkeys(stage_names(part), none)
        self.facts: dict[str, Any] = {"source": shard.source}
        self._earlier_shards = sum(run.shards for run in job.against)
        self.tokens: TokenShards | None = None
        self.blobs: Blobs | None = None
        self.paths = [job.removed(part.index, shard.key)]
        self._removed = files.enter_context(parquet_file(self.paths[0], REMOVED))
        if self._with_images:
            path, shown = (
                job.removed_images(part.index, shard.key),
                job.thumbnails(part.index, shard.key),
            )
            self._removed_images = files.enter_context(parquet_file(path, REMOVED_IMAGE))
            self._thumbnails = files.enter_context(thumbnail_file(shown))
            self.paths += [path, shown]
        if decontamination(part.before):
            overlaps, pieces = job.overlaps(shard.key), job.pieces(shard.key)
            self.paths += [overlaps, pieces]
            self._overlaps = files.enter_context(overlap_file(overlaps))
            self._pieces = files.enter_context(parquet_file(pieces, PIECE))
        if isinstance(repeats(part.before), RepeatedParagraphs):
            self.paths.append(job.removed_paragraphs(part.index, shard.key))
            self._paragraphs = files.enter_context(parquet_file(self.paths[-1], PARAGRAPH))
            self.facts["paragraphs"] = {"removed": 0, "bytes": 0}

        if repeated_spans(part.before):
            self.paths.append(job.removed_spans(part.index, shard.key))
            self._spans = files.enter_context(parquet_file(self.paths[-1], SPAN))

    def add(self, name: str, before: pa.RecordBatch, result: StageResult) -> None:
        """What a stage did to the batch `before`."""
        stats = result.stats
        if self._with_images:
            receipts = [] if result.images is None else [result.images]
            stats = replace(stats, images=image_stats(before, result.kept, receipts))
            self.image_receipts(result.images)
            self._thumbnails.removed(before, result.images, self.blobs)
        self.count(name, stats)
        self.receipts(result.removed)
        self._of_earlier(name, result.removed)
        self.note(result.notes)

    def _of_earlier(self, name: str, removed: pa.RecordBatch) -> None:
        """Count the documents that an earlier run has already."""
        if self._earlier_shards:
            first = pa.scalar(self._earlier_shards << ROW_BITS, pa.uint64())
            n = pc.sum(pc.less(removed["duplicate_of"], first)).as_py() or 0
            found = self.facts.setdefault("of_earlier", {})
            if n:
                found[name] = found.get(name, 0) + n

    def note(self, notes: Mapping[str, int] | None) -> None:
        """Add up what a reader met that is no failure, or what a stage counted beside."""
        if notes:
            self.facts["notes"] = dict(Counter(self.facts.get("notes", {})) + Counter(notes))

    def count(self, name: str, stats: StageStats) -> None:
        self.stats[name] += stats

    def receipts(self, removed: pa.RecordBatch) -> None:
        """Write rows of schema REMOVED."""
        if removed.num_rows:
            self._removed.write_batch(removed)

    def image_receipts(self, removed: pa.RecordBatch | None) -> None:
        """Write rows of schema REMOVED_IMAGE."""
        if removed is not None and removed.num_rows:
            self._removed_images.write_batch(removed)

    def ended(self, batch: pa.RecordBatch) -> None:
        """Documents that came to the end."""
        if self._with_images:
            self._thumbnails.kept(batch, self.blobs)

    def found(self, overlaps: pa.RecordBatch, pieces: pa.RecordBatch) -> None:
        """Write what documents have in common with benchmarks, and what they were cut into."""
        if overlaps.num_rows:
            self._overlaps(overlaps)
        if pieces.num_rows:
            self._pieces.write_batch(pieces)

    def paragraphs(self, removed: pa.RecordBatch | None) -> None:
        """Write rows of schema PARAGRAPH, and count them."""
        if removed is not None and removed.num_rows:
            self._paragraphs.write_batch(removed)
            self.facts["paragraphs"]["removed"] += removed.num_rows
            self.facts["paragraphs"]["bytes"] += pc.sum(removed["text_bytes"]).as_py()

    def spans(self, removed: pa.RecordBatch) -> None:
        """Write rows of schema SPAN."""
        if removed.num_rows:
            self._spans.write_batch(removed)

    def done(self) -> Done:
        if self.tokens is not None:
            self.facts["measured"] = self.tokens.measured()
        return Done(files=self.paths, stats=list(self.stats.items()), facts=self.facts)
