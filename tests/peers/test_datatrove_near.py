"""What four blocks of datatrove keep, ours keep, as nearly as its own with another seed."""

import gzip
import json
import random
import re
import struct
import sys
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
import xxhash
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.truth import run
from tokenmill.dedup.text.simplified import simplified
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.prepare.recipe import find_recipe

datatrove = pytest.importorskip("datatrove")
pytestmark = pytest.mark.peers

from datatrove.data import Document  # noqa: E402
from datatrove.pipeline.dedup import minhash as theirs  # noqa: E402
from datatrove.utils.text import simplify_text  # noqa: E402


class Whitespace:
    """In place of spaCy, which splits texts in this form nearly so, at a tenth of the speed."""

    def word_tokenize(self, text):
        return text.split()


RATES = (0.002, 0.005, 0.01, 0.02, 0.04, 0.06)  # of words that are others: J of .98 to .56
LINES = (
    "",
    "Caf\u00e9 no. 3,75",
    "\u0661\u0662\u066b\u0665 and 7.8.9",
    "a\u0301\u0338 \ufb01 \u0130 \u1e9e",
    "\u201cx\u201d\x1c\x85\x0b\u3000y",
    "1\uff123",
    "\u2028a\u00a0b",
)


@pytest.fixture(scope="module")
def texts(shared_data):
    """Documentation, and of each page one to three copies: words, numbers or marks are others."""
    draw, pages = random.Random(3), []
    for name in ("docs_django_5.1_5.2", "docs_etcd"):
        with gzip.open(shared_data / "text" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as f:
            pages += [json.loads(line)["text"][:3000] for line in f]
    others = [word for page in pages[::20] for word in page.split()]
    made = list(pages)
    for page in pages:
        for _ in range(draw.choice([1, 2, 3])):
            made.append(edited(page, draw, others))
    draw.shuffle(made)
    return made


def edited(page, draw, others):
    rate = draw.choice(RATES)
    words = [draw.choice(others) if draw.random() < rate else word for word in page.split(" ")]
    text, kind = " ".join(words), draw.randrange(10)
    if kind < 3:
        return re.sub(r"\d+", lambda _: str(draw.randrange(1000)), text)
    if kind < 5:
        return text.replace(",", "").replace(". ", "! ").replace('"', "'")
    return text.upper() if kind == 5 else text


def kept_by_datatrove(texts, folder, seed):
    """Rows that stay by its four blocks, and those that would if the first of each cluster did."""
    config = theirs.MinhashConfig(seed=seed)
    signed = theirs.MinhashDedupSignature(f"{folder}/signed", config)
    # what xxhash 4 wants bytes for, datatrove 0.10 gives it text
    signed.word_tokenizer = Whitespace()
    signed._hash_func = lambda shingle: xxhash.xxh64_intdigest(shingle.encode())
    signed.run((Document(text=text, id=str(i)) for i, text in enumerate(texts)), 0, 1)
    for rank in range(config.num_buckets):
        pairs = theirs.MinhashDedupBuckets(f"{folder}/signed", f"{folder}/pairs", config=config)
        pairs.run(None, rank, config.num_buckets)
    theirs.MinhashDedupCluster(
        f"{folder}/pairs", f"{folder}/gone", config=config, save_cluster_id=True
    ).run(None, 0, 1)
    gone, clusters = (
        Path(folder, "gone", f"000000.{name}").read_bytes() for name in ("remove", "clusters")
    )
    every = set(range(len(texts)))
    members = [(of, row) for row, of in struct.iter_unpack("<2I", clusters)]
    firsts = {of: row for of, row in sorted(members, reverse=True)}
    kept = every - {row for (row,) in struct.iter_unpack("<I", gone)}
    return kept, every - {row for _, row in members} | set(firsts.values())


def as_fineweb(**settings):
    steps = yaml.safe_load(find_recipe("fineweb").read_text())["steps"]
    (near,) = (step["near"] for step in steps if "near" in step)
    return NearDedup(**{**near, **settings})


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


@pytest.mark.timeout(1200)
def test_kept_sets_differ_by_no_more_than_datatroves_own(texts, tmp_path):
    """Which one of a cluster stays hangs in datatrove on the order in which its pairs come, and
    differs by seed for a third of what stays; here the one stays that it keeps most often.

    The clusters are as like: of eight seeds by 1.00 of its own difference, with a standard error of
    .02, of which three seeds have more.
    """
    assert len(texts) >= 5_000
    made = [kept_by_datatrove(texts, tmp_path / str(seed), seed) for seed in (1, 2, 3)]
    ours, of_first = (
        [
            set(range(len(texts))) - run(texts, as_fineweb(seed=seed, keep=keep)).keys()
            for seed in (1, 2, 3)
        ]
        for keep in ("leading", "first")
    )
    kept, firsts = zip(*made, strict=True)
    sizes = [[len(some) for some in sets] for sets in (ours, kept)]
    own = [mean(len(a ^ b) for a, b in combinations(sets, 2)) for sets in (firsts, kept)]
    across = [
        mean(len(a ^ b) for a in one for b in other)
        for one, other in ((of_first, firsts), (ours, kept), (of_first, kept))
    ]
    sys.stdout.write(  # shown by pytest -rP
        f"of {len(texts)} documents ours keep {sizes[0]}, datatrove {sizes[1]}; with the first of"
        f" each cluster its sets differ by {own[0]:.0f}, ours from its by {across[0]:.0f}; as it"
        f" keeps them, by {own[1]:.0f} and {across[1]:.0f}, or with keep: first {across[2]:.0f}\n"
    )
    assert abs(mean(sizes[0]) - mean(sizes[1])) <= 0.02 * mean(sizes[1])
    assert across[0] <= 1.05 * own[0]
    assert across[1] <= own[1]


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(LINES)), max_size=8).map("".join))
def test_texts_are_compared_in_datatroves_form(text):
    assert simplified(pa.array([text])).to_pylist() == [simplify_text(text)]


def test_pages_are_compared_in_datatroves_form(texts):
    assert simplified(pa.array(texts)).to_pylist() == list(map(simplify_text, texts))
