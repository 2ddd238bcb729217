"""Precision and recall of the words that extractors take out of pages, and MB/s of HTML.

    python -m tests.bench.extractors FOLDER

FOLDER is scrapinghub's article-extraction-benchmark: `ground-truth.json`, `html/ID.html.gz`. Runs
of four words are compared, each as often as it stands, and averaged over pages, as it does. Every
other page is of the first half, for whoever chooses by these figures: the second is what to tell.
"""

import gzip
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tokenmill.pipelines.read.web.child import extractor

SETTINGS = {
    "resiliparse": ("resiliparse", True, None),
    "resiliparse, main_content: false": ("resiliparse", False, None),
    "trafilatura": ("trafilatura", True, None),
    "trafilatura, favor: precision": ("trafilatura", True, "precision"),
    "trafilatura, favor: recall": ("trafilatura", True, "recall"),
}
N = 4
_WORD = re.compile(r"\w+")


def runs(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    n = min(N, len(words))
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) if n else Counter()


def scores(true: str, made: str) -> tuple[float, float]:
    """Precision and recall."""
    wanted, found = runs(true), runs(made)
    common = (wanted & found).total()
    return common / max(found.total(), 1), common / max(wanted.total(), 1)


def main(folder: Path) -> None:
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    ids = sorted(truth)
    pages = [gzip.decompress((folder / "html" / f"{i}.html.gz").read_bytes()).decode() for i in ids]
    size = sum(len(page.encode()) for page in pages)
    for name, (library, main_content, favor) in SETTINGS.items():
        make = extractor(library, main_content=main_content, comments=False, favor=favor)
        make(pages[0])
        begun = time.process_time()
        texts = [make(page) for page in pages]
        speed = size / (time.process_time() - begun) / 1e6
        by_page = [scores(truth[i]["articleBody"], t) for i, t in zip(ids, texts, strict=True)]
        for half, told in ((0, "first half"), (1, "second")):
            precision, recall = np.mean(by_page[half::2], axis=0)
            f1 = 2 * precision * recall / (precision + recall)
            print(f"{name:34} {told:10} {precision:.3f} {recall:.3f} {f1:.3f} {speed:6.1f} MB/s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
