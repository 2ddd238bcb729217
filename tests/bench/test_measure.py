"""The harness: what it does with the costs of tools, and with tools that fail. Nothing is timed."""

import json
import random

import pytest

from tests.bench import corpus, environment
from tests.bench.cases import CASES, TOOLS, Case, Entry
from tests.bench.corpus import documents, replaced, train
from tests.bench.measure import Bench, figures, measured, once, with_ratios

COST = {"wall_s": 2.0, "peak_mb": 9.4, "before_mb": 3.0, "import_s": 0.5, "warm_s": 1.0}
TOOL = """
import os
def make(part, scratch):
    assert (part / "info.json").is_file() and scratch.is_dir()
    return lambda: {"docs": 3, "end": os.environ["BENCH_EOS"]}
def broken(part, scratch):
    raise ValueError("no such thing: /some/where/file.txt and a/b")
STEPS = {"good": make, "broken": broken}
"""


@pytest.fixture
def bench(tmp_path):
    """A harness whose one tool is `TOOL`, and whose corpus is two empty parts."""
    (tmp_path / "tool.py").write_text(TOOL)
    for mb in ("0.5", "2"):
        folder = tmp_path / "corpus" / f"v{corpus.VERSION}-{mb}MB"
        folder.mkdir(parents=True)
        (folder / "info.json").write_text(json.dumps({"docs": 3, "text_bytes": 2_000_000}))
    return Bench(
        folder=tmp_path,
        data=tmp_path,
        tokenizer=tmp_path / "tokenizer.json",
        eos=("<end>", 7),
        share=0.1,
        repeats=2,
    )


def entry(bench, step, **facts):
    return Entry(label=step, tool=str(bench.folder / "tool"), step=step, mb=2, **facts)


def test_a_worker_says_what_its_step_cost(bench):
    cost = once(bench, entry(bench, "good"))
    assert cost["counts"] == {"docs": 3, "end": "<end>"}
    assert set(COST) | {"cpu_s", "counts"} == set(cost)
    assert not list((bench.folder / "scratch").iterdir())


@pytest.mark.long  # makes an environment
def test_a_tool_that_fails_has_its_reason_and_the_others_go_on(bench):
    peers = bench.folder / "peers"
    peers.with_suffix(".txt").write_text("./no-such-package\n")
    tools = (
        entry(bench, "broken"),
        entry(bench, "good"),
        entry(bench, "good", environment=str(peers)),
    )
    said = []
    found = measured(bench, Case(name="n", title="t", entries=tools), said.append)
    failed, good, gone = found["rows"]
    assert failed["failed"] == "ValueError: no such thing: file.txt and a/b"
    assert "no-such-package" in gone["failed"]
    assert len(good["cpu_s"]) == 2
    assert [line.split(":")[1].split(",")[0] for line in said] == [
        " broken", " good", " good", " good"
    ]  # fmt: skip


def test_tools_take_turns(bench):
    said = []
    case = Case(name="n", title="t", entries=(entry(bench, "good"), entry(bench, "good")))
    measured(bench, case, said.append)
    assert [line.split(", ")[1][0] for line in said] == ["1", "1", "2", "2"]


def test_a_speed_is_megabytes_over_the_median(tmp_path):
    (tmp_path / "info.json").write_text(json.dumps({"text_bytes": 3_000_000}))
    costs = [COST | {"cpu_s": s, "counts": {"docs": 6}} for s in (0.5, 9.0, 1.5)]
    assert figures(tmp_path, CASES[0], costs)["speed"] == 2.0
    by_document = next(case for case in CASES if case.docs)
    assert figures(tmp_path, by_document, costs)["speed"] == 250_000.0


def test_a_ratio_above_one_means_that_we_are_faster():
    rates = with_ratios([{"speed": 400.0}, {"speed": 8.0}, {"failed": "x"}], docs=False)
    times = with_ratios([{"speed": 0.4}, {"speed": 8.0}], docs=True)
    assert [r.get("ratio") for r in rates] == [None, 50.0, None]
    assert times[1]["ratio"] == 20.0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_step_has_its_tools(case):
    assert case.entries[0].label == "tokenmill"
    for used in case.entries:
        tool = (TOOLS / f"{used.tool}.py").read_text()
        assert "STEPS" in tool
        assert used.environment is None or (environment.LISTS / f"{used.environment}.txt").is_file()


@pytest.mark.parametrize("path", sorted(environment.LISTS.glob("*.txt")), ids=lambda p: p.stem)
def test_lists_of_peers_name_exact_versions_and_no_place(path):
    lines = [x for x in path.read_text().splitlines() if x and not x.startswith("#")]
    assert lines
    assert all(line.count("==") == 1 for line in lines)
    assert not any(c in path.read_text() for c in ("://", "@", "--index"))


def test_the_corpus_is_real_first_and_the_same_every_time():
    texts = ("one two three four five\nsix", "a  b\tc d e f g h i j")
    first, again = ([next(made) for _ in range(9)] for made in (documents(texts), documents(texts)))
    assert first == again
    assert tuple(first[:2]) == texts
    assert len(set(first)) > 2


def test_replaced_words_leave_all_whitespace():
    text = " a  b\n\nc\td "
    made = replaced(text, ["xyz"], 0.9, random.Random(1))
    assert made != text
    assert [c for c in made if c.isspace()] == [c for c in text if c.isspace()]


def test_a_tokenizer_can_be_made_where_none_is_at_hand():
    tokenizer = train(("some text to learn from", "and more text"), 300, "<|end|>")
    assert tokenizer.decode(tokenizer.encode("more text from").ids) == "more text from"
    assert tokenizer.token_to_id("<|end|>") == 0
