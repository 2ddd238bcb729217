"""Training: what is read, what is held out, what comes of it, and what is refused."""

import json
import random
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tests.reference import perplexity as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.ngram_model import save_model
from tokenmill.pipelines.filters.models.quality_model import uniform
from tokenmill.pipelines.filters.models.text import line_words, placed_words
from tokenmill.pipelines.train.lm.train import LmTraining, Names, lm_markdown, train
from tokenmill.pipelines.train.sample import Sample

SUBJECTS = ["the cat", "a dog", "The old man", "my neighbour\u2019s cat", "Ελένης"]
VERBS = ["sat on", "looked at", "1 of 23 saw", "ran (quickly) to"]
THINGS = ["the mat.", "a house.", "the river …", "東京!", "our naïve friend."]
RARE = ["quixotic", "zymurgy", "syzygy", "onyx"]


def documents(n, seed):
    draw = random.Random(seed)
    lines = [
        "\n".join(
            f"{draw.choice(SUBJECTS)} {draw.choice(VERBS)} {draw.choice(THINGS)}"
            for _ in range(draw.randint(1, 4))
        )
        for _ in range(n)
    ]
    return [f"{line} {RARE[i]}" if i < len(RARE) else line for i, line in enumerate(lines)]


def jsonl(path, texts):
    rows = ({"id": f"{path.stem}-{i}", "text": text} for i, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return jsonl(tmp_path_factory.mktemp("text") / "good.jsonl", documents(300, 1))


@pytest.fixture(scope="module")
def trained(text):
    return train(training(text))


def training(text, cutoffs=None, **settings):
    return LmTraining(
        text=(Input(path=str(text)),),
        cutoffs=() if cutoffs is None else (Input(path=str(cutoffs)),),
        **{"holdout": 0.2, "order": 3, **settings},
    )


def parted(text, holdout=0.2):
    rows = [json.loads(line) for line in text.read_text().splitlines()]
    once = {row["text"]: row["id"] for row in reversed(rows)}
    rows = [row for row in rows if once[row["text"]] == row["id"]]
    held_out = uniform(pa.array([row["id"] for row in rows]), "holdout", 0) < holdout
    texts = np.array([row["text"] for row in rows], object)
    return texts[~held_out].tolist(), texts[held_out].tolist()


def test_it_is_the_model_of_the_formula(text, trained):
    seen, held_out = parted(text)
    lines = [line for doc in seen for line in reference.lines(doc)]
    counts = Counter(word for line in lines for word in line)
    vocabulary = [word for word, n in counts.items() if n > 1]
    model = trained.model
    assert sorted(model.vocabulary.words.to_pylist()) == sorted(vocabulary)
    unseen = len(counts) - len(vocabulary)
    assert model.about["vocabulary"] == {"known": len(vocabulary), "unknown": unseen}
    twin = reference.KneserNey(lines, vocabulary, 3, prune=1)
    got = model.perplexities(pa.array(held_out[:10])).tolist()
    wanted = [reference.perplexity(doc, twin, unseen) for doc in held_out[:10]]
    assert got == pytest.approx(wanted, rel=1e-4, abs=0.0501)


def test_the_account_says_what_was_read_and_how_well_it_foretells(text, trained):
    seen, held_out = parted(text)
    about = trained.model.about
    account = about["inputs"]["text"]
    assert account["read"] == 300
    assert account["trained_on"] == len(seen)
    assert account["held_out"] == len(held_out)
    assert account["repeated"] == 300 - len(seen) - len(held_out)
    assert about["held_out"]["documents"] == len(held_out)
    found = trained.model.perplexities(pa.array(held_out))
    assert found.min() < about["held_out"]["perplexity"] < found.max()
    head, tail = (round(float(np.percentile(found, p)), 1) for p in (30, 60))
    assert about["cutoffs"] == {
        "head": head, "tail": tail, "documents": len(held_out), "of": "held-out text",
    }  # fmt: skip
    assert "give the corpus that is to be filtered as --cutoffs" in lm_markdown(about)


def test_cutoffs_are_percentiles_of_the_documents_that_are_given(text, trained, tmp_path):
    crawl = documents(40, 7) + [" ".join(RARE[: i % 4 + 1]) for i in range(40)]
    about = train(training(text, jsonl(tmp_path / "crawl.jsonl", crawl), tail=80)).model.about
    found = trained.model.perplexities(pa.array(sorted(set(crawl))))
    assert about["cutoffs"]["documents"] == len(found)
    assert about["cutoffs"]["of"] == "cutoffs"
    assert about["cutoffs"]["head"] == round(float(np.percentile(found, 30)), 1)
    assert about["cutoffs"]["tail"] == round(float(np.percentile(found, 80)), 1)
    assert about["inputs"]["cutoffs"]["read"] == 80
    assert "of --cutoffs" in lm_markdown(about)


def test_the_same_text_makes_the_same_bytes_however_it_is_cut(text, trained, tmp_path):
    lines = text.read_text().splitlines(keepends=True)
    for i in range(3):
        (tmp_path / f"{i}.jsonl").write_text("".join(lines[100 * i : 100 * (i + 1)]))
    again = train(training(tmp_path))
    save_model(trained.model, tmp_path / "one.npz")
    save_model(again.model, tmp_path / "two.npz")
    one, two = (dict(np.load(tmp_path / name)) for name in ("one.npz", "two.npz"))
    assert all(np.array_equal(one[name], two[name]) for name in one if name != "about")


def test_the_vocabulary_is_capped_by_frequency(text, trained):
    few = train(training(text, vocabulary=5)).model
    assert few.vocabulary.words.to_pylist() == trained.model.vocabulary.words.to_pylist()[:5]
    all_of_them = train(training(text, min_count=1)).model
    assert len(all_of_them.vocabulary) > len(trained.model.vocabulary)
    assert all_of_them.about["vocabulary"]["unknown"] == 0


def words_of(texts):
    words = line_words(texts)
    return words.hashes, np.diff(words.doc_ends)


def sample_of(words):
    return Sample(words_of, most=words, unit="words", holdout=0.5, seed=0)


def test_of_more_words_than_are_wanted_documents_are_drawn_by_id():
    texts = documents(400, 3)
    ids = pa.array([f"d{i}" for i in range(400)])
    lengths = np.diff(line_words(pa.array(texts)).doc_ends)
    draws = uniform(ids, "sample", 0)
    order = np.argsort(draws)
    wanted = sorted(draws[order[np.cumsum(lengths[order]) <= 500]].tolist())
    for step in (7, 50, 400):
        sample = sample_of(500)
        for at in range(0, 400, step):
            sample.add(ids[at : at + step], pa.array(texts[at : at + step], pa.large_string()))
        found = sample.documents()
        assert sorted(found.draws.tolist()) == wanted
        assert len(found.words) == found.lengths.sum() <= 500


def test_one_document_stays_however_long():
    sample = sample_of(10)
    for i in range(3):
        texts = pa.array(["the cat sat . " * 100], pa.large_string())
        sample.add(pa.array([f"d{i}"]), texts)
    assert sample.documents().lengths.tolist() == [401]


def test_names_are_the_words_as_a_model_has_them():
    text = "Café ΣΑΣ 1984 x\u00ady… — “İ” naïve\u0301 東京 한국 \u0149 ﬁ ½ a\u0007b ½ —"
    names, found = Names(), placed_words(pa.array([text]))
    names.add(found)
    hashes = found.words.hashes[found.words.hashes != 0]
    assert names.has(hashes).all()
    assert names.of(hashes).to_pylist() == reference.words(text)


def test_a_word_that_is_too_long_has_no_name():
    names, found = Names(), placed_words(pa.array(["x" * 128, "x" * 129]))
    names.add(found)
    assert names.has(found.words.hashes[::2]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("texts", "settings", "said"),
    [
        ([], {}, "--text {path}: 0 documents, none with words"),
        (["", " \n\t"], {}, "--text {path}: 2 documents, none with words"),
        (["one word"], {}, "of 1 different documents none is "),
        (["a b"] * 50, {}, "of 1 different documents none is "),
        (["b c", "d e", "f g", "h i", "j k"], {"seed": 1}, "none occurs 2 times; give more --text"),
        (["a"] * 9, {"head": 70}, "head ends at percentile 70, before tail begins at 60; give a"),
    ],
    ids=range(6),
)
def test_text_that_nothing_can_be_learnt_from_is_refused(tmp_path, texts, settings, said):
    path = jsonl(tmp_path / "few.jsonl", texts)
    with pytest.raises(ConfigError, match=re.escape(said.format(path=path))) as e:
        train(training(path, **{"holdout": 0.5, **settings}))
    assert "\n" not in str(e.value)


def test_a_model_of_one_word_and_its_lines_is_one(tmp_path):
    path = jsonl(tmp_path / "one.jsonl", ["a", "a a", "a a a", "a\na", "a a\na"])
    model = train(training(path, holdout=0.4, min_count=1, seed=3)).model
    assert model.vocabulary.words.to_pylist() == ["a"]
    assert np.isfinite(model.perplexities(pa.array(["a", "b", "a b a\nb"]))).all()
