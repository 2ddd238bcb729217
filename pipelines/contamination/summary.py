"""What a search for benchmark items has to say, as plain JSON data.

    BenchmarkIndex, Analysis, GramCounts --> `summarize` --+--> contamination.json
    inputs, documents read, failures of the run -----------+

Everything shown elsewhere is drawn from it. Names, ids and texts in it are untrusted text.

Items of benchmarks, each beside the document that has most of it, as plain data.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.fold import fold, names_of
from tokenmill.dedup.gram_counts import GramCounts, frequent, ignored_passages, shared
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.examples import best_of
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.passages import (
    ItemPassage,
    Match,
    differences,
    item_passages,
)

Example: TypeAlias = dict[str, Any]

MOST_CHARS = 2000  # of a match, and of an item
LEAD_CHARS = 300  # of an item in front of what was found of it, if that begins far behind
OF_DOCUMENT = ("doc_id", "id", "source", "start_byte", "end_byte")
OF_PAIR = ("found_frac", "ngrams", "spans")


def summarize_examples(
    index: BenchmarkIndex,
    analysis: Analysis,
    most: int,
    wanted: npt.NDArray[np.bool_] | None = None,
) -> list[Example]:
    """Of each benchmark the items of which a document has most, the best first.

    most: examples of a benchmark.
    wanted: (n_items,) bool, only these items; None is all.
    """
    examples = analysis.examples
    if wanted is not None:
        examples = examples.filter(pa.array(wanted[np.asarray(examples["item"])]))
    rows = _best(index, examples, most)
    matches = [Match(*(row[k] for k in ("item", "before", "match", "after"))) for row in rows]
    passages = item_passages(index, matches)
    names = index.names_of(np.array([m.item for m in matches], np.int64))
    return [
        {
            "benchmark": name.partition(":")[0],
            "item": name,
            "documents": int(analysis.item_docs[match.item]),
            **{key: row[key] for key in (*OF_PAIR, *OF_DOCUMENT)},
            "foldings": list(names_of(row["foldings"])),
            **_written(match, passage, index),
            "before": match.before,
            "match": _shortened(match.match),
            "after": match.after,
            "item_text": _window(passage),
        }
        for row, name, match, passage in zip(rows, names, matches, passages, strict=True)
    ]


def _best(index: BenchmarkIndex, examples: pa.Table, most: int) -> Sequence[Example]:
    """Rows of schema EXAMPLE, one an item."""
    items, first = np.unique(np.asarray(examples["item"]), return_index=True)
    best = examples.take(pa.array(first))
    which = np.searchsorted(index.texts.starts, items, "right") - 1
    shares, ngrams = (np.asarray(best[name]) for name in ("found_frac", "ngrams"))
    rows: list[Example] = best.take(pa.array(best_of(which, shares, -ngrams, most))).to_pylist()
    return rows


def _written(match: Match, passage: ItemPassage, index: BenchmarkIndex) -> Example:
    """as_written: the match is the item's text to the letter.  differences: what is other."""
    start, end = max(passage.spans, key=lambda span: span[1] - span[0], default=(0, 0))
    stretch = passage.text[start:end]
    return {
        "as_written": stretch == match.match,
        "differences": list(differences(stretch, match.match, index.folding)),
    }


def _shortened(text: str) -> str:
    """A long text without its middle."""
    if len(text) <= MOST_CHARS:
        return text
    half = MOST_CHARS // 2
    return f"{text[:half]} […{len(text) - 2 * half:,} characters…] {text[-half:]}"


def _window(passage: ItemPassage) -> Example:
    """The text around its first span, if it is long; spans: in characters of `text`.

    chars_before, chars_behind: left out of the item's text.
    """
    text, spans = passage
    first = spans[0][0] if spans else 0
    start = first - LEAD_CHARS if first > 2 * LEAD_CHARS else 0
    end = min(start + MOST_CHARS, len(text))
    return {
        "text": text[start:end],
        "spans": [[a - start, min(b, end) - start] for a, b in spans if a < end],
        "chars_before": start,
        "chars_behind": len(text) - end,
    }


CONTAMINATION_VERSION = "1"
MOST_EXAMPLES = 20  # of a benchmark
MOST_IGNORED = 100


def summarize(
    index: BenchmarkIndex,
    analysis: Analysis,
    counts: GramCounts,
    *,
    most_examples: int = MOST_EXAMPLES,
    most_ignored: int = MOST_IGNORED,
) -> dict[str, Any]:
    """Tell what was looked for, how, and what was found.

    index: what `analysis` was made with.
    analysis: of the whole corpus.
    counts: documents of the corpus that have each n-gram.

    Returns:
        The keys contamination, settings, benchmarks, examples, widespread, worst, sources,
        ignored, n_ignored. What has been read is for the caller to add; `report` says what it
        shows.
    """
    matching = index.matching
    return {
        "contamination": CONTAMINATION_VERSION,
        "settings": matching.model_dump(mode="json", exclude={"benchmarks"}),
        "benchmarks": _benchmarks(index, analysis),
        "examples": summarize_examples(index, analysis, most_examples),
        "widespread": _widespread(index, analysis, most_examples),
        "worst": analysis.worst.to_pylist(),
        "sources": _sources(analysis),
        **_ignored(index, counts, most_ignored),
    }


def _benchmarks(index: BenchmarkIndex, analysis: Analysis) -> list[dict[str, Any]]:
    """Of each benchmark what it is, and how many of its items are in the corpus."""
    made = []
    for described, counts in zip(index.benchmarks, analysis.counts(), strict=True):
        tested = counts.clean + counts.dirty
        made.append(
            {
                "name": described["benchmark"]["name"],
                "path": described["benchmark"]["path"],
                "fields": described["fields"],
                "md5": described["md5"],
                "items": described["items"],
                "dirty_frac": counts.dirty / tested if tested else None,
                **vars(counts),
                "foldings": dict(counts.foldings),
            }
        )
    return made


def _widespread(index: BenchmarkIndex, analysis: Analysis, most: int) -> list[dict[str, Any]]:
    """Widespread items, each beside a document; n-grams of too many documents are told too."""
    if analysis.frequent is None:
        return []
    return summarize_examples(index, analysis.frequent, most, analysis.widespread())


def _sources(analysis: Analysis) -> list[dict[str, Any]]:
    """Those with most pairs of a document and an item first."""
    found = sorted(analysis.sources.items(), key=lambda s: (-s[1].pairs, s[0]))
    return [{"source": name, **vars(counts)} for name, counts in found]


def _ignored(index: BenchmarkIndex, counts: GramCounts, most: int) -> dict[str, Any]:
    """N-grams of the corpus that counted for nothing, as passages, those of most documents first.

    n_ignored: how many n-grams there are, by the first reason that holds.
    """
    grams, n_items = index.ngrams, len(index.texts.lengths)
    of_items = shared(grams, index.texts.starts, n_items)
    most_docs = index.matching.most_docs
    in_documents = np.zeros_like(of_items)
    if most_docs is not None:
        in_documents = frequent(counts, grams, most_docs=most_docs)
    in_corpus = np.zeros(len(of_items), bool)
    in_corpus[counts.grams] = True
    reasons = {
        "shared": of_items,
        "letterless": index.ignored & ~of_items,
        "frequent": in_documents & ~index.ignored,
    }
    folded = fold(index.texts.texts, index.folding).text
    passages = ignored_passages(reasons, counts, grams, folded, index.texts.items, most=most)
    return {
        # of as many documents those first that may be items rather than numbers or prompts
        "ignored": sorted(
            passages.to_pylist(), key=lambda p: (-p["documents"], "frequent" not in p["reason"])
        ),
        "n_ignored": {name: int((mask & in_corpus).sum()) for name, mask in reasons.items()},
    }
