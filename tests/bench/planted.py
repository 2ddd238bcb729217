"""How many benchmark items are found that are planted in disguise, as a Markdown table.

    python -m tests.bench.planted [--each 300] [--misses 0] [--benchmark NAME=PATH …]
        [--disguise NAME …]

Of every benchmark of the sample data, or of those given, up to so many texts are planted, each in a
document of its own, in every disguise of tests/pipelines/contamination/disguises.py; an item of
several parts is found if every part is. Shares are percent of those planted: found by n-grams, of
all and of each benchmark; by containment; by either. `covered`: of the bytes planted, from the
first n-gram found to the last. "16 words and more": by either, of such texts. By n-grams is by one
that counts, as `--verdict gpt3` asks; "dirty" and "in part" are what the default verdict tells of
the item. Then what is found, by either, in the documents as they are.
"""

import argparse
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.conftest import SHARED_DATA
from tests.pipelines.contamination.disguises import DISGUISES
from tests.pipelines.contamination.planting import (
    Plant,
    Result,
    copies_in,
    edited,
    fitting,
    index_of,
    plants,
    read_documents,
    read_index,
    results,
    shown_overlaps,
)
from tests.strategies import document_batch
from tokenmill.dedup.arrays import F64
from tokenmill.dedup.text.fold import fold
from tokenmill.dedup.text.gram_words import count_words
from tokenmill.pipelines.contamination.check import analysis_by
from tokenmill.pipelines.contamination.found import count_corpus, hits_of, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.shares import MOST

LONG_WORDS = 16  # from which on edited copies are told apart from what is like by chance
ENDS = (
    "planted",
    "n-grams",
    "dirty",
    "in part",
    "covered",
    "containment",
    "either",
    "16 words and more",
    "foldings needed by most",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=300, help="texts of a benchmark")
    parser.add_argument("--misses", type=int, default=0, help="to print of each disguise")
    parser.add_argument("--benchmark", nargs="+", default=[], metavar="NAME=PATH")
    parser.add_argument("--disguise", nargs="+", default=list(DISGUISES), choices=DISGUISES)
    options = parser.parse_args()
    given = dict(spec.split("=", 1) for spec in options.benchmark)
    index = index_of({n: Path(p) for n, p in given.items()}) if given else read_index(SHARED_DATA)
    documents = list(read_documents(SHARED_DATA))
    names = [b.name for b in index.matching.benchmarks]
    write(["disguise", *ENDS[:4], *names, *ENDS[4:]])
    write(["---"] * (len(ENDS) + len(names) + 1))
    for name in options.disguise:
        disguise = DISGUISES[name]
        planted = plants(index, fitting(documents), disguise, options.each, name)
        found, by_containment = results(index, planted), edited(index, planted)
        write([name, *row(index, planted, found, by_containment)])
        show(index, planted, found, options.misses)
    for overlap in shown_overlaps(index, documents):
        sys.stdout.write(f"{overlap.item} in {overlap.document}: {overlap.words}\n")
    for copy in copies_in(index, [d.text for d in documents]).to_pylist():
        (name,) = index.names_of(np.array([copy["item"]]))
        where, share = documents[int(copy["id"])].name, copy["containment"]
        sys.stdout.write(f"{name} in {where}, containment {share:.2f}: {copy['match']!r}\n")


def row(
    index: BenchmarkIndex, planted: list[Plant], found: list[Result], contained: list[Result]
) -> list[str]:
    grams, edited_ = (np.array([r.found for r in rs]) for rs in (found, contained))
    items = index.texts.items[[p.row for p in planted]]
    ends = np.searchsorted(items, [*index.texts.starts, len(index.texts.lengths)])
    covered = [share for r in found for share in r.covered if share]
    words = count_words(fold(index.texts.texts, index.folding).text)
    long = words[[p.row for p in planted]] >= LONG_WORDS
    shares = own_shares(index, planted)
    kinds = Counter(name for r in found for name in r.foldings)
    return [
        f"{len(planted):,}",
        percent(grams),
        percent(shares >= MOST),
        percent((shares > 0) & (shares < MOST)),
        *(percent(grams[a:b]) for a, b in pairwise(ends)),
        percent(covered),
        percent(edited_),
        percent(grams | edited_),
        percent((grams | edited_)[long]),
        ", ".join(name for name, n in kinds.items() if n > 0.5 * len(planted)),
    ]


def own_shares(index: BenchmarkIndex, planted: list[Plant]) -> F64:
    """(n_planted,) of the item's own n-grams the share that the document has."""
    found = search(document_batch([p.document for p in planted]), index, "planted")
    counts = count_corpus([found], len(index.ngrams.hashes))
    analysis, _ = analysis_by(index, counts, MOST)
    pairs = analysis.shares.of(hits_of(found))
    docs = found["doc_id"].to_numpy().astype(np.int64)[pairs.rows]
    right = pairs.items == index.texts.items[[p.row for p in planted]][docs]
    shares = np.zeros(len(planted))
    shares[docs[right]] = pairs.shares[right]
    return shares


def percent(shares: npt.ArrayLike) -> str:
    return f"{100 * np.mean(shares):.2f}" if np.size(shares) else ""


def write(cells: list[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def show(index: BenchmarkIndex, planted: list[Plant], found: list[Result], most: int) -> None:
    """Print some of the parts that were not found."""
    missed = [
        (p.row, p.document.encode()[a:b].decode())
        for p, r in zip(planted, found, strict=True)
        for (a, b), n in zip(p.spans, r.ngrams, strict=True)
        if not n
    ]
    for text, part in missed[:most]:
        (name,) = index.names_of(index.texts.items[[text]])
        sys.stdout.write(f"    {name} {part!r}\n")


if __name__ == "__main__":
    main()
