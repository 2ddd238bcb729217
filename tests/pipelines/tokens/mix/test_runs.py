"""Whole runs that mix: what is in the dataset, how often and in which order."""

import json
import os
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xxhash
from datasets import DatasetDict, load_from_disk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.e2e.corpus import prose
from tests.pipelines.conftest import train
from tests.pipelines.read.web.archives import page
from tests.reference import mix as reference
from tests.running import KilledError, killed_in, one_by_one, prepare
from tests.strategies import examples
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.inspect import beside, decoded, removals
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import sections
from tokenmill.pipelines.runs.packs import receipts_of
from tokenmill.pipelines.runs.work import attempt
from tokenmill.pipelines.tokens.mix import phases
from tokenmill.sizing.corpus import read_corpus

SMALL = {"GROUP_BYTES": 1 << 14, "BUCKET_BYTES": 1 << 13, "BLOCK_BYTES": 1 << 13, "MOST_SHARDS": 3}
THINNED = {"crawl": 0.25, "books": 2.5}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two sources of prose, and a tokenizer."""
    folder = tmp_path_factory.mktemp("mix")
    train(folder)
    docs = prose()
    for name, some in (("crawl", docs[:120]), ("books", docs[120:180])):
        with (folder / f"{name}.jsonl").open("w") as f:
            for i, text in enumerate(some):
                f.write(json.dumps({"id": f"{name}-{i}", "text": text}) + "\n")
    return folder


@pytest.fixture(scope="module", autouse=True)
def small():
    """Groups, buckets and files small enough for there to be several; no disk is waited for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        for name, value in SMALL.items():
            patch.setattr(phases, name, value)
        yield


@pytest.fixture(scope="module")
def thinned(corpus, tmp_path_factory):
    """A run that mixes both sources, and its report."""
    out = tmp_path_factory.mktemp("thinned") / "run"
    return out, run(corpus, out)


@pytest.fixture(scope="module")
def twice(corpus, tmp_path_factory):
    """The same in two epochs."""
    out = tmp_path_factory.mktemp("twice") / "run"
    return out, run(corpus, out, output={"epochs": 2})


def recipe(corpus, weights=THINNED, output=None, **more):
    data = {
        "name": "mixed",
        "inputs": [
            {"path": str(corpus / f"{name}.jsonl"), "source": name, "weight": weight}
            for name, weight in weights.items()
        ],
        "shard_bytes": "20kB",
        "tokenizer": {"path": str(corpus / "tokenizer.json")},
        "output": {"shuffle": True, "shard_bytes": "16kB", **(output or {})},
        **more,
    }
    return make_recipe(data, where="test")


def run(corpus, out, execute=one_by_one, **given):
    return prepare(recipe(corpus, **given), out, execute)


def split_rows(out):
    loaded = load_from_disk(str(out / "dataset"))
    parts = loaded if isinstance(loaded, DatasetDict) else {"train": loaded}
    return {split: part.to_list() for split, part in parts.items()}


def dataset_bytes(out):
    return {p.relative_to(out): p.read_bytes() for p in sorted((out / "dataset").rglob("*.*"))}


def expected(corpus, weights, epochs, seed=0):
    """Ids in the order of the dataset, by the slow twin."""
    ids, of, salts = [], [], []
    for name, weight in weights.items():
        lines = (corpus / f"{name}.jsonl").read_text().splitlines()
        ids += [json.loads(line)["id"] for line in lines]
        of += [weight] * len(lines)
        salts += [xxhash.xxh3_64_intdigest(f"{name}.jsonl".encode())] * len(lines)
    return [ids[i] for i in reference.mixed(ids, seed, of, epochs, salts)]


@pytest.mark.long_but("3")  # three epochs begin with one
@pytest.mark.parametrize("epochs", [1, 3])
def test_the_dataset_is_what_the_reference_makes(corpus, tmp_path, epochs):
    report = run(corpus, tmp_path / "run", output={"epochs": epochs, "seed": 5})
    assert [row["id"] for row in split_rows(tmp_path / "run")["train"]] == expected(
        corpus, THINNED, epochs, seed=5
    )
    assert report["dataset"]["splits"]["train"]["files"] > 3
    assert len(list(receipts_of(tmp_path / "run", "mix"))) > 3


def test_each_copy_has_the_ids_of_its_document(corpus, twice, tmp_path):
    once = run(
        corpus, tmp_path / "once", output={"shuffle": False}, weights=dict.fromkeys(THINNED, 1)
    )
    assert "mixture" not in once
    held = {row["doc_id"]: row for row in split_rows(tmp_path / "once")["train"]}
    for row in split_rows(twice[0])["train"]:
        assert row == held[row["doc_id"]]


def test_the_ledger_tells_copies_and_documents_left_out(corpus, thinned):
    out, report = thinned
    ids = expected(corpus, THINNED, 1)
    row = report["ledger"][-1]
    assert row["stage"] == "mix"
    assert row["docs_out"] == len(ids)
    assert row["docs_created"] == len(ids) - len(set(ids))
    assert row["removed"] == {"sampled_out": 180 - len(set(ids))}
    assert row["bytes_in"] - row["bytes_removed"] - row["bytes_edited"] == row["bytes_out"]
    gone = removals(out, reason="sampled_out").to_pylist()
    assert {r["id"] for r in gone} == {f"crawl-{i}" for i in range(120)} - set(ids)
    for receipt in gone:
        assert receipt["value"] == reference.draw(receipt["id"], 0) >= 0.25
    assert report["measurement"]["total"]["docs"] == 180


def test_inspect_shows_a_document_that_was_left_out(thinned):
    out, _ = thinned
    gone = removals(out, reason="sampled_out", limit=1).to_pylist()[0]
    pair = beside(out, gone["doc_id"])
    assert pair.removed["id"] == gone["id"]
    assert pair.receipt["stage"] == "mix"
    assert pair.kept is None


def test_a_greater_weight_keeps_what_a_smaller_one_kept(corpus, tmp_path):
    found = []
    for i, weight in enumerate((0.1, 0.4, 1.2)):
        run(corpus, tmp_path / str(i), weights={"crawl": weight})
        found.append(Counter(r["id"] for r in split_rows(tmp_path / str(i))["train"]))
    assert found[0] < found[1] < found[2]


@pytest.mark.long_but("64")  # packed documents are documents first
@pytest.mark.parametrize("seq_len", [None, 64])
def test_shards_groups_buckets_and_workers_change_nothing(corpus, tmp_path, monkeypatch, seq_len):
    output = {"seq_len": seq_len, "epochs": 2, "validation_frac": 0.1}
    run(corpus, tmp_path / "one", output=output)

    def threads(job, phase):
        with ThreadPoolExecutor(4) as pool:
            works = pickle.loads(pickle.dumps(phase.works))  # as workers elsewhere get them
            return list(pool.map(lambda work: attempt(job, work), works))

    run(corpus, tmp_path / "two", threads, output=output)
    assert dataset_bytes(tmp_path / "one") == dataset_bytes(tmp_path / "two")
    for name, value in SMALL.items():
        monkeypatch.setattr(phases, name, value * 5)
    run(corpus, tmp_path / "three", output=output, shard_bytes="70kB")
    ours, theirs = (split_rows(tmp_path / name) for name in ("one", "three"))
    assert ours.keys() == theirs.keys() == {"train", "validation"}
    for split, rows in ours.items():
        assert [r["input_ids"] for r in rows] == [r["input_ids"] for r in theirs[split]]


def test_sequences_are_cut_from_documents_in_their_order(corpus, twice, tmp_path):
    report = run(corpus, tmp_path / "packed", output={"epochs": 2, "seq_len": 48})
    docs = split_rows(twice[0])["train"]
    stream = [token for row in docs for token in row["input_ids"]]
    packed = [r["input_ids"] for r in split_rows(tmp_path / "packed")["train"]]
    assert packed == [stream[i : i + 48] for i in range(0, len(stream) // 48 * 48, 48)]
    assert [row["stage"] for row in report["ledger"][-2:]] == ["mix", "pack"]


def test_a_copy_at_the_end_that_is_not_packed_says_where_the_others_are(corpus, tmp_path):
    total = run(corpus, tmp_path / "docs", weights={"books": 2})["mixture"]["total"]["tokens"]
    output = {"seq_len": total * 3 // 4}
    run(corpus, tmp_path / "run", weights={"books": 2}, output=output)
    docs = [r["id"] for r in split_rows(tmp_path / "docs")["train"]]
    gone = removals(tmp_path / "run", reason="pack_tail").to_pylist()
    assert [r["id"] for r in gone] == docs[len(docs) - len(gone) :]
    left = Counter(docs[: len(docs) - len(gone)])
    for receipt in gone:
        n = left[receipt["id"]]
        assert receipt["detail"] == (f"{n} of its 2 copies are in the dataset" if n else None)
    assert {r["detail"] is None for r in gone} == {True, False}


def test_a_validation_split_has_each_document_once(corpus, tmp_path):
    run(corpus, tmp_path / "run", output={"validation_frac": 0.3, "epochs": 2})
    found = split_rows(tmp_path / "run")
    held = Counter(r["id"] for r in found["validation"])
    assert set(held.values()) == {1}
    assert not set(held) & {r["id"] for r in found["train"]}
    assert 30 < len(held) < 80  # of 180, and none was thinned out
    order = [r["doc_id"] for r in found["validation"]]
    assert order != sorted(order)


def test_shares_are_kept_and_nothing_is_repeated(corpus, tmp_path):
    once = dict.fromkeys(THINNED, 1)
    mix = {"shares": {"crawl": 3, "books": 1}}
    report = run(corpus, tmp_path / "run", weights=once, mix=mix)
    rows = report["mixture"]["sources"]
    assert rows["crawl"]["share"] == pytest.approx(0.75, abs=0.05)
    assert max(w for row in rows.values() for w in row["weights"]) == 1.0
    ids = [r["id"] for r in split_rows(tmp_path / "run")["train"]]
    assert len(ids) == len(set(ids)) == sum(row["dataset_docs"] for row in rows.values())
    tokens = 4 * rows["books"]["tokens"]
    report = run(corpus, tmp_path / "more", weights=once, mix={**mix, "tokens": tokens})
    rows = report["mixture"]["sources"]
    assert rows["books"]["epochs"] == 1.0
    assert report["mixture"]["total"]["tokens"] == pytest.approx(tokens, rel=0.05)


def test_the_report_tells_the_mixture_and_sizing_takes_its_tokens(twice):
    _, report = twice
    (section,) = [s for s in sections(Report.model_validate(report)) if s.key == "mixture"]
    rows = report["mixture"]["sources"]
    (table,) = [block for block in section.blocks if not isinstance(block, str)]
    assert [row[0] for row in table.rows] == ["crawl", "books"]
    assert [row[3] for row in table.rows] == ["0.25", "2.5"]
    assert rows["books"]["epochs"] == pytest.approx(5.0, rel=0.05)
    total = sum(row["dataset_tokens"] for row in rows.values())
    corpus_measured = read_corpus(report, where="test")
    assert corpus_measured.tokens.value == total == report["dataset"]["splits"]["train"]["tokens"]
    assert corpus_measured.docs.value == report["ledger"][-1]["docs_out"]
    stored = report["measurement"]["total"]["stored_bytes_per_token"]
    assert stored == pytest.approx(report["dataset"]["bytes"] / total)


def test_a_run_killed_while_it_mixes_is_continued(corpus, tmp_path):
    run(corpus, tmp_path / "whole", output={"validation_frac": 0.1})

    for name in ("mix", "mix counts", "dataset"):
        with pytest.raises(KilledError):
            run(corpus, tmp_path / "run", killed_in(name), output={"validation_frac": 0.1})
    run(corpus, tmp_path / "run", output={"validation_frac": 0.1})
    assert dataset_bytes(tmp_path / "run") == dataset_bytes(tmp_path / "whole")
    assert not list((tmp_path / "run").glob("91-mix"))


def test_a_dry_run_tells_the_weights_and_the_disk(corpus, tmp_path):
    planned = dry_run(recipe(corpus, output={"epochs": 2}), tmp_path / "run")
    assert planned["mixture"] == [
        "shuffled by seed 0, 2 epochs",
        f"crawl: weight 0.25, {corpus / 'crawl.jsonl'}",
        f"books: weight 2.5, {corpus / 'books.jsonl'}",
    ]
    sizes = {name: (corpus / f"{name}.jsonl").stat().st_size for name in THINNED}
    need = planned["disk_needed_bytes"]
    assert need["dataset"] == need["mixing"]
    tokens = sum(THINNED[name] * size for name, size in sizes.items()) / 3
    assert need["dataset"] == pytest.approx(2 * 2 * tokens, rel=0.01)
    mix = {"shares": {"crawl": 3, "books": 1}, "tokens": "2M"}
    planned = dry_run(recipe(corpus, dict.fromkeys(THINNED, 1), mix=mix), tmp_path / "run")
    assert planned["mixture"][1:] == [
        "crawl: 75 % of the tokens",
        "books: 25 % of the tokens",
        "2 million tokens in an epoch",
    ]
    assert "mixture" not in dry_run(
        recipe(corpus, dict.fromkeys(THINNED, 1), {"shuffle": False}), tmp_path / "run"
    )


def test_an_index_holds_no_document_that_was_left_out(corpus, tmp_path):
    steps, keep = ["exact"], {"keep_index": True}
    run(corpus, tmp_path / "first", steps=steps, run=keep)
    run(
        corpus,
        tmp_path / "next",
        steps=steps,
        against=[str(tmp_path / "first")],
        weights={"crawl": 1},
    )
    held = {r["id"] for r in split_rows(tmp_path / "first")["train"]}
    fresh = {r["id"] for r in split_rows(tmp_path / "next")["train"]}
    assert {i for i in held if i.startswith("crawl")}.isdisjoint(fresh)
    gone = removals(tmp_path / "first", reason="sampled_out")["id"].to_pylist()
    assert fresh == set(gone)


def test_a_repeated_document_is_decoded_once(corpus, tmp_path):
    run(corpus, tmp_path / "run", weights={"books": 3})
    row = split_rows(tmp_path / "run")["train"][0]
    text = json.loads((corpus / "books.jsonl").read_text().splitlines()[int(row["id"][6:])])["text"]
    assert decoded(tmp_path / "run", row["doc_id"])["text"] == text


def test_files_of_one_bucket_that_are_damaged_are_named(corpus, tmp_path):
    def sabotage(job, phase):
        if phase.name == "dataset":
            victim = next((job.out / "91-mix").rglob("group-*.arrow"))
            victim.write_bytes(victim.read_bytes()[:50])
        return one_by_one(job, phase)

    with pytest.raises(Exception, match=r"group-.*: not a complete Arrow IPC file"):
        run(corpus, tmp_path / "run", sabotage)


lengths = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=12), min_size=1, max_size=3)


@settings(max_examples=examples(12, 5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths, st.sampled_from([120, 400, 10_000]), st.sampled_from([None, 7]), st.integers(1, 3))
def test_any_documents_in_any_shards(
    corpus, tmp_path_factory, sources, shard_bytes, seq_len, epochs
):
    folder = tmp_path_factory.mktemp("any")
    inputs, ids, weights, salts = [], [], [], []
    for number, docs in enumerate([[3, *docs] for docs in sources]):
        path = folder / f"s{number}.jsonl"
        lines = [{"id": f"d{i}", "text": "word " * n} for i, n in enumerate(docs)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        weight = (0.5, 1.0, 1.75)[number]
        inputs.append({"path": str(path), "weight": weight})
        ids += [line["id"] for line in lines]
        weights += [weight] * len(lines)
        salts += [xxhash.xxh3_64_intdigest(path.name.encode())] * len(lines)
    data = {
        "inputs": inputs,
        "shard_bytes": shard_bytes,
        "tokenizer": {"path": str(corpus / "tokenizer.json")},
        "output": {"shuffle": True, "shard_bytes": 64, "epochs": epochs, "seq_len": seq_len},
    }
    prepare(make_recipe(data, where="test"), folder / "run", one_by_one)
    order = reference.mixed(ids, 0, weights, epochs, salts)
    rows = split_rows(folder / "run")["train"]
    if seq_len is None:
        assert [row["id"] for row in rows] == [ids[i] for i in order]
    held = {r: n for r, n in Counter(order).items()}
    assert np.sum(list(held.values())) == len(order)


def test_pieces_of_a_document_stay_or_leave_together(corpus, tmp_path):
    item = " ".join(f"secret{i}" for i in range(20))
    (tmp_path / "items.jsonl").write_text(json.dumps({"question": item}) + "\n")
    halves = [f"{' '.join(f'w{i}x{j}' for j in range(120))}" for i in range(40)]
    with (tmp_path / "crawl.jsonl").open("w") as f:
        for i, half in enumerate(halves):
            f.write(json.dumps({"id": f"doc-{i}", "text": f"{half} {item} {half[::-1]}"}) + "\n")
    (tmp_path / "tokenizer.json").write_bytes((corpus / "tokenizer.json").read_bytes())
    benchmarks = [{"name": "items", "path": str(tmp_path / "items.jsonl"), "fields": ["question"]}]
    steps = [{"decontaminate": {"benchmarks": benchmarks, "most_docs": 1000}}]
    run(tmp_path, tmp_path / "run", weights={"crawl": 0.5}, steps=steps)
    ids = [row["id"] for row in split_rows(tmp_path / "run")["train"]]
    # the first piece has the document's own id
    assert len(ids) == len(set(ids)) == 2 * len({name.partition("#piece-")[0] for name in ids})
    assert 10 < len(ids) < 70


def test_pages_keep_what_was_told_of_them(corpus, tmp_path):
    pages = [page(number, f"Some words of page {number}.") for number in range(20)]
    (tmp_path / "crawl.warc").write_bytes(b"".join(pages))
    data = {
        "inputs": [{"path": str(tmp_path / "crawl.warc"), "weight": 2}],
        "html": {},
        "tokenizer": {"path": str(corpus / "tokenizer.json")},
        "output": {"shuffle": True},
    }
    prepare(make_recipe(data, where="test"), tmp_path / "run", one_by_one)
    urls = Counter(row["url"] for row in split_rows(tmp_path / "run")["train"])
    assert urls == {f"http://example.org/{number}": 2 for number in range(20)}
