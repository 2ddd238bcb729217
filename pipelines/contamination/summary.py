"""What a search for benchmark items has to say, as plain JSON data.

    BenchmarkIndex, Analysis, GramCounts --> `summarize` --+--> contamination.json
    inputs, documents read, failures of the run -----------+

Everything shown elsewhere is drawn from it. Names, ids and texts in it are untrusted text.
"""

from typing import Any

import numpy as np

from tokenmill.dedup.fold import fold
from tokenmill.dedup.gram_counts import GramCounts, frequent, ignored_passages, shared
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.summary_examples import summarize_examples

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
