"""The published recipes, each over the same small crawl: what leaves, where, and why."""

import json
from importlib import import_module

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.e2e.crawled import BANNER, PASSAGE, pages, write_crawl
from tests.pipelines.conftest import train
from tests.pipelines.train.lm import models as perplexity
from tests.pipelines.train.quality import models as quality
from tests.running import one_by_one, prepare
from tests.strategies import THOROUGH
from tokenmill.pipelines.prepare.recipe import find_recipe, load_recipe


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    write_crawl(folder / "crawl")
    (folder / "quiz.jsonl").write_text(json.dumps({"q": " ".join(f"word{i}" for i in range(30))}))
    return folder


def run(recipe, crawl, out, **steps):
    """The stages of a run of the recipe, why each page that left did, and notes by name."""
    settings = {
        "inputs": [{"path": str(crawl / "crawl"), "source": "crawl"}],
        "tokenizer.path": str(train(out.parent)),
        **{f"steps.{name}": value for name, value in steps.items()},
    }
    report = prepare(load_recipe(find_recipe(recipe), settings), out, one_by_one)
    names = [*pages(), "good-2, later"]
    by_id = {f"<urn:uuid:{number:04}>": name for number, name in enumerate(names)}
    lost = {}
    for row in pq.read_table(out / "removed").to_pylist():
        lost.setdefault(row["stage"], {})[by_id[row["id"].partition("#")[0]]] = row["reason"]
    return {row["stage"]: row for row in report["ledger"]}, lost, report["notes"]


def test_c4(crawl, tmp_path):
    stages, lost, _ = run("c4", crawl, tmp_path / "out")
    steps = ["length", "same_url", "c4", "repeated_paragraphs", "language"]
    assert list(stages) == ["read", *steps, "tokenize"]
    assert lost == {
        "same_url": {"good-2, later": "same_url"},
        "c4": {
            "short": "too_few_sentences",
            "menu": "too_few_sentences",
            "lorem": "lorem_ipsum",
        },
        "repeated_paragraphs": {"copy": "no_text_left", "again and again": "no_text_left"},
        "language": {"spanish": "other_language"},
    }
    paragraphs = pq.read_table(tmp_path / "out" / "removed-paragraphs")
    assert sum(paragraphs["text_bytes"].to_pylist()) > len(BANNER)


def test_gopher(crawl, tmp_path):
    steps = {"decontaminate.benchmarks": [f"quiz={crawl / 'quiz.jsonl'}"]}
    stages, lost, _ = run("gopher", crawl, tmp_path / "out", **steps)
    steps = ["gopher_quality", "gopher_repetition", "exact", "near", "decontaminate"]
    assert list(stages) == ["read", *steps, "tokenize", "pack"]
    lost.pop("pack", None)
    assert lost == {
        "gopher_quality": {
            "spanish": "too_few_stop_words",
            "short": "too_few_words",
            "menu": "words_too_short",
        },
        "gopher_repetition": {"again and again": "duplicate_paragraphs"},
        "exact": {"copy": "exact_duplicate", "good-2, later": "exact_duplicate"},
        "near": {"nearly": "near_duplicate", "lorem": "near_duplicate"},
    }


def test_refinedweb(crawl, tmp_path):
    pytest.importorskip("trafilatura")
    stages, lost, notes = run("refinedweb", crawl, tmp_path / "out")
    steps = ["language", "gopher_repetition", "gopher_quality", "near", "repeated_spans"]
    assert list(stages) == ["read", *steps, "same_url", "tokenize", "pack"]
    assert lost["language"] == {"spanish": "other_language", "menu": "uncertain_language"}
    assert lost["gopher_repetition"] == {"short": "top_2_gram"}
    assert {"copy", "nearly", "lorem", "good-2, later"} <= lost["near"].keys()
    assert notes["spans_taken_out"] >= 1  # the passage that two pages have


def test_fineweb(crawl, tmp_path):
    pytest.importorskip("trafilatura")
    pytest.importorskip("spacy")
    stages, lost, notes = run("fineweb", crawl, tmp_path / "out")
    rules = ["language", "gopher_repetition", "gopher_quality", "c4", "fineweb"]
    assert list(stages) == ["read", *rules, "near", "pii", "tokenize"]
    assert lost["language"] == {"spanish": "other_language", "menu": "uncertain_language"}
    assert lost["gopher_repetition"] == {"short": "top_2_gram"}
    assert lost["c4"] == {"lorem": "lorem_ipsum"}
    assert {"copy", "nearly", "good-2, later"} <= lost["near"].keys()
    assert (notes["pii_emails"], notes["pii_ipv4"]) == (1, 1)


def test_dclm(crawl, tmp_path):
    """The classifier is a model of fastText's that knows one word, of one page."""
    model = quality.saved_fasttext(
        tmp_path,
        words=("</s>", "jane.doe@harbour-news.com"),
        dim=1,
        inputs=np.array([[0.0], [1.0]]),
        outputs=np.array([[-99.0], [99.0]]),
    )
    stages, lost, _ = run("dclm", crawl, tmp_path / "out", **{"quality.model": str(model)})
    steps = ["language", "gopher_quality", "gopher_repetition", "repeated_spans", "quality"]
    assert list(stages) == ["read", *steps, "tokenize", "pack"]
    assert lost["gopher_quality"] == {"short": "too_few_words"}
    assert lost["gopher_repetition"] == {"again and again": "duplicate_paragraphs"}
    assert lost["repeated_spans"].items() >= {
        ("copy", "repeated_ngrams"),
        ("good-2, later", "repeated_ngrams"),
    }
    assert lost["quality"] == {"good-7": "low_quality"}


LANGUAGES = ["ca", "cs", "de", "fr", "he", "hi", "ru"]
if THOROUGH:
    LANGUAGES += [
        *("ar", "az", "el", "es", "id", "ms", "ne", "pl", "sk", "sl", "sr", "ta", "uk", "vi"),
    ]


def test_fineweb2(tmp_path):
    """Sentences that spaCy has as examples of some languages, each judged by its own limits."""
    pytest.importorskip("spacy")
    good = {code: import_module(f"spacy.lang.{code}.examples").sentences for code in LANGUAGES}
    texts = {code: "\n".join(sentences) for code, sentences in good.items()}
    texts["de, copy"] = texts["de"]
    texts["fr, over and over"] = "\n".join([good["fr"][0]] * 9)
    texts["en"] = " ".join(import_module("spacy.lang.en.examples").sentences)
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items())
    )
    settings = {"inputs": str(tmp_path / "docs.jsonl"), "html": None}
    settings |= {"tokenizer.path": str(train(tmp_path)), "output.text": "jsonl.zst"}
    out = tmp_path / "out"
    report = prepare(load_recipe(find_recipe("fineweb2"), settings), out, one_by_one)
    left = {row["id"]: row["reason"] for row in pq.read_table(out / "removed").to_pylist()}
    assert left.pop("en") == "not_selected"
    assert left.pop("de, copy") == "near_duplicate"
    assert left.pop("fr, over and over") == "duplicate_lines"
    assert left == {  # by limits that others do not have
        "ca": "too_few_terminal_lines",
        "cs": "too_few_alpha_words",
        "he": "too_many_newlines",
    }
    assert report["ledger"][-1]["docs_out"] == len(LANGUAGES) - 3 + 1  # German stands for two


def test_ccnet(crawl, tmp_path):
    """A model of three lines tells nothing: all buckets stay, and are counted."""
    model = {"model": str(perplexity.saved(tmp_path)), "keep": ["head", "middle", "tail"]}
    stages, lost, notes = run("ccnet", crawl, tmp_path / "out", perplexity=model)
    steps = ["length", "repeated_paragraphs", "language", "perplexity"]
    assert list(stages) == ["read", *steps, "tokenize"]
    assert lost == {
        "length": {"short": "too_short"},
        # of the last nothing else was left, for its other lines stand in another page
        "language": {
            "spanish": "other_language",
            "menu": "uncertain_language",
            "lorem": "other_language",
        },
        # what two pages have leaves both
        "repeated_paragraphs": dict.fromkeys(
            ("copy", "good-0", "good-2", "good-2, later", "good-8", "again and again"),
            "no_text_left",
        ),
    }
    assert notes["lines_taken_out"] > 19  # of the page that says one thing again and again
    counted = sum(notes.get(f"perplexity_{name}", 0) for name in ("head", "middle", "tail"))
    assert counted == stages["perplexity"]["docs_in"] == stages["perplexity"]["docs_out"]


def test_gpt3_without_a_word_for_the_classifier(crawl, tmp_path):
    """The classifier itself is trained in test_gpt3; here all documents pass."""
    quiz = tmp_path / "quiz.jsonl"
    quiz.write_text(json.dumps({"q": " ".join(PASSAGE.split()[:30])}) + "\n")
    model = {"model": str(quality.saved(tmp_path)), "rule": "threshold", "threshold": 0.0}
    stages, lost, _ = run(
        "gpt3",
        crawl,
        tmp_path / "out",
        **{"quality": model, "decontaminate.benchmarks": [f"quiz={quiz}"]},
    )
    assert list(stages) == ["read", "quality", "near", "decontaminate", "tokenize", "pack"]
    assert {"copy", "nearly", "lorem", "good-2, later"} <= lost["near"].keys()
    cut = pq.read_table(tmp_path / "out" / "pieces").to_pylist()
    assert {row["parent_id"] for row in cut} == {"<urn:uuid:0005>", "<urn:uuid:0006>"}
    assert stages["decontaminate"]["bytes_edited"] > 2 * len(PASSAGE)
