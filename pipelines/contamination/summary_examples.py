"""Items of benchmarks, each beside the document that has most of it, as plain data."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.fold import names_of
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.examples import best_of
from tokenmill.pipelines.contamination.item_passages import ItemPassage, Match, item_passages
from tokenmill.pipelines.contamination.written import differences

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
