import pyarrow as pa

from tests.pipelines.contamination.test_analysis import words
from tests.pipelines.contamination.test_summary import written
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.contamination.summary import Match, item_passages


def index_of(tmp_path, *rows):
    path = written(tmp_path / "quiz.jsonl", rows)
    return BenchmarkIndex.build(Matching(benchmarks=(Benchmark(name="quiz", path=path),), ngram=8))


def marked(passage):
    return [passage.text[a:b] for a, b in passage.spans]


def match_of(item, match, before="", after=""):
    return Match(item, before, match, after)


def test_only_the_n_grams_of_this_match_are_marked(tmp_path):
    a, b = words(20, "a"), words(20, "b")
    index = index_of(tmp_path, {"question": f"{a} {b}"}, {"question": words(20, "a")})
    first, second = item_passages(index, [match_of(0, words(9, "a")), match_of(0, f"x {b}")])
    assert marked(first) == [words(9, "a")]
    assert marked(second) == [b]


def test_what_stands_around_the_match_is_not_marked(tmp_path):
    a, b = words(10, "a"), words(10, "b")
    index = index_of(tmp_path, {"question": f"{a} x {b}"})
    (passage,) = item_passages(index, [match_of(0, a, before=f"{b} é ", after=f" y {b}")])
    assert marked(passage) == [a]


def test_the_text_with_most_of_the_match_is_chosen_and_of_two_the_shorter(tmp_path):
    question, answer = words(12, "q"), words(15, "a")
    index = index_of(tmp_path, {"question": question, "answer": answer})
    one, both = item_passages(index, [match_of(0, question), match_of(0, f"{question}\n{answer}")])
    assert one.text == question
    assert both.text in (f"{question}\n{answer}", f"{answer}\n{question}")
    assert marked(both) == [both.text]


def test_spans_are_characters_of_the_item_as_it_is_written(tmp_path):
    item = f"é東 \U0001f600 &quot;{words(10, 'W')}&quot; 東"
    index = index_of(tmp_path, {"question": item})
    folded = words(10, "w").replace("w", "\uff57")
    (passage,) = item_passages(index, [match_of(0, folded, before="é ")])
    assert marked(passage) == [words(10, "W")]


def test_a_match_that_is_none_marks_nothing(tmp_path):
    index = index_of(tmp_path, {"question": words(20, "a"), "answer": words(9, "b")})
    (passage,) = item_passages(index, [match_of(0, "something else")])
    assert passage.spans == ()
    assert passage.text == words(9, "b")
    assert item_passages(index, []) == []


def test_texts_of_an_item_need_not_stand_together(tmp_path):
    rows = [{"question": words(9, f"q{n}x"), "answer": words(9, f"a{n}x")} for n in range(4)]
    index = index_of(tmp_path, *rows)
    matches = [match_of(n, row["answer"].upper()) for n, row in enumerate(rows)]
    found = item_passages(index, [*matches, match_of(2, rows[2]["question"])])
    assert [marked(p) for p in found] == [[r["answer"]] for r in rows] + [[rows[2]["question"]]]
    assert isinstance(index.texts.texts, pa.LargeStringArray)
