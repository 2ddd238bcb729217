"""Training: what is read, what is held out, what comes of it, and what is refused."""

import gzip
import json
import random
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.reference import quality as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.quality_model import save_model, uniform
from tokenmill.pipelines.train.quality import train as module
from tokenmill.pipelines.train.quality.evaluation import quality_markdown
from tokenmill.pipelines.train.quality.train import (
    LEAST_DOCS,
    Names,
    Training,
    read_examples,
    train,
)

GOOD = ["theorem", "history", "river", "castle", "because", "although", "evidence", "museum"]
BAD = ["click", "buy", "cheap", "sale", "login", "cookies", "subscribe", "now"]
BOTH = ["the", "of", "and", "a", "in", "to", "is", "it"]


def documents(own, n, seed):
    draw = random.Random(seed)
    words = own + BOTH * 4
    return [" ".join(draw.choices(words, k=draw.randint(5, 40))) for _ in range(n)]


def jsonl(path, texts, **more):
    rows = ({"id": f"{path.stem}-{i}", "text": text} | more for i, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    good = jsonl(folder / "good.jsonl", documents(GOOD, 200, 1))
    bad = jsonl(folder / "bad.jsonl", documents(BAD, 300, 2))
    return {"good": [str(good)], "bad": [str(bad)]}


@pytest.fixture(scope="module")
def trained(sides):
    return train(training(sides))


def training(sides, **settings):
    inputs = {side: tuple(Input(path=path) for path in paths) for side, paths in sides.items()}
    return Training(**inputs, **{"n_features": 1 << 12, **settings})


def texts_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_good_and_bad_are_told_apart(trained):
    scores = trained.scores(pa.array(["the theorem of the museum", "buy it now in the cheap sale"]))
    assert scores[0] > 0.9
    assert scores[1] < 0.1
    found = trained.about["evaluation"]
    assert found["auc"] > 0.99
    assert found["brier"] < 0.05
    assert found["kept"]["pareto"]["good"] > 0.6 > 0.1 > found["kept"]["pareto"]["bad"]


def test_the_words_that_tell_are_named(trained):
    told = {side: {w["word"] for w in words} for side, words in trained.about["telling"].items()}
    assert told["good"] >= set(GOOD)
    assert told["bad"] >= set(BAD)


def test_words_tell_by_their_weight_and_by_how_far_their_counts_spread():
    from scipy.sparse import csr_array

    rng = np.random.default_rng(3)
    counts, weights = rng.poisson(rng.uniform(0.1, 9, 40), (60, 40)), rng.normal(size=40)
    names = Names(40)
    names._words = {f: f"w{f}" for f in range(40)}
    found = module.telling(csr_array(counts), weights.astype(np.float32), names)
    moves = weights * counts.std(axis=0)
    for side, order in (("good", np.argsort(-moves)), ("bad", np.argsort(moves))):
        told = [one["word"] for one in found[side]]
        assert told == [f"w{f}" for f in order[: len(told)]]
        assert told


def test_it_is_scikit_learns_regression_on_the_documents_not_held_out(sides, trained):
    from sklearn.linear_model import (
        LogisticRegression,
    )  # 0.6 s, that not every process of tests needs

    counts, good = [], []
    for side, (path,) in sides.items():
        for row in texts_of(path):
            if reference.uniform(row["id"], "holdout", 0) >= 0.2:
                counts.append(np.bincount(reference.features(row["text"], 1 << 12), minlength=4096))
                good.append(side == "good")
    theirs = LogisticRegression(class_weight="balanced", max_iter=1000).fit(counts, good)
    assert np.abs(trained.weights - theirs.coef_[0]).max() < 1e-3
    assert trained.intercept == pytest.approx(theirs.intercept_[0], abs=1e-3)


def test_documents_are_held_out_by_id(sides, trained):
    for side, (path,) in sides.items():
        rows = texts_of(path)
        held = sum(reference.uniform(row["id"], "holdout", 0) < 0.2 for row in rows)
        account = trained.about["inputs"][side]
        assert (account["trained_on"], account["held_out"]) == (len(rows) - held, held)


def test_held_out_documents_are_scored_as_the_model_will(sides, trained):
    """The area under the curve, of scores by the kernel."""
    of_side = []
    for (path,) in sides.values():
        rows = [r for r in texts_of(path) if reference.uniform(r["id"], "holdout", 0) < 0.2]
        of_side.append(trained.scores(pa.array([row["text"] for row in rows])))
    assert trained.about["evaluation"]["auc"] == pytest.approx(reference.auc(*of_side), abs=1e-6)


def test_training_again_makes_the_same_bytes(sides, trained, tmp_path):
    for name, model in (("1", trained), ("2", train(training(sides)))):
        save_model(model, tmp_path / name)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert str(tmp_path) not in json.dumps(trained.about)


def test_any_format_is_read(sides, tmp_path):
    lines = [row["text"] for row in texts_of(sides["good"][0])]
    for i, text in enumerate(lines[:50]):
        (tmp_path / f"{i}.txt").write_text(text)
    (tmp_path / "more.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps({"text": t}) + "\n" for t in lines[50:]).encode())
    )
    model = train(training({"good": [str(tmp_path)], "bad": sides["bad"]}))
    assert model.about["inputs"]["good"]["read"] == len(lines)
    assert model.about["evaluation"]["auc"] > 0.99


def test_more_documents_than_wanted_are_drawn_by_id(sides):
    side = read_examples(training(sides, documents=60), "bad", Names(1 << 12))
    rows = texts_of(sides["bad"][0])
    draws = uniform(pa.array([row["id"] for row in rows]), "sample", 0)
    wanted = sorted(np.argsort(draws)[:60].tolist())
    assert side.counts.shape[0] == 60
    for at, row in enumerate(wanted):
        counts = np.bincount(reference.features(rows[row]["text"], 1 << 12), minlength=4096)
        assert np.array_equal(side.counts[[at]].toarray()[0], counts)


def test_a_sample_is_cut_while_it_is_read(sides, tmp_path):
    """Documents of many small files, so of many batches."""
    whole = texts_of(sides["bad"][0])
    for i in range(0, 300, 20):
        lines = "".join(json.dumps(row) + "\n" for row in whole[i : i + 20])
        (tmp_path / f"{i:03}.jsonl").write_text(lines)
    parts = {"good": sides["good"], "bad": [str(tmp_path)]}
    one, two = (
        read_examples(training(s, documents=30), "bad", Names(1 << 12)) for s in (sides, parts)
    )
    assert (one.counts != two.counts).nnz == 0
    assert np.array_equal(one.held_out, two.held_out)


def test_equal_texts_and_empty_ones_count_once_or_not_at_all(sides, tmp_path):
    texts = documents(GOOD, 40, 3)
    path = jsonl(tmp_path / "more.jsonl", [*texts, *texts[:7], "", " \n\u00a0"])
    account = read_examples(
        training({"good": [str(path)], "bad": sides["bad"]}), "good", Names(1 << 12)
    ).account
    assert account["read"] == 49
    assert account["repeated"] == 7
    assert account["without_words"] == 2
    assert account["trained_on"] + account["held_out"] == 40


def test_documents_that_cannot_be_read_are_counted(sides, tmp_path):
    path = jsonl(tmp_path / "bad.jsonl", documents(BAD, 100, 2))
    path.write_bytes(path.read_bytes() + b'{"text": 3}\n{"text"\n')
    account = train(training({"good": sides["good"], "bad": [str(path)]})).about["inputs"]["bad"]
    assert account["read"] == 100
    assert sum(account["failed"].values()) == 2


@pytest.mark.parametrize("texts", [[], [""] * 50, ["the same text"] * 50])
def test_one_side_alone_trains_nothing(sides, tmp_path, texts):
    path = jsonl(tmp_path / "none.jsonl", texts)
    with pytest.raises(ConfigError) as e:
        train(training({"good": sides["good"], "bad": [str(path)]}))
    n = len({t for t in texts if t})
    assert str(e.value) == (
        f"--bad {path}: {n} different documents with words; a classifier needs {LEAST_DOCS} at"
        " least, good and bad ones"
    )


def test_inputs_that_are_not_there_are_told_with_their_side(sides):
    with pytest.raises(ConfigError, match="--good: /nowhere.jsonl"):
        train(training({"good": ["/nowhere.jsonl"], "bad": sides["bad"]}))


def test_a_path_is_good_or_bad(sides):
    with pytest.raises(ValueError, match=r"good.jsonl: is given as good and as bad"):
        training({"good": sides["good"], "bad": sides["good"]})


def test_equal_ids_cannot_be_split(sides, tmp_path):
    path = jsonl(tmp_path / "same.jsonl", documents(GOOD, 50, 3), id="same")
    with pytest.raises(ConfigError, match="of 50 documents none is .*; give them different ids"):
        train(training({"good": [str(path)], "bad": sides["bad"]}))


def test_without_scikit_learn_the_way_out_is_named(sides, monkeypatch):
    monkeypatch.setattr(module, "LIBRARY", "no_such_library")
    with pytest.raises(ConfigError, match=re.escape("pip install 'tokenmill[quality]'")):
        train(training(sides))


def test_the_report_says_how_well_it_does(trained):
    text = quality_markdown(trained.about)
    assert text.startswith("# Quality classifier")
    for part in ("Documents", "AUC 0.9", "pareto, alpha 9", "Calibration", "theorem"):
        assert part in text


def test_wikipedia_against_the_web(shared_data, tmp_path):
    """GPT-3's choice of sides, small: whole articles against pages of C4."""
    folder = shared_data / "text" / "wikitext2" / "word_language_model" / "data" / "wikitext-2"
    text = "".join((folder / f"{name}.txt").read_text() for name in ("valid", "test"))
    articles = re.split(r"\n(?= = [^=\n]+ = \n)", text)
    good = jsonl(tmp_path / "wikitext.jsonl", [a for a in articles if a.strip()])
    bad = shared_data / "text" / "c4_sample_wimbd"
    about = train(training({"good": [str(good)], "bad": [str(bad)]}, n_features=1 << 20)).about
    assert about["inputs"]["good"]["read"] > 100
    assert about["inputs"]["bad"]["read"] == 1000
    assert about["evaluation"]["auc"] > 0.99
    assert about["evaluation"]["kept"]["pareto"]["bad"] < 0.02
    assert "Caution" in quality_markdown(about)
