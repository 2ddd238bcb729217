"""The step that takes out what stands twice inside documents.

text of a group ── minimizers ── which stand twice ── n-grams of these ── which are equal
── runs of them, by shard ── applier
"""

from functools import partial

from tokenmill.pipelines.corpus.spans.settings import FOUND_SPANS, SpanSettings
from tokenmill.pipelines.corpus.step import Applier, Chain, Size, applier_of
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.work import Phases


class RepeatedSpans(SpanSettings):
    __doc__ = SpanSettings.__doc__

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        from tokenmill.pipelines.corpus.spans import ngrams

        of_text, groups = ngrams.sized(
            [receipt.stats[-1][1].bytes_out for receipt in chain.receipts]
        )
        by_group = {f"group-{group.number:05d}": (group, of_text) for group in groups}
        by_range = {f"range-{n:05d}": (n, of_text) for n in range(of_text.ranges)}
        for name, step, call, works in (
            ("span minimizers", "spans-minimizers", ngrams.spill_minimizers, by_group),
            ("spans known", "spans-known", ngrams.find_known, by_range),
            ("span n-grams", "spans-ngrams", ngrams.spill_ngrams, by_group),
            ("spans equal", "spans-equal", ngrams.find_equal_ngrams, by_range),
            ("repeated spans", self.name, ngrams.find_runs, by_group),
        ):
            yield from chain.phase(name, step, call, works)

    def applier(self, run: RunFolder, pass_index: int, key: str) -> Applier:
        from tokenmill.pipelines.corpus.spans.apply import without_spans

        path = run.path(FOUND_SPANS, pass_index, key=key)
        return applier_of(path, partial(without_spans, self))

    def scratch_bytes(self, text_bytes: float, docs: float) -> float:
        from tokenmill.pipelines.corpus.spans.ngrams import scratch_bytes

        return scratch_bytes(text_bytes, self.ngrams())
