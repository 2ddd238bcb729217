"""What makes an item dirty by its share: its own words, not its template's, nor its passage's."""

import json
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.contamination.corpus import WORDS
from tests.reference import contamination as reference
from tests.strategies import document_batch
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.check import analysis_by
from tokenmill.pipelines.contamination.copies import Copies, CopyAnalysis
from tokenmill.pipelines.contamination.found import count_corpus, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.contamination.report_found import found_in_short, warnings
from tokenmill.pipelines.contamination.shares import Shares, Units
from tokenmill.pipelines.contamination.summary import Tiers, summarize


def words(n, seed):
    return " ".join(Random(seed).choices(WORDS.split(), k=n))


def judged(tmp_path, rows, docs, **how):
    """The counts of a benchmark of these rows, and the summary, of a search of some documents."""
    index, analysis, counts = searched(tmp_path, rows, docs, **how)
    summary = summarize(index, analysis, counts)
    return analysis, summary.benchmarks[0], summary


def searched(tmp_path, rows, docs, *, ngram=8, threshold=0.5):
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark = Benchmark(name="b", path=str(path))
    index = BenchmarkIndex.build(Matching(benchmarks=(benchmark,), ngram=ngram))
    units = Units.build(index.texts, index.ngrams)
    none = np.zeros(len(index.ngrams.hashes), bool)
    shares = Shares(index.texts, units, none, threshold)
    analysis = Analysis(index.texts, index.ngrams, units.ignored, shares=shares)
    found = search(document_batch(docs), index, "web")
    analysis.add(found)
    return index, analysis, count_corpus([found], len(index.ngrams.hashes))


few = st.lists(st.sampled_from(["a", "b", "c"]), min_size=8, max_size=12).map(" ".join)


@given(st.lists(st.tuples(few, few), min_size=1, max_size=4), st.lists(few, max_size=3), st.data())
def test_shares_equal_the_reference(tmp_path_factory, rows, docs, data):
    docs += data.draw(st.lists(st.sampled_from([" ".join(row) for row in rows]), max_size=2))
    named = [{"question": question, "query": other} for question, other in rows]
    analysis, *_ = judged(tmp_path_factory.mktemp("b"), named, docs)
    expected = reference.shares(docs, rows, 8)
    assert analysis.shares.best.tolist() == expected
    assert (analysis.item_docs > 0).tolist() == [share >= 0.5 for share in expected]


def test_siblings_of_a_planted_item_are_not_dirty(tmp_path):
    template = [words(12, "before"), words(12, "behind")]
    rows = [{"question": f"{template[0]} {i} and {i * 7} {template[1]}"} for i in range(40)]
    docs = [f"x {rows[3]['question']} y", f"{rows[9]['question']}", "only " + template[0]]
    analysis, counts, _ = judged(tmp_path, rows, docs)
    assert np.flatnonzero(analysis.item_docs).tolist() == [3, 9]
    assert (counts.dirty, counts.whole, counts.some, counts.clean) == (2, 2, 0, 38)


def test_ngrams_without_a_letter_are_no_part_of_an_item(tmp_path):
    numbers = " ".join(str(n) for n in range(100, 130))
    rows = [{"question": f"{words(20, 'q')} {numbers}"}]
    _, counts, _ = judged(tmp_path, rows, [f"a table: {numbers} end"])
    assert (counts.dirty, counts.some, counts.whole) == (0, 0, 0)
    _, counts, _ = judged(tmp_path, rows, [words(20, "q")])
    assert (counts.dirty, counts.some) == (1, 0)


def test_an_item_found_in_part_is_told_as_such_below_the_threshold(tmp_path):
    rows = [{"question": words(30, "q")}]
    part = " ".join(rows[0]["question"].split()[:14])  # 7 of 23 n-grams of 8
    _, counts, summary = judged(tmp_path, rows, [part])
    assert (counts.dirty, counts.some) == (0, 1)
    assert found_in_short(summary, "1 document") == [
        "None of 1 item of 1 benchmark was found to 50 % or more by n-grams in 1 document.",
        "1 item stands there with less than that.",
    ]
    _, counts, _ = judged(tmp_path, rows, [part], threshold=0.3)
    assert (counts.dirty, counts.some, counts.whole, counts.most) == (1, 0, 0, 0)


def test_a_passage_of_fifteen_short_questions_is_searched_and_told_once(tmp_path):
    passages = [words(60, f"passage {n}") for n in range(4)]
    rows = [
        {"passage": passages[i // 15], "question": f"Who is {words(2, f'q{i}')}?"}
        for i in range(60)
    ]
    analysis, counts, summary = judged(tmp_path, rows, [f"so: {passages[1]}.", "nothing"])
    assert (counts.dirty, counts.clean, counts.only_context, counts.context_found) == (0, 0, 60, 15)
    (passage,) = summary.contexts
    assert (passage.items, passage.item, passage.documents, passage.found_frac) == (
        15,
        "b:15",
        1,
        1,
    )
    assert passage.text == passages[1]
    assert not analysis.item_docs.any()
    assert found_in_short(summary, "2 documents")[1:] == [
        "1 passage stands in the corpus, and 15 items whose passage does, as it is or edited, are"
        " not dirty."
    ]


def test_an_answer_that_its_passage_has_is_not_found_by_the_passage(tmp_path):
    passages = [words(60, f"passage {n}") for n in range(2)]
    rows = [
        {
            "passage": passages[i // 3],
            "question": words(20, f"q{i}"),
            # longer than an n-gram, as long, and shorter: then it is matched as a whole
            "answer": " ".join(passages[i // 3].split()[20 : 20 + (14, 10, 9)[i % 3]]),
        }
        for i in range(6)
    ]
    _, counts, _ = judged(tmp_path, rows, [f"so: {passages[0]}.", rows[4]["answer"]], ngram=10)
    assert (counts.dirty, counts.some, counts.context_found, counts.clean) == (0, 0, 3, 6)
    _, counts, _ = judged(tmp_path, rows, [rows[4]["question"]], ngram=10)
    assert (counts.dirty, counts.context_found) == (1, 0)


def test_a_passage_whose_items_are_all_dirty_is_told_without_others(tmp_path):
    rows = [{"passage": words(60, "p"), "question": words(20, f"q{i}")} for i in range(3)]
    docs = ["\n".join([rows[0]["passage"], *(row["question"] for row in rows)])]
    _, counts, summary = judged(tmp_path, rows, docs)
    assert (counts.dirty, counts.context_found) == (3, 0)
    assert found_in_short(summary, "1 document")[1:] == ["1 passage stands in the corpus."]


def test_rows_that_repeat_each_other_are_found_however_many_they_are(tmp_path):
    rows = [{"question": words(20, "same")}] * 30 + [
        {"question": words(20, f"other {i}")} for i in range(30)
    ]
    analysis, counts, _ = judged(tmp_path, rows, [rows[0]["question"].upper()])
    assert np.flatnonzero(analysis.item_docs).tolist() == list(range(30))
    assert (counts.dirty, counts.repeated) == (30, 29)


def test_clean_items_of_which_few_edited_copies_are_seen_are_counted(tmp_path):
    """Of 704 questions told as clean 591 were of 8 to 12 words, where half the edits are missed."""
    rows = [{"question": words(n, n)} for n in (9, 12, 13, 30)] + [
        {"question": "".join(chr(0x4E00 + 7 * i) for i in range(20))},
        # 8 words of n-grams, and 14 where punctuation stands between words
        {"question": "def f(x,y): return x+y*[i**2 for i in range(10)]"},
    ]
    index, analysis, counts = searched(tmp_path, rows, [rows[0]["question"], words(50, "else")])
    assert summarize(index, analysis, counts).benchmarks[0].short_clean is None
    copies = CopyAnalysis(index.texts, analysis.unseen())
    unasked = summarize(index, analysis, counts, Tiers(copies, None, copies, None))
    assert unasked.benchmarks[0].short_clean is None
    assert found_in_short(unasked, "2 documents")[1:] == []
    summary = summarize(index, analysis, counts, Tiers(copies, Copies(), copies, None))
    assert (summary.benchmarks[0].clean, summary.benchmarks[0].short_clean) == (5, 1)
    assert found_in_short(summary, "2 documents")[1:] == [
        "1 clean item has under 13 words: an edited copy of one is seen only where it has 80 % of"
        " its word pairs."
    ]


def test_items_that_differ_in_much_punctuation_alone_are_not_testable(tmp_path):
    marks = "([{<>}])"
    rows = [
        {"input": f"{words(15, 'complete')} {''.join(Random(i).choices(marks, k=300))}"}
        for i in range(30)
    ]
    analysis, counts, summary = judged(tmp_path, rows, [rows[0]["input"]])
    assert (counts.dirty, counts.clean, counts.untestable, counts.uncounted) == (0, 0, 30, 30)
    (but_copied,) = analysis.counts(np.arange(30) < 2)  # of which there are edited copies
    assert (but_copied.clean, but_copied.untestable, but_copied.uncounted) == (0, 28, 28)
    assert warnings(summary) == [
        "No item of b is long enough and has words of its own to be tested by n-grams."
    ]


def test_an_item_without_words_of_its_own_needs_all_of_those_it_shares(tmp_path):
    start, middle, end = (words(12, part) for part in ("start", "middle", "end"))
    rows = [
        {"question": f"{start} {middle}"},
        {"question": f"{middle} {end}"},
        {"question": f"{start} {middle} {end}"},
        {"question": middle},
    ]
    most = " ".join(middle.split()[:11])
    analysis, *_ = judged(tmp_path, rows, [most])
    assert not analysis.item_docs.any()
    analysis, *_ = judged(tmp_path, rows, [middle])
    assert np.flatnonzero(analysis.item_docs).tolist() == [3]


def test_a_passage_does_not_count_where_all_fields_are_searched_together(tmp_path):
    rows = [{"passage": words(60, "p"), "question": words(10, "q")}]
    rows += [{"passage": words(60, f"p{i}"), "question": words(10, f"q{i}")} for i in range(3)]
    analysis, counts, summary = judged(tmp_path, rows, ["none", f"so: {rows[0]['passage']}"])
    assert not analysis.item_docs.any()
    assert (counts.some, counts.context_found) == (0, 1)
    assert [(c.item, c.doc_id) for c in summary.contexts] == [("b:0", 1)]


def test_another_benchmark_takes_no_words_of_an_item(tmp_path):
    question = words(30, "q")
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"question": question}) + "\n")
    both = tuple(Benchmark(name=name, path=str(tmp_path / f"{name}.jsonl")) for name in "ab")
    index = BenchmarkIndex.build(Matching(benchmarks=both, ngram=8))
    found = search(document_batch([" ".join(question.split()[:28])]), index, "web")
    analysis, _ = analysis_by(index, count_corpus([found], len(index.ngrams.hashes)), 0.5)
    analysis.add(found)
    assert analysis.item_docs.tolist() == [1, 1]


def test_a_passage_is_told_of_the_first_document_that_has_most_of_it(tmp_path):
    passage = words(60, "p")
    rows = [{"context": passage, "question": words(14, "q"), "answer": words(3, "a")}]
    docs = [passage[: len(passage) // 2], f"x {passage}", f"y {passage}", passage[:200]]
    analysis, *_ = judged(tmp_path, rows, docs)
    shares = analysis.shares
    at = np.flatnonzero(shares.best_unit == 1.0)
    assert len(at) > 0
    assert set(shares.unit_doc[at].tolist()) == {1}
    assert set(shares.unit_docs[at].tolist()) == {3}
