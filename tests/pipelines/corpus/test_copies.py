"""Each document that stays tells how many left for it: in the dataset, kept text and exports."""

import json
import random
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.chains import Runs, words
from tests.reference import mix as reference
from tests.reference.copies import COLUMNS, copies
from tests.running import one_by_one
from tests.strategies import examples
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus import copies as module
from tokenmill.pipelines.corpus import rows as corpus_rows
from tokenmill.pipelines.corpus.copies import Counts, added
from tokenmill.pipelines.tokens.text import kept_rows

NAMES = tuple(COLUMNS.values())
FEW = {"shard_bytes": 8_000, "keep_index": False}


def planted(seed=3, n=25):
    """Texts of which some are copied, some varied, and some varied and copied; in any order."""
    draw = random.Random(seed)
    docs = []
    for i in range(n):
        text = words(f"d{i}-")
        varied = text.replace("-9 ", "-x ", 1)
        docs += [text] * draw.choice([1, 1, 2, 4]) + [varied] * draw.choice([0, 0, 1, 3])
    draw.shuffle(docs)
    return docs


def told(rows):
    return {row["doc_id"]: {n: row[n] for n in NAMES if n in row} for row in rows}


def dataset(out):
    return told(load_from_disk(str(out / "dataset")).remove_columns("input_ids"))


def truth(out, ids, names=NAMES, **first):
    of = copies(out, **first)
    counts = {i: of(i) for i in ids}
    return {i: {n: counts[i][n] for n in names} for i in ids}


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_rows, "GROUP_ROWS", 15)
        patch.setattr(module, "HELD", 3)
        yield


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run that both steps remove documents of."""
    made = Runs(tmp_path_factory.mktemp("plain"))
    return made.make("docs", planted(), steps=["exact", "near"], **FEW)


LONG = {"gopher_quality": {"min_words": 60, "min_stop_words": 0}}
BY_URL = {"same_url": {"keep": "last"}}


@pytest.mark.long_but("a URL behind", "two passes")  # the others have a part of their steps
@pytest.mark.parametrize(
    "steps",
    [
        ["exact", "near"],
        ["exact", "normalize", "near", LONG],
        ["near", "exact", BY_URL],
        [BY_URL, "exact", LONG, "near"],
    ],
    ids=["one pass", "two passes", "a URL behind", "a URL before"],
)
def test_what_left_is_counted_once_for_who_stays(runs, steps):
    draw = random.Random(5)
    docs = [
        {"id": str(i), "text": text, "url": f"http://a/{draw.randrange(50)}"}
        for i, text in enumerate(planted())
    ]
    out = runs.make("docs", docs, steps=steps, **FEW)
    found = dataset(out)
    assert found == truth(out, found)
    total = sum(sum(of.values()) for of in found.values())
    assert total > 20
    if BY_URL not in steps:
        assert total == len(docs) - len(found)


@pytest.mark.long_but("behind")  # first by test_count's empty shards
@pytest.mark.parametrize("before", ["first", "behind"])
def test_shards_of_which_nothing_is_left_are_no_harm_in_groups_of_one(runs, monkeypatch, before):
    monkeypatch.setattr(corpus_rows, "GROUP_ROWS", 1)
    docs = planted(n=12)
    short = [f"short {i}" for i in range(30)]
    steps = [LONG, "exact", "near"] if before == "first" else ["exact", LONG, "near"]
    all_of_them = [*short, *docs[:20], *short[:20], *docs[20:], *short]
    out = runs.make("docs", all_of_them, steps=steps, shard_bytes=2500)
    found = dataset(out)
    assert found == truth(out, found)
    assert sum(sum(of.values()) for of in found.values()) > 10


def test_only_steps_that_are_there_have_a_column(runs):
    out = runs.make("docs", planted(), steps=["exact"], **FEW)
    found = dataset(out)
    assert found == truth(out, found, ["copies_exact"])
    assert any(of["copies_exact"] for of in found.values())
    out = runs.make("docs", planted(), steps=["normalize"], into="none", **FEW)
    assert set(load_from_disk(str(out / "dataset")).column_names).isdisjoint(NAMES)
    assert not (out / "receipts" / "copies").exists()


def test_what_earlier_runs_hold_is_not_counted(runs):
    docs = planted()
    shards = {"shard_bytes": 8_000, "steps": ["exact", "near"]}
    runs.make("old", docs[:30], **shards)
    out = runs.make("new", docs[30:], against=["old"], **shards)
    found = dataset(out)
    first = min(found) >> 32
    assert first > 0
    assert found == truth(out, found, first_shard=first)
    assert any(of["copies_exact"] for of in found.values())


def test_pieces_of_a_document_have_what_it_had(runs):
    text = words("a", 2000)
    docs = [text, text, text.replace("a7 ", "b "), words("other", 300)]
    items = runs.write("items", [{"q": " ".join(f"a{i}" for i in range(900, 960))}])
    step = {"decontaminate": {"benchmarks": [{"name": "items", "path": str(items)}]}}
    out = runs.make("docs", docs, steps=["exact", "near", step], **FEW)
    found = dataset(out)
    pieces = [of for doc_id, of in found.items() if doc_id & 0xF0000000]
    assert pieces == [{"copies_exact": 1, "copies_near": 1}] * 2
    assert found == truth(out, found)


def test_kept_text_packed_and_mixed_and_exports_have_it(runs, plain):
    steps = ["exact", "near"]
    found = dataset(plain)
    for into, output in {
        "packed": {"seq_len": 16},
        "mixed": {"shuffle": True, "epochs": 2},
    }.items():
        out = runs.make(
            "docs",
            planted(),
            steps=steps,
            into=into,
            output={"text": "jsonl.zst", **output},
            **FEW,
        )
        rows = [row for _, row in kept_rows(out)]
        assert told(rows).items() <= found.items()
        assert len(told(rows)) >= len(found) - 1
    assert dataset(runs.folder / "mixed") == found
    for form in ("parquet", "mds"):
        main(["export", str(plain), "--format", form, "--out", str(runs.folder / form)])
    exported = pq.read_table(runs.folder / "parquet" / "train-00000.parquet")
    assert told(exported.drop(["input_ids"]).to_pylist()) == found
    index = json.loads((runs.folder / "mds" / "train" / "index.json").read_text())
    columns = index["shards"][0]["column_names"]
    assert [index["shards"][0]["column_encodings"][columns.index(n)] for n in NAMES] == [
        "uint32",
        "uint32",
    ]


def test_counting_is_cut_by_the_data_not_by_workers(runs, plain, monkeypatch):
    monkeypatch.setattr(corpus_rows, "GROUP_ROWS", 1 << 20)

    def backwards(job, phase):
        return one_by_one(job, phase)[::-1]

    again = runs.make("docs", planted(), backwards, "again", steps=["exact", "near"], **FEW)
    files = [sorted((o / "dataset").glob("*.arrow")) for o in (plain, again)]
    assert [f.read_bytes() for f in files[0]] == [f.read_bytes() for f in files[1]]


def test_rehydrate_weighs_documents_by_how_many_they_stand_for(runs):
    out = runs.make(
        "docs",
        planted(),
        steps=["exact", "near"],
        output={"shuffle": True, "epochs": 2, "rehydrate": {4: 2.5, 2: 1.5, 6: 0}},
        **FEW,
    )
    rows = load_from_disk(str(out / "dataset")).remove_columns("input_ids")
    taken = Counter(row["id"] for row in rows)
    stands_for = {row["id"]: 1 + sum(row[n] for n in NAMES) for row in rows}
    for name, n in stands_for.items():
        weight = 1.0 if n < 2 else 1.5 if n < 4 else 2.5 if n < 6 else 0
        assert taken[name] == len(reference.copies(name, 0, weight, 2))
    assert {1, 2, 4} <= set(stands_for.values())
    assert max(stands_for.values()) < 6
    left_out = [p for p in (out / "removed").glob("*.mix.parquet") if pq.read_table(p).num_rows]
    assert left_out


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"steps": ["normalize"]}, "no step finds duplicates; add one, as exact or near"),
        ({"output": {"rehydrate": {2: 2}}}, "add output.shuffle: true"),
        ({"mix": {"shares": {"docs": 1}}}, "changes what mix.shares come to"),
    ],
)
def test_rehydrate_is_refused_where_it_says_nothing(runs, recipe, message):
    runs.write("docs", ["one"])
    output = {"shuffle": True, "rehydrate": {2: 2}}
    with pytest.raises(ConfigError, match=message):
        runs.recipe("docs", **{"steps": ["exact"], "output": output, **recipe})


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 5)), max_size=30))
@settings(max_examples=examples(25))
def test_counts_of_a_document_are_added_up(sent):
    ids = np.array([i for i, _, _ in sent], np.uint64)
    counts = np.array([c for _, *c in sent], np.int64).reshape(-1, 2)
    made = added(ids, counts)
    asked = np.arange(11, dtype=np.uint64)[::-1]
    want = [[sum(c[k] for i, *c in sent if i == a) for k in (0, 1)] for a in asked.tolist()]
    assert isinstance(made, Counts)
    assert made.of(asked).tolist() == want
