"""Near duplicates against the exact Jaccard similarity of every pair, with five seeds.

    python -m tests.bench.truth --repositories FOLDER [--shared FOLDER] [--seeds 1 2 3 4 5]

FOLDER/OWNER+NAME/repo is a clone (git directory) of each repository below; what is not there is
skipped, and said. Documents are files of one or several commits, those of Reuters its stories; of
equal texts the first. The truth is computed over all pairs: of the sets of distinct 32-bit hashes
of their shingles, by a list of documents for each hash, nothing left out.

pairs      of J >= .8: the share that shares a band of MinHash, with its binomial interval (95 %)
documents  in a run of `near` with its defaults: of those like an earlier one that stays, J >= .8,
           the share that leaves; of those that leave, the share whose J with the one that is named
           is `verify` or more and the one that is told, and the least J of all
"""

import argparse
import gzip
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import betaincinv

from tests.running import one_by_one, prepare
from tokenmill.dedup.arrays import I64, read_only
from tokenmill.dedup.same.lsh import band_keys
from tokenmill.dedup.same.minhash import signatures, signed_shingles
from tokenmill.dedup.same.sets import Ratio, distinct
from tokenmill.dedup.text.shingle import Shingles
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.prepare.recipe import make_recipe

LEAST = 0.8  # of a pair that is to be found


class Corpus(NamedTuple):
    """Files of commits of a repository whose paths match, whole or as `stories`."""

    what: str
    repository: str
    commits: tuple[str, ...]
    paths: str
    stories: bool = False


CORPORA = (
    Corpus(
        "documentation in versions",
        "longhorn/website",
        ("0f622500d3b8233f6f160932851f7189e3f8ba0e",),
        r"content/docs/.*\.md$",
    ),
    Corpus(
        "documentation in versions",
        "antrea-io/website",
        ("1b0bdccfecf347ef70f8e7beefe8abbb051e4ff0",),
        r"content/docs/.*\.md$",
    ),
    Corpus(
        "documentation in versions",
        "projectcontour/contour",
        ("31c4bb38e0a52cef4d8273dd5641a70e39f1d693",),
        r"site/content/docs/.*\.md$",
    ),
    Corpus(
        "news",
        "wuodar/reuters_text_classification",
        ("f52c802bfa25fd4c39215a2e8ac6b25cd9a126d2",),
        r"data/reut2-\d+\.sgm$",
        stories=True,
    ),
    Corpus(
        "Chinese documentation",
        "PaddlePaddle/docs",
        ("110d5b90ec9c91c5dbb4b20fd5d4f39a04bed2fe", "98f6410dc41ed9319c1a6128a83015e0a49a3c7a"),
        r"_cn\.(md|rst)$",
    ),
    Corpus(
        "Japanese documentation",
        "vuejs-translations/docs-ja",
        ("9147ee551f520ed186df5d7862e8575b8aa6e2d6", "c627102bfabf8bc5ecaa6eb763b965a0a5d43a5b"),
        r"src/.*\.md$",
    ),
    Corpus(
        "Thai documentation",
        "electron/i18n",
        ("89f9a7dcbe3d3822accbb86854f7d9516e4faacc", "086a35048eaebda12ba536db865759e35321d412"),
        r"/th-TH/.*\.md$",
    ),
)
STORY = re.compile(r"<BODY>(.*?)(?:&#3;|</BODY>)", re.DOTALL)


# documents


def files(git: Path, commit: str, paths: str) -> Iterator[str]:
    """The text files of a commit whose paths match, in the order of git."""
    return (data.decode(errors="replace") for data in contents(git, commit, paths))


def contents(git: Path, commit: str, paths: str) -> Iterator[bytes]:
    """As `files`, of any kind."""
    command = ["git", f"--git-dir={git}"]
    tree = subprocess.check_output([*command, "ls-tree", "-r", "-z", commit], text=True)
    lines = [line.split("\t") for line in tree.split("\0") if line]
    blobs = [facts.split()[2] for facts, path in lines if re.search(paths, path)]
    made = subprocess.run(
        [*command, "cat-file", "--batch"], input="\n".join(blobs).encode(), stdout=-1, check=True
    ).stdout
    at = 0
    for _ in blobs:
        head = made.index(b"\n", at)
        size = int(made[at:head].split()[2])
        yield made[head + 1 : head + 1 + size]
        at = head + size + 2


def of_repository(corpus: Corpus, git: Path) -> Iterator[str]:
    for commit in corpus.commits:
        for text in files(git, commit, corpus.paths):
            yield from STORY.findall(text) if corpus.stories else [text]


def etcd(shared: Path) -> Iterator[str]:
    with gzip.open(shared / "text" / "docs_etcd.jsonl.gz", "rt", encoding="utf-8") as f:
        yield from (json.loads(line)["text"] for line in f)


def articles(shared: Path) -> Iterator[str]:
    path = shared / "dedup_truth" / "mccormick_minhash" / "data" / "articles_1000.train"
    yield from (line.split(" ", 1)[1] for line in path.read_text(encoding="utf-8").splitlines())


# the truth


@numba.njit(cache=True)
def _count(own, hashes, by_hash, starts, counts, met):
    """How many hashes of a set each earlier one has; return how many sets have any.

    own: its number.  hashes: (n,) numbers of its hashes' lists.  by_hash, starts: lists of sets,
    ascending.  counts: (n_sets,) zeros, filled.  met: (n_sets,) the sets that have any.
    """
    n = 0
    for h in hashes:
        for i in range(starts[h], starts[h + 1]):
            other = by_hash[i]
            if other >= own:
                break
            if counts[other] == 0:
                met[n] = other
                n += 1
            counts[other] += 1
    return n


def alike_pairs(sets: Shingles, least: float) -> tuple[I64, I64, I64, I64]:
    """(n_pairs,) of all pairs whose similarity is `least` or more: x < y, shared, union."""
    ratio, sizes = Ratio.of(least), np.diff(sets.offsets)
    _, numbers = np.unique(sets.hashes, return_inverse=True)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(numbers, kind="stable")
    by_hash = owners[order]
    starts = np.concatenate(([0], np.cumsum(np.bincount(numbers)))).astype(np.int64)
    counts, met = np.zeros(len(sizes), np.int64), np.empty(len(sizes), np.int64)
    found = []
    for y, (begin, end) in enumerate(pairwise(sets.offsets.tolist())):
        own = read_only(numbers[begin:end].astype(np.int64))
        n = _count(y, own, read_only(by_hash), read_only(starts), counts, met)
        others = np.sort(met[:n])
        shares = counts[others]
        counts[others] = 0
        both = sizes[others] + sizes[y]
        here = shares >= ratio.least_shared(both)
        x, share = others[here], shares[here]
        found.append(np.column_stack([x, np.full(len(x), y), share, both[here] - share]))
    x, y, share, union = np.concatenate(found).T
    return x, y, share, union


# what is found


class Found(NamedTuple):
    """Of one corpus and seed. pairs, documents: (found, of).  right: (named rightly, removed)."""

    pairs: tuple[int, int]
    documents: tuple[int, int]
    right: tuple[int, int]
    least: float


def found(texts: list[str], near: NearDedup, truth: tuple[I64, I64, I64, I64]) -> Found:
    x, y, share, union = truth
    j = share / union
    alike = j >= LEAST
    keys = band_keys(signatures(pa.array(texts), near.minhash()), near.lsh())
    met = ((keys[x[alike]] == keys[y[alike]]) & (keys[x[alike]] != 0)).any(axis=1)
    removed = run(texts, near)
    gone = set(removed)
    known = dict(zip(zip(x.tolist(), y.tolist(), strict=True), j.tolist(), strict=True))
    told = {d: known.get((of, d), 0.0) for d, (of, _) in removed.items()}
    right = sum(
        told[d] >= near.verify and of not in gone and abs(told[d] - similarity) < 1e-6
        for d, (of, similarity) in removed.items()
    )
    like_one = {
        b for a, b in zip(x[alike].tolist(), y[alike].tolist(), strict=True) if a not in gone
    }
    return Found(
        (int(met.sum()), len(met)),
        (len(like_one & gone), len(like_one)),
        (right, len(gone)),
        min(told.values(), default=1.0),
    )


def run(texts: list[str], near: NearDedup) -> dict[int, tuple[int, float]]:
    """Run the step alone; of each document that leaves, the one it names and the similarity."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "in.jsonl"), Path(folder, "run")
        lines = (json.dumps({"id": str(i), "text": t}) + "\n" for i, t in enumerate(texts))
        path.write_text("".join(lines), encoding="utf-8")
        recipe = {
            "inputs": [str(path)],
            "steps": [{"near": near.model_dump(mode="json")}],
            "tokenizer": None,
            "output": {"text": "parquet"},
            "shard_bytes": 1 << 40,  # one: ids are row numbers
        }
        prepare(make_recipe(recipe, where="truth"), out, one_by_one)
        receipts = [r for p in out.glob("removed/*.parquet") for r in pq.read_table(p).to_pylist()]
    return {r["doc_id"]: (r["duplicate_of"], r["similarity"]) for r in receipts}


def interval(k: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's, 95 %."""
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, 0.025))
    return low, 1.0 if k == n else float(betaincinv(k + 1, n - k, 0.975))


# what is told

COLUMNS = (
    "| corpus | documents | pairs ≥ .8 | found | interval | left of those like one that stays |"
)
MORE = " leave | rightly named | least |"


def row(name: str, n_docs: int, of_seeds: list[Found]) -> str:
    pairs, documents, right = (
        tuple(map(sum, zip(*(getattr(f, what) for f in of_seeds), strict=True)))
        for what in ("pairs", "documents", "right")
    )
    low, high = interval(*pairs)
    shares = [f"{k / n:.4f}" if n else "-" for k, n in (pairs, documents)]
    least = min(f.least for f in of_seeds)
    return (
        f"| {name} | {n_docs:,} | {pairs[1]:,} | {shares[0]} | {low:.4f} to {high:.4f} |"
        f" {shares[1]} of {documents[1]:,} | {right[1]:,} | {right[0]:,} | {least:.4f} |"
    )


def measured(texts: list[str], seeds: list[int]) -> list[Found]:
    default = NearDedup()
    sets = distinct(signed_shingles(pa.array(texts), default.minhash())[1])
    truth = alike_pairs(sets, default.verify)
    return [found(texts, NearDedup(seed=seed), truth) for seed in seeds]


def corpora(args: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Iterator[str]]]]:
    """Names of the corpora that are there, and their texts; those that are not are told."""
    for name, texts in (("etcd, shared/data", etcd), ("articles, shared/data", articles)):
        if args.shared is None:
            print(f"{name}: skipped, no --shared")
        else:
            yield name, partial(texts, args.shared)
    for corpus in CORPORA:
        folder = args.repositories / corpus.repository.replace("/", "+") / "repo"
        git = folder / ".git" if (folder / ".git").exists() else folder
        named = f"{corpus.what}: {corpus.repository} {' '.join(c[:12] for c in corpus.commits)}"
        if git.exists():
            yield named, partial(of_repository, corpus, git)
        else:
            print(f"{named}: skipped, not in {args.repositories}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    args = parser.parse_args()
    every: list[Found] = []
    n_docs = 0
    print(COLUMNS + MORE)
    for name, read in corpora(args):
        texts = list(dict.fromkeys(text for text in read() if text.strip()))
        of_seeds = measured(texts, args.seeds)
        print(row(name, len(texts), of_seeds), flush=True)
        every, n_docs = every + of_seeds, n_docs + len(texts)
    print(row(f"all, seeds {args.seeds}", n_docs, every))


if __name__ == "__main__":
    main()
