"""What a run makes, as one digest: no change for speed may change it.

The corpus is drawn from a seed, the tokenizer is written out by hand, and the digest is of
values, not of files: neither an interpreter nor a library's file format decides it. It was taken
before the kernels, the tokenizer's engine and the readers were made fast. A change that is meant
to change the output (a new default, another rule) states the new digest.
"""

import gzip
import hashlib
import json
import random

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_from_disk
from tokenizers.pre_tokenizers import ByteLevel

from tests.running import one_by_one, prepare
from tokenmill.dedup.text.fold import FOLDINGS
from tokenmill.pipelines.core.pieces import PIECE
from tokenmill.pipelines.prepare.recipe import load_recipe

DIGEST = "9c22446556b923678ccf06142ce86f776041bcffb1b6631a75e5180198cd7bb5"
CUT_DIGEST = "b1f6fe20d01fc2d155c965c63931eb28fb00c37191712b34ebead2ddad4b4b81"
ONE_HIT_DROPS = {  # what the step did before it cut documents
    "ngram": 13,
    "folding": {name: False for name in FOLDINGS},
    "most_docs": None,
    "action": "document",
}
COLUMNS = ("doc_id", "id", "outcome", "stage", "reason", "duplicate_of", "similarity")
SPAN = ("doc_id", "item", "start_byte", "end_byte", "ngrams")
STARTS = [*"bcdfghklmnprstvw", "st", "tr"]
ENDS = ["a", "e", "i", "o", "u", "ai", "on", "er", "an", "it"]
COMMON = ["the", "of", "and", "to", "in", "that", "is", "with", "for", "be", "have", "this"]
SCRIPTS = (
    "данные модель текст",
    "日本語の文章 東京",
    "cafe\u0301 na\u00efve",
    "한국어 문장",
    "αβγ λόγος",
    "🙂 🚀",
)
MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("e", "r"), ("Ġ", "o"), ("a", "n")]


def word(draw: random.Random) -> str:
    n = 1 + int(draw.random() * 3)
    pick = lambda among: among[int(draw.random() * len(among))]  # noqa: E731
    return "".join(pick(STARTS) + pick(ENDS) for _ in range(n))


def document(draw: random.Random) -> str:
    sentences = []
    for _ in range(3 + int(draw.random() * 40)):
        words = [
            COMMON[int(draw.random() * len(COMMON))] if draw.random() < 0.4 else word(draw)
            for _ in range(4 + int(draw.random() * 20))
        ]
        if draw.random() < 0.1:
            words.append(SCRIPTS[int(draw.random() * len(SCRIPTS))])
        ends = ". " if draw.random() < 0.8 else ".\r\n" if draw.random() < 0.5 else "\n\n- "
        sentences.append(" ".join(words).capitalize() + ends)
        if draw.random() < 0.1:
            sentences.append(sentences[-1])
    return "".join(sentences)


def documents() -> list[str]:
    """1,200 texts: some twice, some with a few words changed, some short or strange."""
    draw = random.Random(20240229)
    made = [document(draw) for _ in range(900)]
    made += [
        "",
        " ",
        "\x00\x01",
        "word",
        "lorem ipsum dolor " * 30,
        "{ code }",
        "<|endoftext|> end",
    ]
    while len(made) < 1200:
        text = made[int(draw.random() * 900)]
        if draw.random() < 0.5:
            words = text.split(" ")
            words[int(draw.random() * len(words))] = word(draw)
            text = " ".join(words)
        made.append(text)
    return made


def write_tokenizer(path):
    alphabet = sorted(ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*alphabet, *(a + b for a, b in MERGES)])}
    end = {"id": len(vocab), "content": "<|endoftext|>", "special": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    data = {
        "version": "1.0",
        "added_tokens": [{**end, **flags}],
        "pre_tokenizer": {**byte_level, "use_regex": True},
        "decoder": {**byte_level, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": [list(m) for m in MERGES]},
    }
    path.write_text(json.dumps(data))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The corpus, the tokenizer and the benchmark."""
    folder = tmp_path_factory.mktemp("golden")
    texts = documents()
    for name, part in (("a.jsonl", texts[:700]), ("b.jsonl.gz", texts[700:])):
        lines = "".join(
            json.dumps({"id": f"{name}-{i}", "text": t}, ensure_ascii=i % 2 == 0) + "\n"
            for i, t in enumerate(part)
        ).encode()
        (folder / name).write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    write_tokenizer(folder / "tokenizer.json")
    (folder / "items.jsonl").write_text(
        "".join(json.dumps({"q": texts[i][10:300]}) + "\n" for i in range(0, 60, 3))
    )
    (folder / "middles.jsonl").write_text(
        "".join(json.dumps({"q": texts[i][900:1100]}) + "\n" for i in range(0, 300, 3))
    )
    return folder


def run(folder, name, items, **decontaminate):
    item = {"name": "items", "path": str(folder / items), "fields": ["q"]}
    recipe = {
        "name": "golden",
        "inputs": [{"path": str(folder / name)} for name in ("a.jsonl", "b.jsonl.gz")],
        "shard_bytes": "300kB",
        "steps": [
            "normalize",
            {"gopher_quality": {"min_stop_words": 1}},
            {"gopher_repetition": {}},
            {"c4": {"min_sentences": 2}},
            {"fineweb": {}},
            "exact",
            "near",
            {"decontaminate": {"benchmarks": [item], **decontaminate}},
        ],
        "tokenizer": {"path": str(folder / "tokenizer.json")},
        "output": {"shard_bytes": "300kB", "validation_frac": 0.05},
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(recipe))
    report = prepare(load_recipe(folder / f"{name}.yaml"), folder / name, one_by_one)
    return folder / name, report


@pytest.fixture(scope="module")
def made(folder):
    return run(folder, "dropped", "items.jsonl", **ONE_HIT_DROPS)


def test_the_corpus_meets_every_step(made):
    _, report = made
    removed = {row["stage"]: row["docs_in"] - row["docs_out"] for row in report["ledger"]}
    assert min(removed[s] for s in removed if s not in ("read", "normalize", "tokenize")) > 0
    assert report["ledger"][-1]["docs_out"] > 300


def digest_of(out, **columns):
    """Of the dataset, the receipts, and these columns of other folders."""
    digest = hashlib.sha256()
    for split in load_from_disk(str(out / "dataset")).values():
        for row in split:
            digest.update(json.dumps([row[k] for k in sorted(row)]).encode())
    for folder, names in {"removed": COLUMNS, **columns}.items():
        for path in sorted((out / folder).iterdir()):
            rows = pq.read_table(path, columns=list(names)).to_pylist()
            if not rows:
                continue
            digest.update(json.dumps([list(r.values()) for r in rows]).encode())
    return digest.hexdigest()


def test_the_output_is_what_it_was(made):
    assert digest_of(made[0]) == DIGEST


def test_what_is_cut_is_what_it_was(folder):
    out, report = run(folder, "cut", "middles.jsonl")
    row = next(row for row in report["ledger"] if row["stage"] == "decontaminate")
    assert row["docs_created"] > 3
    assert row["removed"]["short_piece"] > 3
    assert digest_of(out, overlaps=SPAN, pieces=PIECE.names) == CUT_DIGEST
