"""Items of benchmarks planted into documents, and what of them is found.

index, documents --> Disguise --> Plants (documents with an item each) --search--> Results
"""

import gzip
import html
import json
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.pipelines.contamination.disguises import Disguise
from tests.strategies import document_batch
from tokenmill.dedup.overlap.find import overlaps
from tokenmill.dedup.text.fold import fold, names_of
from tokenmill.dedup.text.gram_words import count_words
from tokenmill.pipelines.contamination.copies import Copies, find_copies, index_copies
from tokenmill.pipelines.contamination.found import hits_of, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import parse_benchmark
from tokenmill.pipelines.contamination.shares import Units

Column = npt.NDArray[np.int64]

BENCHMARKS = {
    "gsm8k": "gsm8k/test.jsonl",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
    "mbpp": "mbpp/mbpp.jsonl",
    "arc-easy": "ai2_arc_arrow/ARC-Easy/validation",
    "arc-challenge": "ai2_arc_arrow/ARC-Challenge/validation",
    "boolq": "boolq_arrow/none/validation",
}
LEAST_CHARS, MOST_CHARS = 1500, 15_000  # of documents to plant into
SEPARATORS = (" ", "\n", "\n\n")


class Document(NamedTuple):
    """A document, and where it comes from."""

    name: str
    text: str


class Plant(NamedTuple):
    """An item's text in a document.

    row: of the text, among those of all benchmarks.
    document: with the text in it.
    spans: bytes of the parts planted.
    """

    row: int
    document: str
    spans: list[tuple[int, int]]


class Result(NamedTuple):
    """What was found of a plant.

    ngrams: of each part, how many n-grams of the right item lie in it.
    covered: of each part, the share of its bytes from the first such n-gram to the last.
    foldings: names of those that they needed.
    """

    ngrams: list[int]
    covered: list[float]
    foldings: tuple[str, ...]

    @property
    def found(self) -> bool:
        return all(self.ngrams)


def read_index(data: Path) -> BenchmarkIndex:
    """The sample benchmarks."""
    return index_of({name: data / "bench" / path for name, path in BENCHMARKS.items()})


def index_of(paths: dict[str, Path]) -> BenchmarkIndex:
    specs = tuple(parse_benchmark(f"{name}={path}") for name, path in paths.items())
    return BenchmarkIndex.build(Matching(benchmarks=specs))


def read_documents(data: Path) -> Iterator[Document]:
    """C4, documentation and the articles of WikiText."""
    for path in sorted((data / "text").rglob("*.json*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for i, line in enumerate(lines):
                yield Document(f"{path.name.split('.')[0]}:{i}", json.loads(line)["text"])
    for name in ("valid", "test"):
        path = data / f"text/wikitext2/word_language_model/data/wikitext-2/{name}.txt"
        for i, article in enumerate(path.read_text(encoding="utf-8").split("\n \n = ")):
            yield Document(f"wikitext2-{name}:{i}", article)


def fitting(documents: Iterable[Document]) -> list[str]:
    """Texts to plant into, neither short nor long."""
    return [d.text for d in documents if LEAST_CHARS <= len(d.text) <= MOST_CHARS]


def plants(
    index: BenchmarkIndex, documents: list[str], disguise: Disguise, each: int, seed: str
) -> list[Plant]:
    """Plant up to `each` texts of every benchmark, each in a document of its own."""
    random, made = Random(seed), []
    texts = index.texts
    words = count_words(fold(texts.texts, index.folding).text)
    which = np.searchsorted(texts.starts, texts.items, "right")
    for benchmark in np.unique(which):
        enough = words >= disguise.least_ngrams * texts.ngrams
        rows = np.flatnonzero(enough & (which == benchmark)).tolist()
        for row in random.sample(rows, min(each, len(rows))):
            parts = disguise.parts(texts.texts[row].as_py(), int(texts.ngrams[row]), random)
            made.append(Plant(row, *_put(random.choice(documents), parts, random)))
    return made


def _put(document: str, parts: list[str], random: Random) -> tuple[str, list[tuple[int, int]]]:
    """Put parts between words of a document, each in a stretch of its own."""
    made, spans, at = "", [], 0
    for i, part in enumerate(parts):
        wanted = int(len(document) * (i + random.uniform(0.25, 0.75)) / len(parts))
        place = max(at, *(document.rfind(space, at, wanted) + 1 for space in " \n"))
        made += document[at:place] + random.choice(SEPARATORS)
        spans.append((len(made.encode()), len((made + part).encode())))
        made += part + random.choice(SEPARATORS)
        at = place
    return made + document[at:], spans


def results(index: BenchmarkIndex, planted: list[Plant]) -> list[Result]:
    """Search the documents with the plants, by n-grams."""
    found = search(document_batch([p.document for p in planted]), index, "planted")
    hits, foldings = hits_of(found), found["foldings"].flatten().to_numpy()
    docs = found["doc_id"].to_numpy().astype(np.int64)[hits.docs]
    at, items = index.ngrams.items_of(hits.grams)
    wanted = index.texts.items[[p.row for p in planted]]
    at = at[(items == wanted[docs[at]]) & ~index.ignored[hits.grams[at]]]
    ends = np.searchsorted(docs[at], np.arange(len(planted) + 1))
    return [
        _result(p.spans, *(column[at[a:b]] for column in (hits.starts, hits.ends, foldings)))
        for p, (a, b) in zip(planted, pairwise(ends), strict=True)
    ]


def edited(index: BenchmarkIndex, planted: list[Plant]) -> list[Result]:
    """Search the documents with the plants for copies, by containment."""
    copies = copies_in(index, [p.document for p in planted])
    docs = copies["doc_id"].to_numpy().astype(np.int64)
    wanted = index.texts.items[[p.row for p in planted]]
    at = np.flatnonzero(copies["item"].to_numpy() == wanted[docs])
    ends = np.searchsorted(docs[at], np.arange(len(planted) + 1))
    columns = [copies[name].to_numpy() for name in ("start_byte", "end_byte", "foldings")]
    return [
        _result(_reaching(p.spans), *(column[at[a:b]] for column in columns))
        for p, (a, b) in zip(planted, pairwise(ends), strict=True)
    ]


def _reaching(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans and half as much on each side: by chance a copy's next words may stand there."""
    return [(a - (b - a) // 2, b + (b - a) // 2) for a, b in spans]


def copies_in(index: BenchmarkIndex, documents: list[str]) -> pa.RecordBatch:
    batch = document_batch(documents)
    folded = fold(batch["text"], index.folding)
    copies = index_copies(index.texts, Units.build(index.texts, index.ngrams).contexts)
    return find_copies(batch, folded, copies, Copies(), "corpus")


def _result(parts: list[tuple[int, int]], starts: Column, ends: Column, foldings: Column) -> Result:
    inside = [(starts >= a) & (ends <= b) for a, b in parts]
    return Result(
        [int(part.sum()) for part in inside],
        [
            int(ends[part].max() - starts[part].min()) / (b - a) if part.any() else 0.0
            for part, (a, b) in zip(inside, parts, strict=True)
        ],
        names_of(int(np.bitwise_or.reduce(foldings[np.any(inside, axis=0)]))),
    )


# ------------------------------------------------------------------- where nothing was planted


def plain_words(text):
    """What two texts must have in common, without the project's own tables."""
    text = re.sub(r"(?<=\w)-\r?\n[ \t]*(?=\w)", "", html.unescape(text))
    text = unicodedata.normalize("NFKC", text).lower()
    return "".join(
        c
        for c in text
        if unicodedata.category(c)[0] != "P"
        and unicodedata.category(c) != "Cf"
        and c not in string.punctuation
    ).split()


def longest_run(some, others):
    """The most words in a row that stand in both lists."""
    lengths, most = {}, 0
    for word in some:
        lengths = {j: lengths.get(j - 1, 0) + 1 for j, o in enumerate(others) if o == word}
        most = max(most, *lengths.values()) if lengths else most
    return most


class Overlap(NamedTuple):
    item: str
    document: str
    words: str


def shown_overlaps(index, documents):
    """Every span of a document with n-grams of an item; each shown to have N words of it in a row,
    or all words of a shorter text."""
    found = search(document_batch([d.text for d in documents]), index, "corpus")
    ids, shown = found["doc_id"].to_pylist(), []
    hits = hits_of(found)
    spans = overlaps(hits.only(~index.ignored[hits.grams]), index.ngrams)
    for doc, item, start, end in zip(*(c.tolist() for c in spans[:4]), strict=True):
        document = documents[ids[doc]]
        words = plain_words(document.text.encode()[start:end].decode())
        rows = np.flatnonzero(index.texts.items == item).tolist()
        texts = [plain_words(index.texts.texts[row].as_py()) for row in rows]
        least = min(8, max(map(len, texts)))
        assert any(
            longest_run(words, text) >= min(int(n), max(len(text), least))
            for text, n in zip(texts, index.texts.ngrams[rows], strict=True)
        ), (document.name, words)
        shown.append(Overlap(*index.names_of(np.array([item])), document.name, " ".join(words)))
    return shown
