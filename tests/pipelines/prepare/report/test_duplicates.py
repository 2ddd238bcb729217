"""What a report shows of duplicates: how similar they are, and pairs as they were compared."""

import json
import re
from fractions import Fraction

import pytest

from tests.pipelines.chains import Runs, words
from tests.pipelines.prepare.report.test_report import HOSTILE
from tests.running import one_by_one, prepare
from tests.sizing.document.pages import Page, check_self_contained, check_structure
from tokenmill.pipelines.corpus import rows as corpus_rows
from tokenmill.pipelines.corpus import shown
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.prepare.report import duplicates

FEW = {"shard_bytes": 6_000, "keep_index": False}


def varied(of, *places, n=120):
    """A text with other words at some places."""
    made = words(of, n).split()
    for place in places:
        made[place] = f"x{of}{place}"
    return " ".join(made)


def docs():
    """Texts and versions of them that differ in 1 to 4 words, far apart; the first has most."""
    made = [f"{words('a')} {HOSTILE}"]
    made += [f"{varied('a', i)} {HOSTILE}" for i in range(10, 20)]
    for k, of in enumerate("bcdef"):
        made += [words(of), words(of), varied(of, *range(10, 10 + 20 * (k % 4), 20))]
    return made


def report(out):
    return json.loads((out / "report.json").read_text())


def jaccard(one, other):
    found = (re.findall(r"\w+", text) for text in (one, other))
    sets = [{tuple(t[i : i + 5]) for i in range(len(t) - 4)} for t in found]
    return Fraction(len(sets[0] & sets[1]), len(sets[0] | sets[1]))


@pytest.mark.parametrize(
    "near",
    [{}, {"cluster": "components"}, {"similarity": "estimate"}],
    ids=["stars", "components", "estimates"],
)
def test_similarities_and_pairs_are_those_of_the_receipts(tmp_path, monkeypatch, near):
    monkeypatch.setattr(corpus_rows, "GROUP_ROWS", 7)
    out = Runs(tmp_path).make("docs", docs(), steps=["exact", {"near": near}], **FEW)
    found = report(out)["duplicates"]["near"]
    receipts = removals(out, reason="near_duplicate").to_pylist()
    pairs = sorted((r["similarity"], r["doc_id"], r["duplicate_of"]) for r in receipts)
    percents = [0] * 101
    for similarity, _, _ in pairs:
        percents[int(similarity * 100 + 1e-5)] += 1
    assert found["percents"] == percents
    assert found["closest"] == [[a, b, pytest.approx(s)] for s, a, b in pairs[:6]]
    least = {b: (a, s) for s, a, b in reversed(pairs)}
    told = {b: (a, pytest.approx(s)) for a, b, s in found["of_largest"]}
    assert told.keys() == {b for b, _ in found["largest"]}
    assert {b: least[b] for b in told} == told
    assert found["verify"] == 0.7


def test_documents_are_shown_as_they_came_to_the_step(tmp_path):
    texts = [t.replace(" ", "  \r\n", 1) for t in docs()]
    out = Runs(tmp_path).make("docs", texts, steps=["normalize", "exact", "near"], **FEW)
    found = report(out)["duplicates"]
    documents = {d["doc_id"]: d for d in found["near"]["documents"]}
    ids = [int(d["id"].rpartition("-")[2]) for d in documents.values()]
    assert [d["text"] for d in documents.values()] == [texts[i].replace("\r\n", "\n") for i in ids]
    for a, b, similarity in found["near"]["closest"]:
        assert float(jaccard(documents[a]["text"], documents[b]["text"])) == pytest.approx(
            similarity
        )
    named = {d["doc_id"]: d for d in found["exact"]["documents"]}
    assert named.keys() == {doc_id for doc_id, _ in found["exact"]["largest"]}
    assert all(
        d["text"] == texts[0][: len(d["text"])] or len(d["text"]) <= 200 for d in named.values()
    )


def test_the_page_has_the_threshold_and_marks_what_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(shown, "MOST_CHARS", 520)
    monkeypatch.setattr(duplicates, "CONTEXT", 50)
    out = Runs(tmp_path).make("docs", docs(), steps=["exact", "near"], **FEW)
    html = (out / "report.html").read_text()
    check_structure(html)
    check_self_contained(html)
    text = "".join(Page(html).text)
    assert "verify 0.7" in text
    assert "first 520 of " in text
    assert re.search(r"\[\d+ equal characters\]", text)
    marked = re.findall(r"<mark>(.*?)</mark>", html)
    assert {"xe10", "xe30", "xe50"} & set(marked)
    assert "docs-0" in text
    assert "similarity 0." in (out / "report.md").read_text()


def test_what_an_earlier_run_holds_is_told_by_its_number(tmp_path):
    runs = Runs(tmp_path)
    runs.make("old", docs()[:1], steps=["near"])
    out = runs.make("new", docs()[1:], steps=["near"], against=["old"])
    found = report(out)["duplicates"]["near"]
    assert 0 in {b for _, b, _ in found["closest"]}
    assert 0 not in {d["doc_id"] for d in found["documents"]}
    assert "verify 0.7" in (out / "report.html").read_text()


def test_a_run_without_duplicates_shows_none(tmp_path):
    out = Runs(tmp_path).make("docs", [words("a"), words("b")], steps=["exact", "near"], **FEW)
    found = report(out)["duplicates"]["near"]
    assert "documents" not in found
    assert "verify 0.7" not in (out / "report.html").read_text()


def test_near_says_as_many_documents_as_came_to_it(tmp_path):
    texts = ["the same words " * 9, "the same words " * 9, "other words stand here " * 9]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    data = {"inputs": [str(tmp_path / "a.jsonl")], "steps": ["exact", "near"]}
    data |= {"tokenizer": None, "output": {"text": "parquet"}}
    report = prepare(make_recipe(data, where="test"), tmp_path / "run", one_by_one)
    assert [report["duplicates"][name]["docs"] for name in ("exact", "near")] == [3, 2]
    assert [row["docs_in"] for row in report["ledger"]] == [3, 3, 2]
