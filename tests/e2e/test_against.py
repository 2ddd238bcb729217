"""New inputs against a finished run make what one run over all of them makes, and read no old text.

So it is where steps are equal and none removes behind the one that compares. Where a later step
removed what an earlier one compared with, or where clusters are components of pairs, what the old
run holds is all that counts: then no document is lost that the one run keeps, and no two that are
held are alike; the ways to keep more are each shown by an example.
"""

import json
import random
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.e2e.corpus import corpus
from tests.e2e.test_kill import contents, run
from tests.pipelines.chains import Runs, doc_ids, index, rows, words
from tests.receipts import receipts
from tests.strategies import examples, few
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.pieces import NUMBERS
from tokenmill.pipelines.prepare.inspect import beside, documents, removals

LARGE, MIDDLE = {"shard_bytes": 80_000}, {"shard_bytes": 30_000}
LONG = {"gopher_quality": {"min_words": 60, "min_stop_words": 0}}
FIRST_URL = {"same_url": {"keep": "first"}}
VERIFY = 0.7
ESTIMATED = {
    "num_perm": 112,
    "bands": 14,
    "rows": 8,
    "similarity": "estimate",
    "cluster": "components",
}
RECIPES = {
    "exact": ["normalize", "exact"],
    "near": ["normalize", "near"],
    "both": ["exact", "normalize", "near"],
    "a filter between": ["exact", LONG, "normalize", "near"],
    "same_url": [FIRST_URL],
}


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def planted():
    """Texts that share nothing, many of them copied, varied, or varied and copied; in any order."""
    draw = random.Random(7)
    docs = [words(f"d{i}-", draw.randrange(30, 200)) for i in range(150)]
    varied = [doc.replace("-9 ", "-x ", 1) for doc in docs if len(doc.split()) > 100]
    docs += [*draw.sample(docs, 60), *varied, *draw.sample(varied, 20)]
    draw.shuffle(docs)
    return numbered(docs, draw)


def prose():
    """The corpus of real prose, in which any document may be like any other, in another order."""
    draw = random.Random(7)
    docs = corpus()
    draw.shuffle(docs)
    return numbered(docs, draw)


def numbered(docs, draw):
    """Documents with ids, and with URLs of which many repeat."""
    return [
        {"id": f"doc-{i}", "text": text, "url": f"https://docs.example/{draw.randrange(len(docs))}"}
        for i, text in enumerate(docs)
    ]


def fates(*outs):
    """Of the documents that left: id, reason and the id of what they duplicate, over all runs."""
    tables = [removals(out).select(["doc_id", "reason", "duplicate_of"]) for out in outs]
    return pa.concat_tables(tables).sort_by("doc_id").to_pylist()


# what `exact` and `both` do is part of these; `near` is in the chain below
@pytest.mark.long_but("a filter between", "same_url")
@pytest.mark.parametrize("steps", RECIPES.values(), ids=RECIPES)
def test_an_increment_makes_what_one_run_over_all_makes(runs, steps):
    docs, common = planted(), {"steps": steps, **MIDDLE}
    a = runs.make("a", docs[:150], **common)
    (runs.folder / "a.jsonl").rename(runs.folder / "away")  # its text is read no more
    b = runs.make("b", docs[150:], against=["a"], **common)
    (runs.folder / "away").rename(runs.folder / "a.jsonl")
    whole = runs.make_of("whole", ["a", "b"], **common)
    assert rows(a) + rows(b) == rows(whole)
    assert doc_ids(a) + doc_ids(b) == doc_ids(whole)
    assert {r["doc_id"] for r in fates(a, b)} == {r["doc_id"] for r in fates(whole)}
    if len(steps) < 3:  # where a copy of a near duplicate is told by one step alone
        assert fates(a, b) == fates(whole)

    report = json.loads((b / "report.json").read_text())
    gone = [r for r in fates(b) if r["duplicate_of"] is not None]
    between = [r for r in gone if r["duplicate_of"] < min(doc_ids(b))]
    assert 0 < len(between) < len(gone), "copies both within the new and of the old"
    assert sum(report["against"]["duplicates"].values()) == len(between)
    assert report["against"]["runs"][0]["docs"] == len(rows(a)) == index(a).num_rows


def test_a_chain_of_three_makes_what_one_run_makes(runs):
    docs, common = planted(), {"steps": ["normalize", "near"], **MIDDLE}
    a = runs.make("a", docs[:100], **common)
    b = runs.make("b", docs[100:200], against=["a"], **common)
    c = runs.make("c", docs[200:], against=["a", "b"], **common)
    whole = runs.make_of("whole", ["a", "b", "c"], **common)
    assert rows(a) + rows(b) + rows(c) == rows(whole)
    assert fates(a, b, c) == fates(whole)
    first = [min(doc_ids(out)) >> 32 for out in (a, b, c)]
    of = {np.searchsorted(first, r["duplicate_of"] >> 32, "right") for r in fates(c)}
    assert of == {1, 2, 3}, "copies of documents of every run"


def test_nothing_but_the_index_and_the_manifest_of_the_old_run_is_read(runs):
    docs = prose()
    a = runs.make("a", docs[:120], **LARGE)
    b = runs.make("b", docs[120:200], against=["a"], **LARGE)
    (runs.folder / "a.jsonl").unlink()
    for path in a.iterdir():
        if path.name not in ("index", "manifest.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    again = runs.make("b", docs[120:200], into="again", against=["a"], **LARGE)
    assert contents(again) == contents(b)


def slid(at, n=300):
    """`n` words of a long text: two such 34 words apart share 79 % of their shingles, 68 62 %."""
    return " ".join(f"c{i}" for i in range(at, at + n))


@pytest.mark.parametrize(
    ("kind", "n_docs"), [("components", [1, 1, 1]), ("stars", [1, 1, 2])], ids=["all", "stars"]
)
def test_like_a_document_that_gave_way_is_not_like_the_one_that_is_held(runs, kind, n_docs):
    """Components join b to a's first by way of its second; of that the index has no keys."""
    steps = [{"near": {"cluster": kind}}]
    a = runs.make("a", [slid(0), slid(34)], steps=steps)
    b = runs.make("b", [slid(68)], steps=steps, against=["a"])
    whole = runs.make_of("whole", ["a", "b"], steps=steps)
    assert [len(rows(out)) for out in (a, b, whole)] == n_docs


def test_a_url_of_a_document_that_gave_way_to_a_copy_is_not_held(runs):
    """One run compares URLs before it knows that the text is there already."""

    def page(name, text):
        return {"id": name, "url": f"https://docs.example/{name}", "text": text}

    steps = [FIRST_URL, "exact"]
    a = runs.make("a", [page("x", words("a")), page("y", words("a"))], steps=steps)
    b = runs.make("b", [page("y", words("b"))], steps=steps, against=["a"])
    whole = runs.make_of("whole", ["a", "b"], steps=steps)
    assert [len(rows(out)) for out in (a, b, whole)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("kind", "n_docs"), [("components", [2, 0, 1]), ("stars", [2, 0, 2])], ids=["all", "stars"]
)
def test_what_is_held_stays_though_a_new_document_joins_two_of_it(runs, kind, n_docs):
    steps = [{"near": {"cluster": kind}}]
    a = runs.make("a", [slid(0), slid(68)], steps=steps)
    b = runs.make("b", [slid(34)], steps=steps, against=["a"])
    whole = runs.make_of("whole", ["a", "b"], steps=steps)
    assert [len(rows(out)) for out in (a, b, whole)] == n_docs
    (gone,) = fates(b)
    assert gone["duplicate_of"] == 0


def edges(table):
    """Pairs of rows of an index that meet in a band and agree in enough of their signatures."""
    signed = np.array(table["signature"].to_pylist())
    bands = [np.asarray(table[name]) for name in table.column_names if name.startswith("band_")]
    n = table.num_rows
    return [
        (i, j)
        for i in range(n)
        for j in range(i)
        if any(band[i] == band[j] != 0 for band in bands)
        and (signed[i] == signed[j]).mean() >= VERIFY
    ]


def check_law(runs, old, new, **common):
    """What holds of any increment; returns what it keeps more than one run over all."""
    a = runs.make("a", old, **common)
    b = runs.make("b", new, against=["a"], **common)
    whole = runs.make_of("whole", ["a", "b"], **common)
    held = dict(rows(a) + rows(b))
    assert held.items() >= dict(rows(whole)).items()
    assert not edges(pa.concat_tables([index(a), index(b)]))
    return held.keys() - dict(rows(whole)).keys()


@settings(max_examples=examples(6, 3), deadline=None)
@given(at=st.lists(st.integers(0, 20), min_size=2, max_size=14), cut=st.floats(0.1, 0.9))
def test_no_document_is_lost_and_no_two_held_are_alike(tmp_path_factory, at, cut):
    docs, n = [slid(17 * k) for k in at], max(1, int(cut * len(at)))
    runs = Runs(tmp_path_factory.mktemp("law"))
    check_law(runs, docs[:n], docs[n:], steps=[{"near": ESTIMATED}], **MIDDLE)


@pytest.mark.long  # by drawn documents above
def test_of_real_prose_little_more_is_kept(runs):
    docs = prose()
    steps = ["exact", {"near": ESTIMATED}]
    more = check_law(runs, docs[:700], docs[700:], steps=steps, **LARGE)
    assert len(more) <= 0.01 * len(docs)


def check_same(runs, old, new, **common):
    """An increment holds what one run over all keeps."""
    a = runs.make("a", old, **common)
    b = runs.make("b", new, against=["a"], **common)
    whole = runs.make_of("whole", ["a", "b"], **common)
    assert rows(a) + rows(b) == rows(whole)
    return a, b, whole


@settings(max_examples=examples(6, 3), deadline=None)
@given(at=st.lists(st.integers(0, 20), min_size=2, max_size=14), cut=st.floats(0.1, 0.9))
def test_by_exact_similarity_nothing_else_is_kept(tmp_path_factory, at, cut):
    docs, n = [slid(17 * k) for k in at], max(1, int(cut * len(at)))
    runs = Runs(tmp_path_factory.mktemp("same"))
    a, b, whole = check_same(runs, docs[:n], docs[n:], steps=["near"], **MIDDLE)
    assert fates(a, b) == fates(whole)


@pytest.mark.long  # by drawn documents above
def test_of_real_prose_nothing_else_is_kept(runs):
    docs = prose()
    check_same(runs, docs[:700], docs[700:], steps=["exact", "near"], **LARGE)


def test_documents_meet_within_their_source_where_the_recipe_says_so(runs):
    steps = [{"near": {"scope": "source"}}]
    docs = [words(of) for of in "abc"]
    runs.make("a", docs, steps=steps)
    same = runs.make("b", docs[:2], steps=steps, against=["a"])
    assert len(rows(same)) == 0
    inputs = [{"path": str(runs.folder / "b.jsonl"), "source": "others"}]
    other = runs.make("b", docs[:2], into="other", steps=steps, against=["a"], inputs=inputs)
    assert len(rows(other)) == 2


def test_sets_of_images_are_known_again(runs):
    def page(name, *images):
        urls = [f"https://pics.example/{image}.jpg" for image in images]
        return {"id": name, "text": words(name), "images": urls}

    inputs = {n: [{"path": str(runs.folder / f"{n}.jsonl"), "images": "images"}] for n in "ab"}
    common = {"steps": [{"same_images": {"keep": "first"}}], "images": {}}
    a = runs.make("a", [page("x", 1, 2), page("y", 3)], inputs=inputs["a"], **common)
    new = [page("z", 2, 1), page("u", 1), page("v", 1), page("w", 3, 4)]
    b = runs.make("b", new, against=["a"], inputs=inputs["b"], **common)
    assert list(load_from_disk(str(a / "dataset"))["id"]) == ["x", "y"]
    assert list(load_from_disk(str(b / "dataset"))["id"]) == ["u", "w"]
    assert [r["duplicate_of"] for r in fates(b)] == [doc_ids(a)[0], doc_ids(b)[0]]


def test_what_the_old_run_removed_otherwise_is_not_held(runs):
    short = {"gopher_quality": {"min_words": 50, "min_stop_words": 0}}
    runs.make("a", [words("a", 40), words("b")], steps=["exact", short])
    b = runs.make("b", [words("a", 40), words("b")], steps=["exact"], against=["a"])
    assert [i for i, _ in rows(b)] == ["b-0"]


def test_pieces_and_their_wholes_are_known_again(runs):
    leak = "Natalia sold clips to 48 of her friends in April, and then she sold half as many in May"
    (runs.folder / "items.json").write_text(json.dumps([{"q": leak}]))
    benchmark = {"name": "items", "path": str(runs.folder / "items.json")}
    steps = ["exact", {"decontaminate": {"benchmarks": [benchmark]}}, "near"]
    cut = f"{words('a')}\n{leak}\n{words('b')}"
    common = {"steps": steps, "shard_bytes": 10_000}
    a = runs.make("a", [words("c"), cut], **common)
    b = runs.make("b", [cut, f"{leak} {words('b')}", words("d")], against=["a"], **common)
    kept = doc_ids(a)
    assert [i for i, _ in rows(b)] == ["b-2"]
    left = {
        r["doc_id"] & 0xFF: r["duplicate_of"] for r in fates(b) if r["duplicate_of"] is not None
    }
    assert left == {0: 1, 1: kept[2]}
    assert kept[2] & int(NUMBERS)
    assert pq.read_table(b / "pieces").num_rows == 1


class TestInspect:
    @pytest.fixture
    def chain(self, runs):
        """A run and one against it, in which the first document repeats the other's second."""
        a = runs.make("a", [words("a"), words("b")])
        b = runs.make(
            "b", [words("b").replace("b60 ", "else "), words("c"), words("c")], against=["a"]
        )
        return a, b

    def test_a_duplicate_of_an_earlier_run_is_shown_beside_it(self, chain, capsys):
        a, b = chain
        (gone,) = removals(b, reason="near_duplicate").to_pylist()
        pair = beside(b, gone["doc_id"])
        assert pair.chain == [gone["doc_id"], doc_ids(a)[1]]
        assert pair.held_by == str(a)
        assert pair.removed["text"] == words("b").replace("b60 ", "else ")
        assert pair.kept == {
            "doc_id": doc_ids(a)[1], "id": "a-1", "source": "docs", "text": words("b"),
        }  # fmt: skip
        assert main(["inspect", str(b), "--doc", str(gone["doc_id"])]) == 0
        shown = capsys.readouterr().out
        assert f"kept: {doc_ids(a)[1]}, in the earlier run" in shown
        assert "removed: b-0" in shown
        assert "kept:    a-1" in shown

    def test_without_its_dataset_it_is_named(self, chain, capsys):
        a, b = chain
        shutil.rmtree(a / "dataset")
        (gone,) = removals(b, reason="near_duplicate").to_pylist()
        assert beside(b, gone["doc_id"]).kept is None
        assert main(["inspect", str(b), "--doc", str(gone["doc_id"])]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"in the earlier run {a}, whose dataset cannot tell its text any more" in shown

    def test_documents_of_the_run_itself_are_found_by_their_ids(self, chain, capsys):
        _, b = chain
        (kept,) = doc_ids(b)
        assert documents(b, [kept])[kept]["text"] == words("c")
        (gone,) = removals(b, reason="exact_duplicate").to_pylist()
        pair = beside(b, gone["doc_id"])
        assert (pair.kept["doc_id"], pair.held_by) == (kept, None)
        assert main(["inspect", str(b), "--doc", str(kept), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["kept"]["id"] == "b-1"

    def test_documents_of_an_earlier_run_are_left_to_it(self, chain, capsys):
        a, b = chain
        assert main(["inspect", str(b), "--doc", str(doc_ids(a)[0])]) == 2
        told = f"document {doc_ids(a)[0]} is of the earlier run {a}; inspect that one"
        assert told in capsys.readouterr().err


def test_the_report_says_what_earlier_runs_hold(runs):
    runs.make("a", [words("a"), words("b")])
    paragraphs = {"repeated_paragraphs": {"within": "corpus"}}
    steps = ["normalize", "exact", "near", paragraphs]
    b = runs.make("b", [words("b"), words("c")], against=["a"], steps=steps)
    shown = (b / "report.md").read_text()
    assert "Duplicates of documents that earlier runs hold: 1 (exact 1)." in shown
    assert "Repeated_paragraphs counts in this run alone" in shown
    assert str(runs.folder / "a") in shown


KILLS = [("banding", 5), ("comparing", 1), ("clustering", 1), ("indexed", 2)]


@pytest.fixture(scope="module")
def chained(tmp_path_factory):
    """A recipe of a run against another, and what it makes undisturbed."""
    runs = Runs(tmp_path_factory.mktemp("chained"))
    docs = prose()
    runs.make("a", docs[:500], **LARGE)
    b = runs.make("b", docs[500:], against=["a"], **LARGE)
    path = runs.folder / "recipe.json"
    path.write_text(runs.recipe("b", against=["a"], **LARGE).model_dump_json())
    return path, b


@pytest.mark.parametrize(("moment", "number"), few(KILLS, 3), ids=[moment for moment, _ in KILLS])
def test_killed_and_continued_is_byte_identical(chained, tmp_path, moment, number):
    recipe, undisturbed = chained
    out = tmp_path / "run"
    killed = run(recipe, out, moment, number)
    assert killed.returncode == -9, killed.stderr
    before = receipts(out)
    assert before.keys() < receipts(undisturbed).keys()
    again = run(recipe, out)
    assert again.returncode == 0, again.stderr
    assert {name: receipts(out)[name] for name in before} == before
    assert contents(out) == contents(undisturbed)
    for path in (undisturbed / "index").iterdir():
        assert (out / "index" / path.name).read_bytes() == path.read_bytes()
