"""What the sampled parts say of tokens, of bytes as compressed, and of the time these take.

    drawn parts (clusters) ── documents of them that were probed ── weight 1 / copies ── sums

A document with copies counts for one of them, so what is told of tokens is told of the documents
that are left. Where the recipe looks for no duplicates, each document counts as one.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tokenmill.dedup.arrays import F64, I64, Bools
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.measure.sample import Sample
from tokenmill.pipelines.measure.scan import DOCUMENTS, ROWS, TOKENIZE, TOKENS, PartFacts
from tokenmill.pipelines.measure.weights import LocalSample
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.storage.files import open_arrow

ROW_BITS = np.uint64(32)


class Parts:
    """The parts of the inputs, the strata they are of, and what was counted of each.

    receipts: None for a part that could not be read.
    """

    def __init__(
        self, job: MeasureJob, sample: Sample, receipts: Sequence[Receipt[PartFacts] | None]
    ) -> None:
        self._job, self._sample, self._receipts = job, sample, receipts
        last = len(job.first_pass.stages)  # behind reading
        self._text_bytes = self._of(lambda r: r.stats[last][1].bytes_out)

    def compressed(self) -> LocalSample:
        """Documents as they are set down between passes: bytes, text_bytes, seconds."""
        sums = {
            "bytes": self._sum(DOCUMENTS),
            "seconds": self._seconds(DOCUMENTS),
            "text_bytes": self._text_bytes,
        }
        return self._sampled(self._text_bytes, self._text_bytes, sums)

    def encoded(self) -> LocalSample:
        """All documents at the end, copies too: text_bytes, seconds."""
        text_bytes = self._sum("end_bytes")
        sums = {"seconds": self._seconds(TOKENIZE), "text_bytes": text_bytes}
        return self._sampled(text_bytes, text_bytes, sums)

    def removed_row_bytes(self) -> float | None:
        """Of a row of a document that leaves; None where no two could be measured."""
        rows, size = (float(self._sum(name).sum()) for name in ROWS)
        return size / rows if rows else None

    def tokens(self, probed: Probed | None) -> LocalSample:
        """What is left of documents at the end: text_bytes, tokens."""
        if probed is None:
            text_bytes = self._sum("end_bytes")
            sums = {"text_bytes": text_bytes, "tokens": self._sum(TOKENS)}
            return self._sampled(text_bytes, text_bytes, sums)
        n = len(self._receipts)
        share = probed.scale * self._stands_for(probed)
        part = (probed.doc_id >> ROW_BITS).astype(np.int64)
        text_bytes = _by_part(part, share * probed.ends["end_bytes"], n)
        probed_tokens = share * self._tokens_of(probed, part)
        tokens = _by_part(part, probed_tokens, n)
        probed_frac = len(part) / max(probed.corpus_docs, 1)
        if (text_bytes > 0).sum() == 1 and probed_frac < 1:
            return self._of_documents(share * probed.ends["end_bytes"], probed_tokens, probed_frac)
        looked_at = text_bytes * probed_frac
        return self._sampled(text_bytes, looked_at, {"text_bytes": text_bytes, "tokens": tokens})

    def _of_documents(self, text_bytes: F64, tokens: F64, probed_frac: float) -> LocalSample:
        """As `_sampled`, where one part is all there is: its documents are the clusters.

        text_bytes, tokens: (n,) of the probes, scaled.
        """
        used = (text_bytes > 0) & (tokens > 0)
        sizes = text_bytes[used]
        return LocalSample(
            strata=np.zeros(len(sizes), np.int64),
            strata_bytes=np.array([sizes.sum() / probed_frac]),
            cluster_bytes=sizes,
            read_bytes=sizes,
            docs=np.ones(len(sizes), np.int64),
            sums={"text_bytes": sizes, "tokens": tokens[used]},
            seed=self._job.measuring.seed,
        )

    def _stands_for(self, probed: Probed) -> F64:
        """(n,) documents that are left, of those that each probe stands for.

        Where documents are alike that differ in text, only those that are left tell of theirs.
        """
        left: Bools = probed.last.first["left_at"] >= 0
        differ = self._job.recipe.images is not None
        if differ or not all(step.compares_texts for step in self._job.dedup):
            itself = left & (probed.kept_id == probed.doc_id)
            if itself.any():
                return np.asarray(itself, np.float64)
        return np.asarray(left / probed.last.copies, np.float64)

    def _tokens_of(self, probed: Probed, part: I64) -> F64:
        """(n,) tokens of the probes that lie in drawn parts; 0 of the others."""
        tokens = np.zeros(len(part))
        for ordinal in np.flatnonzero(self._sample.drawn).tolist():
            low, high = np.searchsorted(part, [ordinal, ordinal + 1])
            if low == high:
                continue
            key = self._sample.plan.shards[ordinal].key
            for batch in open_arrow(self._job.local(key))[0]:
                ids, wanted = np.asarray(batch["doc_id"]), probed.doc_id[low:high]
                at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
                here = np.flatnonzero(ids[at] == wanted)
                tokens[low + here] = np.asarray(batch["tokens"])[at[here]]
        return tokens

    def _sampled(self, sizes: F64, looked_at: F64, sums: Mapping[str, F64]) -> LocalSample:
        """The statistics of sums over the drawn parts.

        sizes: (n_parts,) bytes of each, drawn or not.  looked_at: (n_parts,) of them.

        Raises:
            ConfigError: nothing was left of the parts drawn.
        """
        used = self._sample.drawn & (looked_at > 0)
        if not used.any():
            raise ConfigError(
                "no text is left of the parts that were sampled; sample more (--sample, now"
                f" {self._sample.drawn_frac:.2g} of the bytes) or loosen the filters"
            )
        strata, sizes = self._collapsed(used), self._filled(sizes)
        units, first, unit = np.unique(
            self._sample.units[used], return_index=True, return_inverse=True
        )
        of_unit = np.bincount(self._sample.units, sizes).astype(np.float64)
        return LocalSample(
            strata=strata[used][first],
            strata_bytes=np.bincount(strata, sizes).astype(np.float64),
            cluster_bytes=of_unit[units],
            read_bytes=_by_part(unit, looked_at[used], len(units)),
            docs=np.ones(len(units), np.int64),
            sums={name: _by_part(unit, values[used], len(units)) for name, values in sums.items()},
            seed=self._job.measuring.seed,
        )

    def _filled(self, sizes: F64) -> F64:
        """Sizes of all parts; those of a part that was not read as its bytes have it."""
        read, part_bytes = self._sample.read, self._sample.part_bytes
        if read.all():
            return sizes
        strata, n = self._sample.strata, int(self._sample.strata.max()) + 1
        per_byte = _by_part(strata[read], sizes[read], n) / np.maximum(
            _by_part(strata[read], part_bytes[read], n), 1.0
        )
        return np.where(read, sizes, part_bytes * per_byte[strata])

    def _collapsed(self, used: Bools) -> I64:
        """Strata of the parts; those of which nothing was looked at join one of their source, or
        the first of all.
        """
        strata = self._sample.strata
        sources = [part.input for part in self._sample.plan.shards]
        seen = dict.fromkeys(strata[used].tolist())
        home: dict[int, int] = {}
        for stratum in seen:
            home.setdefault(sources[int(np.flatnonzero(strata == stratum)[0])], stratum)
        elsewhere = next(iter(seen))
        moved = [
            s if s in seen else home.get(source, elsewhere)
            for s, source in zip(strata.tolist(), sources, strict=True)
        ]
        return np.unique(moved, return_inverse=True)[1].astype(np.int64)

    def _sum(self, name: str) -> F64:
        return self._of(lambda r: r.facts.sums.get(name, 0))

    def _seconds(self, name: str) -> F64:
        return self._of(lambda r: r.facts.seconds.get(name, 0.0))

    def _of(self, figure: Callable[[Receipt[PartFacts]], float]) -> F64:
        """(n_parts,) what is told of each part; 0 of one that could not be read."""
        return np.array([0.0 if r is None else figure(r) for r in self._receipts], np.float64)


def _by_part(part: I64, values: F64, n_parts: int) -> F64:
    return np.bincount(part, values, n_parts).astype(np.float64)
