"""Items that no words tell from others are found by every character."""

import json
import re

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.contamination.test_shares import judged
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.contamination.report_found import found_in_short
from tokenmill.pipelines.contamination.verbatim import Verbatim

ASKED = "Complete the sequence so that all parentheses are closed properly in the end, Input:"
SEQUENCES = [
    "[ ( < > )",
    "[ ( < > ) ]",
    "{ [ ( < > )",
    "( )",
    *(f"{'( ' * n}[ ]" for n in range(15)),
]
SUMS = [f"(({n} - 7 + -6 + 4) * (2 - -9 + 3 - {n})) =" for n in range(9)]


def rows_of(questions):
    return [{"question": question} for question in questions]


def test_brackets_and_operators_tell_items_apart(tmp_path):
    rows = rows_of([f"{ASKED} {sequence}" for sequence in SEQUENCES] + SUMS)
    docs = [
        f"He said:\n\n{ASKED}\n [ (\t< > ) ] ]\n\nand more",
        f"é {SUMS[3]} 7 ({SUMS[5]}",
        f"{ASKED} ( )",
        SUMS[4].replace("*", "+"),
    ]
    analysis, counts, summary = judged(tmp_path, rows, docs)
    found = [SEQUENCES.index("[ ( < > ) ]"), SEQUENCES.index("( )")]
    found += [len(SEQUENCES) + n for n in (3, 5)]
    assert np.flatnonzero(analysis.item_docs).tolist() == found
    assert (counts.dirty, counts.whole, counts.untestable, counts.verbatim) == (
        4,
        4,
        0,
        len(rows) - 4,
    )
    matches = dict(
        zip(*(analysis.examples[name].to_pylist() for name in ("item", "match")), strict=True)
    )
    assert " ".join(matches[1].split()) == f"{ASKED} [ ( < > ) ]"
    assert [matches[at] for at in found[2:]] == [SUMS[3], SUMS[5]]
    said = found_in_short(summary, "4 documents")[0]
    assert said.endswith(f"{len(rows) - 4} could be found only with every sign as it is.")


def test_a_question_is_found_beside_an_answer_that_words_tell_apart(tmp_path):
    told = [" ".join(f"{word}{n}" for word in "abcdefghijklmnop") for n in range(len(SUMS))]
    rows = [{"question": q, "answer": a} for q, a in zip(SUMS, told, strict=True)]
    analysis, counts, _ = judged(tmp_path, rows, [f"x {SUMS[3]} y", told[5]])
    assert np.flatnonzero(analysis.item_docs).tolist() == [3, 5]
    assert counts.verbatim == len(rows) - 2


def test_short_texts_stay_untestable_and_words_decide_where_they_can(tmp_path):
    rows = rows_of(["1 2 3 4 5 6 7", *SUMS[:3], " ".join("abcdefghij")])
    _, counts, _ = judged(tmp_path, rows, [f"1 2 3 4 5 6 7 {SUMS[0]}"])
    assert (counts.untestable, counts.dirty, counts.verbatim) == (1, 1, 2)


def test_the_longest_text_is_meant_wherever_it_stands(tmp_path):
    path = tmp_path / "b.jsonl"
    sums = [f"1 + 2 + 3 + 4 + 5{end}" for end in ("", " +", " + 6", " + 66", " + 6 + 7")]
    sums.append("2 + 3 + 4 + 5 + 6 + 7")
    path.write_text("".join(json.dumps({"question": text}) + "\n" for text in sums))
    matching = Matching(benchmarks=(Benchmark(name="b", path=str(path)),), ngram=5)
    index = BenchmarkIndex.build(matching)
    n = len(sums)
    verbatim = Verbatim.build(index.texts, index.ngrams, np.ones(n, bool), np.arange(n))

    @given(
        st.lists(
            st.sampled_from(["1 +", "2 + 3 + 4 + 5", "+ 6", "6", "+ 7", "é", "\n"]), max_size=9
        )
    )
    @example(["1 +", "2 + 3 + 4 + 5", "+ 6", "+ 7"])
    def check(pieces):
        passage = " ".join(pieces)
        spans = [
            (m.start(), m.end(), at)
            for at, text in enumerate(verbatim.texts)
            for m in re.finditer(r"\s+".join(map(re.escape, text.split())) + r"(?!\w)", passage)
        ]
        best = [
            one
            for one in spans
            if not any(o[0] <= one[0] and one[1] <= o[1] and o != one for o in spans)
        ]
        found = [
            (len(passage.encode()[:start].decode()), len(passage.encode()[:end].decode()), at)
            for at, start, end in verbatim._in(passage)
        ]
        assert found == sorted(best)

    check()
