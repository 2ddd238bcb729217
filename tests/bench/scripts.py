"""Near copies and benchmark items in scripts without spaces: how many are found, by what words.

    python -m tests.bench.scripts --repositories FOLDER

Documents are pages of translated documentation, each as it was in two commits of its repository:
FOLDER/OWNER+NAME/repo is a clone (git directory) of each. Near copies are the two versions of a
page, and a page and itself with one in a hundred of its characters of such scripts replaced, of
which at least .8 of the distinct runs of 5 characters are in common, white space left out: a truth
that knows no words. Items are passages of 40 characters out of the older version; the page that
holds one is searched as it is, and without punctuation and with a space between characters of such
scripts at every tenth place.
"""

import argparse
import random
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.overlap.find import find
from tokenmill.dedup.same.lsh import Bands, band_keys
from tokenmill.dedup.same.minhash import MinHash, pair_similarity, signatures
from tokenmill.dedup.text.fold import Folding, fold
from tokenmill.dedup.text.unicode import PUNCT, flags_of
from tokenmill.dedup.text.unicode_words import BASE, tables
from tokenmill.pipelines.contamination.index import prepare_texts
from tokenmill.pipelines.corpus.near import NearDedup


class Corpus(NamedTuple):
    """Pages of a repository whose names contain `inside` and end in `.md` or `.rst`."""

    language: str
    repository: str
    old: str
    new: str
    inside: str


CORPORA = (
    Corpus(
        "Chinese",
        "PaddlePaddle/docs",
        "110d5b90ec9c91c5dbb4b20fd5d4f39a04bed2fe",
        "98f6410dc41ed9319c1a6128a83015e0a49a3c7a",
        "_cn.",
    ),
    Corpus(
        "Japanese",
        "vuejs-translations/docs-ja",
        "9147ee551f520ed186df5d7862e8575b8aa6e2d6",
        "c627102bfabf8bc5ecaa6eb763b965a0a5d43a5b",
        "src/",
    ),
    Corpus(
        "Thai",
        "electron/i18n",
        "89f9a7dcbe3d3822accbb86854f7d9516e4faacc",
        "086a35048eaebda12ba536db865759e35321d412",
        "/th-TH/",
    ),
)
SEED, LEAST, MOST_ITEMS, ITEM_CHARS = 20, 0.8, 500, 40


def pages(git: Path, commit: str, inside: str) -> dict[str, str]:
    """Pages of a commit with a tenth of their characters or more in scripts without spaces."""
    command = ["git", f"--git-dir={git}"]
    tree = subprocess.check_output([*command, "ls-tree", "-r", "-z", commit], text=True)
    blobs = [line.split("\t") for line in tree.split("\0") if inside in line]
    named = {name: facts.split()[2] for facts, name in blobs if name.endswith((".md", ".rst"))}
    made = subprocess.run(
        [*command, "cat-file", "--batch"], input="\n".join(named.values()).encode(), stdout=-1
    ).stdout
    found, at = {}, 0
    for name in named:
        head = made.index(b"\n", at)
        size = int(made[at:head].split()[2])
        text = made[head + 1 : head + 1 + size].decode(errors="replace")
        at = head + size + 2
        if len(text) > 200 and sum(map(is_alone, text)) > len(text) / 10:
            found[name.rpartition(inside)[2] if inside.endswith("/") else name] = text
    return found


def is_alone(char: str) -> bool:
    known, cp = tables(), ord(char)
    return bool(known.kinds[int(known.pages[cp >> 8]) * 256 + (cp & 255)] == BASE)


def jaccard(one: str, other: str) -> float:
    texts = ("".join(text.split()) for text in (one, other))
    a, b = ({text[i : i + 5] for i in range(len(text) - 4)} for text in texts)
    return len(a & b) / max(len(a | b), 1)


def edited(texts: list[str]) -> list[str]:
    """The texts with one in a hundred of their characters of scripts replaced by another."""
    rng, made = random.Random(SEED), []
    for text in texts:
        chars = list(text)
        places = [i for i, char in enumerate(chars) if is_alone(char)]
        for at in rng.sample(places, len(places) // 100):
            chars[at] = chars[rng.choice(places)]
        made.append("".join(chars))
    return made


def near_recall(pairs: list[tuple[str, str]], words: str) -> float:
    """The share of pairs that share a band and agree in their signatures."""
    near = NearDedup(words=words)
    config = MinHash(num_perm=near.num_perm, ngram=near.ngram, words=words)
    column = pa.array([text for pair in pairs for text in pair])
    signed = signatures(column, config)
    keys = band_keys(signed, Bands(bands=near.bands, rows=near.rows))
    even = np.arange(0, len(column), 2)
    meet = ((keys[::2] == keys[1::2]) & (keys[::2] != 0)).any(axis=1)
    return float((meet & (pair_similarity(signed, even, even + 1) >= near.verify)).mean())


def changed(text: str) -> str:
    bare = [char for char in text if not flags_of(ord(char)) & PUNCT]
    for i in range(10, len(bare), 10):
        if is_alone(bare[i - 1]) and is_alone(bare[i]):
            bare[i] = " " + bare[i]
    return "".join(bare)


def items_found(texts: list[str], words: str) -> tuple[float, float]:
    """The shares of items whose page is found: verbatim; with other spaces and marks."""
    rng = random.Random(SEED)
    items, of = [], []
    while len(items) < MOST_ITEMS:
        page = rng.randrange(len(texts))
        start = rng.randrange(len(texts[page]) - ITEM_CHARS - 1)
        item = texts[page][start : start + ITEM_CHARS]
        whole = all(map(is_alone, item[0] + item[-1] + texts[page][start + ITEM_CHARS]))
        if whole and sum(map(is_alone, item)) >= ITEM_CHARS // 2:
            items.append(item)
            of.append(page)
    column, n = pa.array(items, pa.large_string()), len(items)
    index = prepare_texts(column, np.arange(n), np.array([n]), words=words).indexed()
    shares = []
    for documents in (texts, list(map(changed, texts))):
        folded = fold(pa.array(documents, pa.large_string()), Folding()).text
        hits = find(folded, index)
        at, found = index.items_of(hits.grams)
        have = set(zip(hits.docs[at].tolist(), found.tolist(), strict=True))
        shares.append(sum((page, item) in have for item, page in enumerate(of)) / n)
    return shares[0], shares[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repositories", type=Path, required=True)
    folder = parser.parse_args().repositories
    for corpus in CORPORA:
        git = folder / corpus.repository.replace("/", "+") / "repo"
        if not git.exists():
            print(f"{corpus.repository}: skipped, not in {folder}")
            continue
        old, new = (pages(git, commit, corpus.inside) for commit in (corpus.old, corpus.new))
        both = [(old[name], new[name]) for name in old.keys() & new.keys()]
        given = list(old.values())
        kinds = {
            name: [(a, b) for a, b in pairs if a != b and jaccard(a, b) >= LEAST]
            for name, pairs in {
                "versions": both,
                "edited copies": list(zip(given, edited(given), strict=True)),
            }.items()
        }
        print(f"{corpus.language}: {corpus.repository} {corpus.old[:12]} {corpus.new[:12]}")
        print(f"  {len(old):,} and {len(new):,} pages")
        for name, pairs in kinds.items():
            found = [f"{words} {near_recall(pairs, words):.3f}" for words in ("unicode", "scripts")]
            print(f"  {len(pairs)} {name} found with words: {', '.join(found)}")
        for words in ("whitespace", "scripts"):
            verbatim, otherwise = items_found(given, words)
            print(
                f"  items found with words: {words}: {verbatim:.3f}, otherwise set {otherwise:.3f}"
            )


if __name__ == "__main__":
    main()
