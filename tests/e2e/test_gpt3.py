"""The recipe gpt3, end to end: a classifier is trained, and a crawl goes the way of the paper."""

import gzip
import json
import random
import re
from importlib.util import find_spec

import pyarrow.parquet as pq
import pytest

from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.pipelines.filters.models.quality_model import save_model
from tokenmill.pipelines.prepare.recipe import find_recipe, load_recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import write_report
from tokenmill.pipelines.train.quality.train import Training
from tokenmill.pipelines.train.quality.train import train as train_quality

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs scikit-learn")

MARKUP = (
    (r" @(.)@ ", r"\1"),
    (r" ([.,;:!?)\]%]|'s|n't)(?= |$)", r"\1"),
    (r"([(\[$]) ", r"\1"),
    (" <unk>", ""),
)
WEB, PAGES, PLANTED, COPIED = 500, 400, 50, 40  # documents of the crawl, in this order; copies
COPIES = WEB + PAGES  # where they begin


def plain(line):
    """A line of wikitext without what tells it from other text: its words parted from signs."""
    for pattern, with_ in MARKUP:
        line = re.sub(pattern, with_, line)
    return line


def wikipedia(folder):
    lines = (folder / "valid.txt").read_text(), (folder / "test.txt").read_text()
    found = (line.strip() for text in lines for line in text.splitlines())
    return [plain(line) for line in found if len(line) > 400 and not line.startswith("=")]


def write(path, texts):
    lines = (json.dumps({"id": f"{path.stem}-{i}", "text": t}) for i, t in enumerate(texts))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def crawl(shared_data, tmp_path_factory):
    """C4 with pages of Wikipedia among it: copies of some, questions of a benchmark in others."""
    folder = tmp_path_factory.mktemp("gpt3")
    text = shared_data / "text"
    pages = wikipedia(text / "wikitext2/word_language_model/data/wikitext-2")
    (c4,) = (text / "c4_sample_wimbd").rglob("*.json.gz")
    web = [json.loads(line)["text"] for line in gzip.decompress(c4.read_bytes()).splitlines()]
    benchmark = shared_data / "bench/gsm8k/test.jsonl"
    items = [json.loads(line)["question"] for line in benchmark.read_text().splitlines()]
    rng = random.Random(3)
    held = [" ".join(pages[i : i + 3]) for i in range(0, 3 * PAGES, 3)]
    planted = []
    for i, page in enumerate(held[:PLANTED]):
        half = page.index(" ", len(page) // 2)
        planted.append(f"{page[:half]} {items[i]}{page[half:]}")
    near = [
        page.replace(rng.choice(page.split()[9:]), "altered", 1)
        for page in held[PLANTED : PLANTED + COPIED]
    ]
    return {
        "good": write(folder / "wikipedia.jsonl", pages[3 * PAGES :]),
        "bad": write(folder / "c4.jsonl", web[:WEB]),
        "crawl": write(folder / "crawl.jsonl", [*web[WEB:], *planted, *held[PLANTED:], *near]),
        "benchmark": benchmark,
    }


@pytest.fixture(scope="module")
def run(crawl, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    given = {side: ({"path": str(crawl[side])},) for side in ("good", "bad")}
    model = train_quality(Training.model_validate(given))
    save_model(model, folder / "quality.npz")
    settings = {
        "inputs": [{"path": str(crawl["crawl"]), "source": "common_crawl"}],
        "tokenizer.path": str(train(folder)),
        "steps.quality.model": str(folder / "quality.npz"),
        "steps.decontaminate.benchmarks": [f"gsm8k={crawl['benchmark']}"],
    }
    recipe = load_recipe(find_recipe("gpt3"), settings)
    report = prepare(recipe, folder / "out", one_by_one)
    write_report(folder / "out", Report.model_validate(report))
    return model, folder / "out", report


def test_the_classifier_tells_wikipedia_from_the_crawl(run):
    model, _, _ = run
    scores = model.about["evaluation"]
    assert scores["auc"] > 0.9


def removed_at(out, stage):
    """Numbers in the crawl of the documents that left there, and the receipts."""
    rows = [r for r in pq.read_table(out / "removed").to_pylist() if r["stage"] == stage]
    return {r["doc_id"]: r for r in rows}


def test_the_ledger_reads_like_the_paper(run):
    """Filtered by the classifier, near duplicates taken out, benchmarks cut out, packed."""
    _, _, report = run
    stages = [row["stage"] for row in report["ledger"]]
    assert stages == ["read", "quality", "near", "decontaminate", "tokenize", "pack"]
    of = {row["stage"]: row for row in report["ledger"]}
    assert of["read"]["docs_in"] == COPIES + COPIED
    assert of["quality"]["removed"].keys() == {"low_quality"}
    assert of["near"]["removed"].keys() == {"near_duplicate"}
    assert of["decontaminate"]["docs_created"] > 0
    assert of["decontaminate"]["bytes_edited"] > 0


def test_pages_like_the_good_ones_stay_and_the_crawl_goes(run):
    _, out, _ = run
    lost = removed_at(out, "quality")
    web = sum(doc_id < WEB for doc_id in lost)
    assert web > 0.9 * WEB
    assert len(lost) - web < 0.15 * (PAGES + COPIED)


def test_near_copies_name_the_page_that_is_kept(run):
    _, out, _ = run
    lost = removed_at(out, "near")
    copies = {i: r["duplicate_of"] for i, r in lost.items() if i >= COPIES}
    assert len(copies) > 0.6 * COPIED  # those of which both copies had come so far
    assert all(kept == copy - COPIES + WEB + PLANTED for copy, kept in copies.items())
    assert len(lost) - len(copies) < 0.02 * (PAGES + WEB)  # single words, ten hashes: 0.8 by chance


def test_what_was_planted_is_cut_out(run):
    _, out, report = run
    (found,) = report["contamination"]["benchmarks"]
    cut = {
        int(row["parent_id"].removeprefix("crawl-"))
        for row in pq.read_table(out / "pieces").to_pylist()
    }
    planted = set(range(WEB, WEB + PLANTED)) - removed_at(out, "quality").keys()
    assert len(planted) > 0.8 * PLANTED
    assert cut >= planted - removed_at(out, "near").keys()
    assert found["dirty"] >= len(cut)
