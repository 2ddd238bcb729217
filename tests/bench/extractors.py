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
from typing import Any, NamedTuple

import numpy as np

from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.web.child import extractor
from tokenmill.pipelines.read.web.extract import CHOICES

SETTINGS: dict[str, dict[str, Any]] = {  # of the section `html` of a recipe
    "resiliparse": {},
    "resiliparse, main_content: false": {"main_content": False},
    "resiliparse, comments: true": {"comments": True},
    "resiliparse, links: true": {"links": True},
    "trafilatura": {},
    "trafilatura, favor: precision": {"favor": "precision"},
    "trafilatura, favor: recall": {"favor": "recall"},
    "trafilatura, comments: true": {"comments": True},
    "trafilatura, links: true": {"links": True},
    "trafilatura, tables: false": {"tables": False},
    "trafilatura, formatting: true": {"formatting": True},
    "trafilatura, main_content: false": {"main_content": False},
}
N = 4
SHORT = 30  # characters of a line that may be navigation
GAIN = 0.1  # of precision and recall together, for which trafilatura would be asked
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


class Made(NamedTuple):
    """Of each page: precision and recall, CPU seconds."""

    scores: list[tuple[float, float]]
    seconds: list[float]


def tell(name: str, made: Made, sizes: list[int]) -> None:
    for half, told in ((0, "first half"), (1, "second")):
        precision, recall = np.mean(made.scores[half::2], axis=0)
        f1 = 2 * precision * recall / (precision + recall)
        speed = sum(sizes[half::2]) / sum(made.seconds[half::2]) / 1e6
        print(f"{name:40} {told:10} {precision:.3f} {recall:.3f} {f1:.3f} {speed:6.1f} MB/s")


def mixed(first: Made, better: Made, asks: list[bool]) -> Made:
    """The first extractor of all pages, and the better one, behind it, of those that ask for it."""
    pages = zip(first.scores, better.scores, asks, strict=True)
    taken = zip(first.seconds, better.seconds, asks, strict=True)
    return Made([b if ask else a for a, b, ask in pages], [a + b * ask for a, b, ask in taken])


def main(folder: Path) -> None:
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    ids = sorted(truth)
    pages = [gzip.decompress((folder / "html" / f"{i}.html.gz").read_bytes()).decode() for i in ids]
    sizes = [len(page.encode()) for page in pages]
    all_made, short = {}, []
    for name, settings in SETTINGS.items():
        options = Html.model_validate({"extractor": name.partition(",")[0], **settings})
        make = extractor(options.extractor, **options.model_dump(include=CHOICES))
        make(pages[0])
        made = all_made[name] = Made([], [])
        for i, page in zip(ids, pages, strict=True):
            begun = time.process_time()
            text = make(page)
            made.seconds.append(time.process_time() - begun)
            made.scores.append(scores(truth[i]["articleBody"], text))
            if name == "resiliparse":
                lines = [len(line.strip()) < SHORT for line in text.splitlines() if line.strip()]
                short.append(float(np.mean(lines or [1.0])))
        tell(name, made, sizes)
    ours, theirs = all_made["resiliparse"], all_made["trafilatura"]
    for share in (0.2, 0.3, 0.4, 0.5):
        both = mixed(ours, theirs, [one > share for one in short])
        tell(f"trafilatura if {share:.0%} of lines are short", both, sizes)
    gains = [sum(b) - sum(a) > GAIN for a, b in zip(ours.scores, theirs.scores, strict=True)]
    tell("the same, had the truth been known", mixed(ours, theirs, gains), sizes)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
