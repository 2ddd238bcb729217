"""The index of a run: keys of what its dataset has, and of nothing else."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.chains import Runs, doc_ids, index, words
from tests.receipts import receipts
from tests.running import one_by_one, prepare
from tokenmill.dedup.same.sets import Packed, unpack
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.storage.files import PARAMETERS, open_arrow

TEXTS = [words(of) for of in "abcdef"]
NEARLY = words("a").replace("a60 ", "other ")
DOCS = [*TEXTS, TEXTS[1], NEARLY, "", "word", words("g", 400)]
SHORT = {"gopher_quality": {"min_words": 50, "max_words": 300, "min_stop_words": 0}}


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def keys_made(out, number=0):
    """The key sidecars that a run kept, as one table."""
    paths = sorted((out / f"{number + 1}1-keys").glob("part-*.arrow"))
    return pa.concat_tables(pa.Table.from_batches(*open_arrow(path)) for path in paths)


KEEP = {"keep_intermediates": True}


@pytest.mark.parametrize(
    ("steps", "output"),
    [
        (["exact", "near"], {}),
        (["exact", "near", SHORT], {}),
        (["near", SHORT], {"validation_frac": 0.5}),
    ],
    ids=["duplicates", "a filter behind", "two splits"],
)
def test_it_has_the_keys_of_the_dataset_and_no_others(runs, steps, output):
    out = runs.make("a", DOCS, steps=steps, output=output, run=KEEP)
    kept, made = index(out), keys_made(out)
    assert 0 < len(doc_ids(out)) < len(DOCS)
    assert kept["doc_id"].to_pylist() == sorted(doc_ids(out))
    by_id = {row["doc_id"]: row for row in made.to_pylist()}
    rows = kept.to_pylist()
    for row in rows:
        n, words = row["packed"], row["shingles"]
        sizes = np.array([0, len(words)]), np.array([n])
        row["shingles"] = unpack(Packed(np.array(words, np.uint32), *sizes)).hashes.tolist()
        row["packed"] = 0
        by_id[row["doc_id"]]["shingles"] = sorted(set(by_id[row["doc_id"]]["shingles"]))
        assert len(words) < n or n < 2  # one is no shorter
    assert rows == [by_id[row["doc_id"]] for row in rows]
    assert kept.schema == made.schema
    assert kept.schema.metadata[PARAMETERS] == made.schema.metadata[PARAMETERS]


def test_each_pass_that_makes_keys_has_a_file(runs):
    steps = ["exact", "normalize", SHORT, "near"]
    out = runs.make("a", DOCS, steps=steps, run=KEEP)
    assert index(out, 0)["doc_id"] == index(out, 1)["doc_id"]
    assert "digest" in index(out, 0).column_names
    assert {"shingles", "packed"} < set(index(out, 1).column_names)
    assert not list((out / "index").glob("*.2.arrow"))


def test_what_packing_leaves_out_is_not_held(runs):
    out = runs.make("a", [words(of) for of in "abcdefghij"], output={"seq_len": 1500})
    report = json.loads((out / "report.json").read_text())
    packed = report["ledger"][-1]
    assert packed["removed"] == {"pack_tail": packed["docs_in"] - packed["docs_out"]}
    assert index(out).num_rows == packed["docs_out"] > 0


def test_a_document_is_held_if_a_piece_of_it_is(runs):
    leak = "Natalia sold clips to 48 of her friends in April, and then she sold half as many in May"
    (runs.folder / "items.json").write_text(json.dumps([{"q": leak}]))
    benchmark = {"name": "items", "path": str(runs.folder / "items.json")}
    cut = {"decontaminate": {"benchmarks": [benchmark]}}
    docs = [f"{words('a')}\n{leak}\n{words('b')}", f"x {leak}", words("c")]
    out = runs.make("a", docs, steps=["exact", cut, "near"], shard_bytes=10_000)
    pieces = doc_ids(out)
    assert len(pieces) == 3
    assert index(out, 0)["doc_id"].to_pylist() == [0, 2]  # as they were before they were cut
    assert index(out, 1)["doc_id"].to_pylist() == pieces


def test_a_run_without_it_has_the_same_dataset_and_identity(runs):
    bare = runs.make("a", DOCS, into="bare", keep_index=False)
    kept = runs.make("a", DOCS, into="kept", keep_index=True)
    assert not (bare / "index").exists()
    for name in ("dataset", "removed"):
        for path in (p for p in (bare / name).rglob("*") if p.is_file()):
            assert (kept / path.relative_to(bare)).read_bytes() == path.read_bytes()
    identities = [json.loads((o / "manifest.json").read_text())["identity"] for o in (bare, kept)]
    assert identities[0] == identities[1]
    assert identities[0]["against"] == []
    assert "run" not in identities[0]["recipe"]


def test_an_index_can_be_added_while_the_keys_are_there(runs):
    out = runs.make("a", DOCS, keep_index=False, run=KEEP)
    before = receipts(out)
    prepare(runs.recipe("a", run=KEEP), out, one_by_one)
    after = receipts(out)
    assert {p: after[p] for p in before} == before, "other work was done again"
    assert index(out) == index(runs.make("a", DOCS, into="fresh"))


def test_an_index_that_cannot_be_made_any_more_is_refused(runs):
    out = runs.make("a", DOCS, keep_index=False)
    before = sorted(out.rglob("*"))
    with pytest.raises(ConfigError) as e:
        prepare(runs.recipe("a"), out, one_by_one)
    assert str(e.value) == (
        f"{out}: has no index, and 10-filtered/part-00000-of-00005.arrow, of which it would be"
        " made, was deleted when the run ended; leave run.keep_index out, or run it again into a"
        " new --out with run.keep_index: true"
    )
    assert sorted(out.rglob("*")) == before


def test_a_finished_run_needs_its_index_no_more_once_it_is_left_out(runs):
    out = runs.make("a", DOCS)
    shutil.rmtree(out / "index")
    before = (out / "manifest.json").stat().st_mtime_ns
    report = prepare(runs.recipe("a", keep_index=False), out, one_by_one)
    assert report == json.loads((out / "report.json").read_text())
    assert (out / "manifest.json").stat().st_mtime_ns == before


def test_a_recipe_that_makes_no_keys_can_keep_none(runs):
    with pytest.raises(ConfigError) as e:
        runs.make("a", DOCS, steps=["normalize"])
    assert str(e.value) == (
        "a: run.keep_index: no step of the recipe finds duplicates, so documents have no keys;"
        " add one, as exact or near, or leave it out"
    )
