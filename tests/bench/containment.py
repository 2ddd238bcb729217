"""Edited copies of benchmark items: how many are found, what else is found, how fast.

    python -m tests.bench.containment [--data ../shared/data] [--items 10000 500000]

Recall: every item of the benchmarks in DATA/bench is planted into a document of DATA/text, one word
of every ten, or of every six, begun ones too, replaced by a word drawn from the documents. Else:
pairs of a document and an item in the same documents and those of installed packages, nothing
planted; every pair that counts is printed. Speed: CPU seconds against items whose words follow
one another as they do in other documents, the median of several runs.
"""

import argparse
import random
import re
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tests.bench.corpus import packages, shared, texts_of
from tokenmill.dedup.overlap.containment import (
    MIDDLE_THRESHOLD,
    SHORT_THRESHOLD,
    THRESHOLD,
    Containments,
    contained,
)
from tokenmill.dedup.overlap.containment_index import LONG_GRAMS, LONGER_GRAMS, ContainmentIndex
from tokenmill.dedup.text.gram_words import count_words
from tokenmill.pipelines.contamination.index import ItemTexts, prepare_texts
from tokenmill.pipelines.contamination.items.items import item_texts, read_items
from tokenmill.pipelines.contamination.items.spec import parse_benchmark
from tokenmill.pipelines.core.shard import Input

SEED = 20
BENCHMARKS = {
    "gsm8k": "gsm8k/test.jsonl",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
    "mbpp": "mbpp/mbpp.jsonl",
    "arc-challenge": "ai2_arc_arrow/ARC-Challenge/validation",
    "arc-easy": "ai2_arc_arrow/ARC-Easy/validation",
    "arc-prompts": "arc_challenge_test_llmadapters.json",
    "boolq": "boolq_arrow/none/validation",
}
EVERY = (10, 6)  # words of which one is replaced
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
WORDS_FROM = (8, 13, 16, 20, 32, 64, 128)  # lengths to tell recall by
HOST_CHARS = (200, 20_000)  # of documents to plant into
C4 = "c4_sample*/**/*.json.gz"
ITEM_WORDS = 70
SPEED_MB = 20
RUNS = 5


class Planted(NamedTuple):
    """Of texts planted, one a document: the containment found, and whether it counts."""

    best: npt.NDArray[np.float64]
    counts: npt.NDArray[np.bool_]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.containment", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--items", type=int, nargs="*", default=[10_000, 500_000])
    options = parser.parse_args()
    names, texts = read_benchmarks(options.data / "bench")
    index = indexed(texts)
    documents = shared(options.data / "text")
    show(f"{len(texts.lengths):,} items, {len(texts.texts):,} texts; N", *texts.benchmark_ngrams)
    for every in EVERY:
        show_recall(names, texts, index, documents, every)
    for what, searched in (("documents", documents), ("packages", packages())):
        show_found(what, searched, names, texts, index)
    for n_items in options.items:
        show_speed(n_items, options.data / "text")


def read_benchmarks(folder: Path) -> tuple[list[str], ItemTexts]:
    tables = [read_items(parse_benchmark(f"{n}={folder / path}")) for n, path in BENCHMARKS.items()]
    sizes = np.array([table.num_rows for table in tables])
    parts = [item_texts(table) for table in tables]
    starts = np.cumsum(sizes) - sizes
    items = np.concatenate(
        [np.asarray(rows) + s for (_, rows, _), s in zip(parts, starts, strict=True)]
    )
    texts = pa.concat_arrays([of_items for of_items, *_ in parts])
    return list(BENCHMARKS), prepare_texts(texts, items, sizes)


def indexed(texts: ItemTexts) -> ContainmentIndex:
    n_items = len(texts.lengths)
    return ContainmentIndex.build(
        texts.texts, texts.items, benchmark_starts=texts.starts, n_items=n_items
    )


def show_recall(
    names: list[str],
    texts: ItemTexts,
    index: ContainmentIndex,
    documents: list[str],
    every: int,
) -> None:
    n_words = count_words(texts.texts)
    order = np.lexsort((-n_words, texts.items))
    longest = order[np.unique(texts.items[order], return_index=True)[1]]
    which = np.searchsorted(texts.starts, texts.items, "right") - 1
    least = texts.benchmark_ngrams[which]
    whole = longest[n_words[longest] >= least[longest]]
    fields = np.setdiff1d(np.flatnonzero(n_words >= 8), longest)
    for label, rows in (("items of N words or more", whole), ("their single fields", fields)):
        found = planted(rows, texts, index, documents, every)
        show(f"\none word in {every} replaced: {label}", *THRESHOLDS, "counts", "n")
        groups = {names[b]: which[rows] == b for b in np.unique(which[rows])}
        bounds = zip(WORDS_FROM, (*WORDS_FROM[1:], 1 << 30), strict=True)
        groups |= {
            f"{lo} words or more": (n_words[rows] >= lo) & (n_words[rows] < hi) for lo, hi in bounds
        }
        for name, group in {"all": np.ones(len(rows), bool), **groups}.items():
            if group.any():
                shares = [np.mean(found.best[group] >= t) for t in THRESHOLDS]
                show(name, *(*shares, np.mean(found.counts[group])), int(group.sum()))


def planted(
    rows: npt.NDArray[np.int64],
    texts: ItemTexts,
    index: ContainmentIndex,
    documents: list[str],
    every: int,
) -> Planted:
    draw = random.Random(SEED)
    hosts = [d for d in documents if HOST_CHARS[0] <= len(d) <= HOST_CHARS[1]]
    words = [w for d in hosts for w in d.split()]
    made = []
    for text in texts.texts.take(pa.array(rows)).to_pylist():
        host = draw.choice(hosts).split(" ")
        at = draw.randrange(len(host) + 1)
        made.append(" ".join([*host[:at], edited(text, words, every, draw), *host[at:]]))
    low = THRESHOLDS[0]
    found = contained(column(made), index, threshold=low, short_threshold=low)
    own = found.items == texts.items[rows][found.docs]
    best, counts = np.zeros(len(rows)), np.zeros(len(rows), bool)
    np.maximum.at(best, found.docs[own], found.containment[own])
    counts[found.docs[own & that_count(found, index)]] = True
    return Planted(best, counts)


def edited(text: str, words: list[str], every: int, draw: random.Random) -> str:
    """One word of every begun `every` replaced; what stands between words stays."""
    parts = re.split(r"(\S+)", text)
    own = range(1, len(parts), 2)
    for start in range(0, len(own), every):
        parts[draw.choice(own[start : start + every])] = draw.choice(words)
    return "".join(parts)


def that_count(found: Containments, index: ContainmentIndex) -> npt.NDArray[np.bool_]:
    grams = index.grams[found.texts]
    least = np.where(grams < LONGER_GRAMS, MIDDLE_THRESHOLD, THRESHOLD)
    counts: npt.NDArray[np.bool_] = found.containment >= np.where(
        grams < LONG_GRAMS, SHORT_THRESHOLD, least
    )
    return counts


def show_found(
    what: str, documents: list[str], names: list[str], texts: ItemTexts, index: ContainmentIndex
) -> None:
    low = THRESHOLDS[0]
    found = contained(column(documents), index, threshold=low, short_threshold=low)
    mb = sum(len(d.encode()) for d in documents) / 1e6
    show(f"\nnothing planted: {what}, {mb:.0f} MB", *THRESHOLDS, "count")
    passed = [*(found.containment >= t for t in THRESHOLDS), that_count(found, index)]
    pairs = [np.unique(np.stack([found.docs, found.items])[:, p], axis=1) for p in passed]
    show("pairs of document and item", *(p.shape[1] for p in pairs))
    show("pairs in 10 MB", *(p.shape[1] / mb * 10 for p in pairs))
    show("share of items", *(len(np.unique(p[1])) / len(texts.lengths) for p in pairs))
    for i in np.flatnonzero(passed[-1]).tolist():
        document = documents[found.docs[i]].encode()
        name = names[int(np.searchsorted(texts.starts, found.items[i], "right")) - 1]
        show(f"  {found.containment[i]:.2f} of {index.grams[found.texts[i]]} grams, {name}")
        show(f"    {document[found.starts[i] : found.ends[i]].decode()!r}")
        show(f"    {texts.texts[int(found.texts[i])].as_py()!r}")


def show_speed(n_items: int, folder: Path) -> None:
    """Search every second document of C4 for items made of all other documents."""
    c4 = list(texts_of([Input(path=str(p)) for p in sorted(folder.glob(C4))]))
    others = [d for d in shared(folder) if d not in set(c4[::2])]
    searched = c4[::2]
    one_mb = sum(len(d.encode()) for d in searched) / 1e6
    repeats = round(SPEED_MB / one_mb)
    texts = column(searched * repeats)
    items = strangers(n_items, " ".join(others).split())
    begun = time.process_time()
    index = ContainmentIndex.build(
        items, np.arange(n_items), benchmark_starts=np.zeros(1, np.int64), n_items=n_items
    )
    built_s = time.process_time() - begun
    contained(texts.slice(0, 10), index)  # compiles
    seconds = []
    for _ in range(RUNS):
        begun = time.process_time()
        found = contained(texts, index)
        seconds.append(time.process_time() - begun)
    size = sum(a.nbytes for a in vars(index).values() if isinstance(a, np.ndarray)) / 1e6
    show(
        f"\n{n_items:,} items: {one_mb * repeats / statistics.median(seconds):.0f} MB/s a core,"
        f" {len(found.docs) // repeats} pairs; built in {built_s:.1f} CPU s; {size:,.0f} MB"
    )


def strangers(n_items: int, words: list[str]) -> pa.Array:
    """Items of 70 words; after each comes one that follows it somewhere."""
    draw = np.random.default_rng(SEED)
    distinct, numbers = np.unique(words, return_inverse=True)
    places = np.argsort(numbers, kind="stable")  # by word: where it stands
    counts = np.bincount(numbers)
    firsts = np.cumsum(counts) - counts
    at = draw.integers(0, len(words), n_items)
    chosen = np.empty((n_items, ITEM_WORDS), np.int64)
    for k in range(ITEM_WORDS):
        chosen[:, k] = numbers[at]
        same = places[firsts[chosen[:, k]] + draw.integers(0, counts[chosen[:, k]])]
        at = (same + 1) % len(words)
    drawn = pa.array(distinct, pa.large_string()).take(pa.array(chosen.ravel()))
    ends = pa.array(np.arange(n_items + 1) * ITEM_WORDS)
    lists = pa.LargeListArray.from_arrays(ends, drawn)
    return pc.binary_join(lists, pa.scalar(" ", pa.large_string()))


def column(texts: list[str]) -> pa.Array:
    return pa.array(texts, pa.large_string())


def show(name: str, *figures: object) -> None:
    cells = (f"{f:8.3f}" if isinstance(f, float) else f"{f!s:>8}" for f in figures)
    sys.stdout.write(f"{name:<34}{''.join(cells)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
