"""What a search for benchmark items found, put into words and numbers.

BenchmarkIndex, Analysis, GramCounts, perhaps CopyAnalysis ─ summarize ─► Summary
"""

from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.overlap.counts import GramCounts, frequent, ignored_passages, shared
from tokenmill.dedup.text.fold import fold, names_of
from tokenmill.pipelines.contamination import model
from tokenmill.pipelines.contamination.analysis import Analysis, SourceCounts, best_of
from tokenmill.pipelines.contamination.copies import Copies, CopyAnalysis
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.passages import (
    ItemPassage,
    Match,
    copy_passage,
    differences,
    item_passages,
)

CONTAMINATION_VERSION = "1"
MOST_EXAMPLES = 20  # of a benchmark
MOST_IGNORED = 100
MOST_CHARS = 2000  # of a match, and of an item
MOST_COPY_CHARS = 4000  # of an edited copy, and of its item
LEAD_CHARS = 300  # of an item in front of its first match, if that begins far behind


def summarize(
    index: BenchmarkIndex,
    analysis: Analysis,
    counts: GramCounts,
    copies: CopyAnalysis | None = None,
    least: Copies | None = None,
    *,
    most_examples: int = MOST_EXAMPLES,
    most_ignored: int = MOST_IGNORED,
) -> model.Summary:
    """Say what was looked for, how, and what was found.

    index: what `analysis` was made with.
    analysis, copies: of the whole corpus; None says nothing of edited copies.
    counts: documents of the corpus that have each n-gram.
    least: what counts as a copy.
    """
    reasons = _reasons(index, counts)
    in_corpus = np.zeros(len(index.ngrams.hashes), bool)
    in_corpus[counts.grams] = True
    widespread: tuple[model.NgramExample, ...] = ()
    if analysis.frequent is not None:
        wanted = analysis.widespread()
        widespread = _examples(index, analysis.frequent, most_examples, wanted)
    settings = index.matching.model_dump(mode="json", exclude={"benchmarks"})
    sources, of_copies = analysis.sources, {}
    if copies is not None:
        settings["copies"] = least and least.model_dump()
        sources = {name: SourceCounts() for name in copies.sources} | sources
        of_copies = {
            "n_edited": int(copies.edited().sum()),
            "edited": edited_examples(index, copies, most_examples),
            "worst_edited": tuple(model.WorstEdited(**row) for row in copies.worst.to_pylist()),
        }
    by_pairs = sorted(sources.items(), key=lambda s: (-s[1].pairs, s[0]))
    return model.Summary(
        contamination=CONTAMINATION_VERSION,
        settings=model.Settings(**settings),
        benchmarks=_benchmarks(index, analysis, copies),
        examples=_examples(index, analysis, most_examples),
        widespread=widespread,
        worst=tuple(model.WorstDocument(**row) for row in analysis.worst.to_pylist()),
        sources=tuple(
            model.SourceSummary(source=name, **vars(n), edited_docs=copies and copies.sources[name])
            for name, n in by_pairs
        ),
        ignored=_ignored(index, counts, reasons, most_ignored),
        n_ignored={name: int((mask & in_corpus).sum()) for name, mask in reasons.items()},
        **of_copies,
    )


def _benchmarks(
    index: BenchmarkIndex, analysis: Analysis, copies: CopyAnalysis | None
) -> tuple[model.BenchmarkSummary, ...]:
    starts, summaries = index.texts.starts, []
    n_edited = None if copies is None else np.add.reduceat(copies.edited(), starts, dtype=np.int64)
    for n, (indexed, counts) in enumerate(zip(index.benchmarks, analysis.counts(), strict=True)):
        tested = counts.clean + counts.dirty
        summaries.append(
            model.BenchmarkSummary(
                name=indexed["benchmark"]["name"],
                path=indexed["benchmark"]["path"],
                fields=tuple(indexed["fields"]),
                md5=indexed["md5"],
                items=indexed["items"],
                dirty_frac=counts.dirty / tested if tested else None,
                edited=None if n_edited is None else int(n_edited[n]),
                edited_docs=copies and int(copies.benchmark_docs[n]),
                **vars(counts),
            )
        )
    return tuple(summaries)


def _examples(
    index: BenchmarkIndex, analysis: Analysis, most: int, wanted: Bools | None = None
) -> tuple[model.NgramExample, ...]:
    """Of each benchmark the items of which a document has most, the best first.

    most: examples of a benchmark.
    wanted: (n_items,) bool, only these items; None is all.
    """
    examples = analysis.examples
    if wanted is not None:
        examples = examples.filter(pa.array(wanted[np.asarray(examples["item"])]))
    rows = _best(index, examples, most)
    matches = [Match(*(row[k] for k in Match._fields)) for row in rows]
    passages = item_passages(index, matches)
    return tuple(
        model.NgramExample(
            **_placed(row, index, analysis.item_docs),
            **{name: row[name] for name in ("found_frac", "ngrams", "spans")},
            **_written(match, passage, index),
            before=match.before,
            match=_shortened(match.match),
            after=match.after,
            item_text=_window(passage),
        )
        for row, match, passage in zip(rows, matches, passages, strict=True)
    )


def _best(index: BenchmarkIndex, examples: pa.Table, most: int) -> list[dict[str, Any]]:
    """Rows of schema EXAMPLE, one an item."""
    items, first = np.unique(np.asarray(examples["item"]), return_index=True)
    best = examples.take(pa.array(first))
    shares, ngrams = (np.asarray(best[name]) for name in ("found_frac", "ngrams"))
    which = index.texts.benchmarks_of(items)
    rows: list[dict[str, Any]] = best.take(
        pa.array(best_of(which, shares, -ngrams, most))
    ).to_pylist()
    return rows


def _placed(row: dict[str, Any], index: BenchmarkIndex, item_docs: I64) -> dict[str, Any]:
    """What examples of both kinds say of the item and the document; row: of either schema."""
    (name,) = index.names_of(np.array([row["item"]]))
    return {
        "benchmark": name.partition(":")[0],
        "item": name,
        "documents": int(item_docs[row["item"]]),
        "foldings": names_of(row["foldings"]),
        **{key: row[key] for key in ("doc_id", "id", "source", "start_byte", "end_byte")},
    }


def _written(match: Match, passage: ItemPassage, index: BenchmarkIndex) -> dict[str, Any]:
    """How the match differs from the longest stretch of the item."""
    start, end = max(passage.spans, key=lambda span: span[1] - span[0], default=(0, 0))
    stretch = passage.text[start:end]
    return {
        "as_written": stretch == match.match,
        "differences": differences(stretch, match.match, index.folding),
    }


def _shortened(text: str) -> str:
    """A long text without its middle."""
    if len(text) <= MOST_CHARS:
        return text
    half = MOST_CHARS // 2
    return f"{text[:half]} […{len(text) - 2 * half:,} characters…] {text[-half:]}"


def _window(passage: ItemPassage) -> model.ItemText:
    """The text of an item around its first span, if it is long."""
    text, spans = passage
    first = spans[0][0] if spans else 0
    start = first - LEAD_CHARS if first > 2 * LEAD_CHARS else 0
    end = min(start + MOST_CHARS, len(text))
    return model.ItemText(
        text=text[start:end],
        spans=tuple((a - start, min(b, end) - start) for a, b in spans if a < end),
        chars_before=start,
        chars_behind=len(text) - end,
    )


def _reasons(index: BenchmarkIndex, counts: GramCounts) -> dict[str, Bools]:
    """(n_grams,) bool by reason: the n-grams that are ignored for it and for none before it."""
    grams = index.ngrams
    of_items = shared(grams, index.texts.starts, len(index.texts.lengths))
    most_docs = index.matching.most_docs
    in_documents = np.zeros_like(of_items)
    if most_docs is not None:
        in_documents = frequent(counts, grams, most_docs=most_docs)
    return {
        "shared": of_items,
        "letterless": index.ignored & ~of_items,
        "frequent": in_documents & ~index.ignored,
    }


def _ignored(
    index: BenchmarkIndex, counts: GramCounts, reasons: dict[str, Bools], most: int
) -> tuple[model.IgnoredPassage, ...]:
    """Of as many documents those first that may be items rather than numbers or prompts."""
    folded = fold(index.texts.texts, index.folding).text
    table = ignored_passages(reasons, counts, index.ngrams, folded, index.texts.items, most=most)
    passages = (model.IgnoredPassage(**row) for row in table.to_pylist())
    return tuple(sorted(passages, key=lambda p: (-p.documents, "frequent" not in p.reason)))


def edited_examples(
    index: BenchmarkIndex, copies: CopyAnalysis, most: int
) -> tuple[model.EditedExample, ...]:
    """Edited items beside the document that has the best copy.

    most: items of a benchmark; those with the best copies come first.
    """
    table = copies.examples
    some = table.filter(pa.array(copies.edited()[np.asarray(table["item"])]))
    which = index.texts.benchmarks_of(np.asarray(some["item"]))
    best = best_of(which, np.asarray(some["containment"]), np.asarray(some["doc_id"]), most)
    rows = some.take(pa.array(best)).to_pylist()
    return tuple(_side_by_side(row, index, copies) for row in rows)


def _side_by_side(
    row: dict[str, Any], index: BenchmarkIndex, copies: CopyAnalysis
) -> model.EditedExample:
    """row: of schema COPY.  The bytes are of `match`, which may reach farther than the row's."""
    text = index.texts.texts[row["text"]].as_py()[:MOST_COPY_CHARS]
    match = row["match"][:MOST_COPY_CHARS]
    shown = copy_passage(text, row["before"], match, row["after"], index.folding)
    return model.EditedExample(
        **_placed(row, index, copies.item_docs)
        | {
            "start_byte": row["start_byte"] - _lost_bytes(row["before"], shown.before),
            "end_byte": row["end_byte"] + _lost_bytes(row["after"], shown.after),
        },
        containment=row["containment"],
        before=shown.before,
        match=shown.match,
        after=shown.after,
        item_text=model.ItemText(text=text, spans=shown.spans),
    )


def _lost_bytes(whole: str, part: str) -> int:
    return len(whole.encode()) - len(part.encode())
