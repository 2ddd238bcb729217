"""The step `quality`: rules, draws, and what a recipe is told of its model."""

import pickle
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.filters.texts import texts
from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.verdicts import checked
from tests.pipelines.train.quality.models import fasttext_score, saved, saved_fasttext
from tests.reference import quality as reference
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED
from tokenmill.pipelines.filters.models.quality import Quality, scorer
from tokenmill.pipelines.filters.models.quality_model import kept_share
from tokenmill.pipelines.prepare.recipe import make_recipe

TEXTS = ["good", "bad", "the", "", "fine good", "bad bad"] * 300


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(saved(tmp_path_factory.mktemp("model")))


def judged(texts, **settings):
    result = Quality.model_validate(settings)(document_batch(texts))
    return result, {int(i): v for i, v in zip(*columns(result.removed, "id", "value"), strict=True)}


def columns(batch, *names):
    return [batch[name].to_pylist() for name in names]


def test_the_pareto_rule_keeps_as_the_reference_draws(tmp_path):
    result, removed = judged(TEXTS, model=str(saved(tmp_path)), alpha=2, seed=5)
    weights = {"good": 2, "bad": -2, "fine": 1}
    for i, text in enumerate(TEXTS):
        score = 1 / (1 + np.exp(-sum(weights.get(word, 0) for word in text.split())))
        drawn = reference.pareto(reference.uniform(str(i), "quality", 5), 2)
        assert (i not in removed) == (drawn > 1 - score)
        assert removed.get(i, score) == pytest.approx(score, abs=1e-9)
    assert 0 < len(removed) < len(TEXTS)
    assert set(result.removed["reason"].to_pylist()) == {"low_quality"}
    result.stats.check("quality")


def test_as_many_stay_as_the_rule_says(tmp_path):
    n = 20_000
    _, removed = judged(["good"] * n, model=str(saved(tmp_path)))
    p = kept_share(np.array([1 / (1 + np.exp(-2))]), 9)[0]
    assert abs((n - len(removed)) / n - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_neither_order_nor_batches_decide(tmp_path):
    stage = Quality.model_validate({"model": str(saved(tmp_path)), "alpha": 1})
    batch = document_batch(TEXTS)
    whole = stage(batch).kept["id"].to_pylist()
    parts = [stage(batch.slice(at, 70)).kept["id"].to_pylist() for at in range(0, len(TEXTS), 70)]
    assert list(chain.from_iterable(parts)) == whole
    backward = stage(batch.take(list(range(len(TEXTS)))[::-1])).kept["id"].to_pylist()
    assert backward == whole[::-1]


@given(docs=st.lists(texts, max_size=8), first=st.integers(0, 8), n=st.integers(0, 8))
def test_every_document_is_kept_or_counted(model, docs, first, n):
    batch = document_batch(docs).slice(first, n)
    kept, removed, stats, *_ = Quality.model_validate({"model": model, "alpha": 0.5})(batch)
    assert (kept.schema, removed.schema) == (DOCUMENT, REMOVED)
    both = kept["doc_id"].to_pylist() + removed["doc_id"].to_pylist()
    assert sorted(both) == batch["doc_id"].to_pylist()
    assert stats.docs_in == batch.num_rows
    stats.check("quality")


def test_images_go_with_their_documents(model):
    batch = illustrated([(text, [image(0)]) for text in ("good", "bad", "good")])
    stage = Quality.model_validate({"model": model, "rule": "threshold", "threshold": 0.5})
    assert checked(stage, batch).kept["images"].value_lengths().to_pylist() == [1, 1]


def test_a_stage_can_be_sent_to_a_worker(model):
    stage = Quality.model_validate({"model": model})
    assert pickle.loads(pickle.dumps(stage)) == stage
    assert Quality.model_validate_json(stage.model_dump_json()) == stage


def test_another_seed_keeps_others(tmp_path):
    kept = [
        judged(["fine"] * 500, model=str(saved(tmp_path)), seed=s)[0].kept["id"].to_pylist()
        for s in (0, 0, 1)
    ]
    assert kept[0] == kept[1] != kept[2]


def test_scores_are_counted_by_tenths(tmp_path):
    result, _ = judged(
        ["good", "bad", "", "good good good good good good"], model=str(saved(tmp_path))
    )
    assert result.notes == {
        "quality_score_0.1_to_0.2": 1,
        "quality_score_0.5_to_0.6": 1,
        "quality_score_0.8_to_0.9": 1,
        "quality_score_0.9_to_1.0": 1,
    }


def test_a_fasttext_model_takes_the_same_place(tmp_path):
    path = saved_fasttext(tmp_path)
    texts = ["good", "bad", "the good", ""]
    scores = [fasttext_score(text, "__label__hq") for text in texts]
    middle = float(np.median(scores))
    _, removed = judged(texts, model=str(path), label="hq", rule="threshold", threshold=middle)
    assert sorted(removed) == [i for i, score in enumerate(scores) if score < middle]
    assert all(removed[i] == pytest.approx(scores[i], abs=3e-5) for i in removed)


def recipe(**quality):
    steps = [{"quality": quality}]
    data = {"inputs": ["."], "steps": steps, "tokenizer": {"path": "tokenizer.json"}}
    return make_recipe(data, where="recipe.yaml")


def test_the_models_digest_is_part_of_what_a_run_is(tmp_path):
    path = saved(tmp_path)
    before = recipe(model=str(path)).identity()
    assert before == recipe(model={"file": str(path)}).identity()
    saved(tmp_path, intercept=1.0)
    assert recipe(model=str(path)).identity() != before


def test_a_run_can_be_looked_at_when_its_model_is_gone(tmp_path):
    path = saved(tmp_path)
    told = recipe(model=str(path)).identity()["steps"][0]["quality"]
    path.unlink()
    (step,) = recipe(**told).steps
    with pytest.raises(ConfigError, match=r"tiny.npz: cannot be read"):
        step(document_batch(["good"]))


def test_a_model_that_changes_while_a_run_goes_on_is_refused(tmp_path):
    stage = Quality.model_validate({"model": str(saved(tmp_path))})
    saved(tmp_path, intercept=1.0)
    with pytest.raises(ConfigError, match="has changed since the run began; put it back"):
        scorer(stage.model, None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"threshold": 0.5}, "threshold 0.5 is of rule: threshold; the rule is pareto"),
        ({"rule": "threshold"}, "rule: threshold needs one, as threshold: 0.5"),
        ({"label": "hq"}, "label 'hq' is of a fastText model, and this is none"),
        ({"alpha": 0}, "alpha: Input should be greater than 0, got 0"),
        ({"rule": "threshold", "threshold": 1.5}, "Input should be less than or equal to 1, got"),
        (
            {"model": "/nowhere/quality.npz"},
            "(No such file or directory); make it by tokenmill train",
        ),
        ({"model": 3}, "model"),
    ],
    ids=str,
)
def test_mistakes_in_a_recipe_are_told(tmp_path, settings, said):
    with pytest.raises(ConfigError) as e:
        recipe(**{"model": str(saved(tmp_path)), **settings})
    assert said in str(e.value)
    assert str(e.value).count("\n") == 0


@pytest.mark.parametrize("content", [b"", b"not a model at all", b"\x80\x04\x95 a pickle"])
def test_a_file_that_is_no_model_is_told_while_the_recipe_is_read(tmp_path, content):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="model.bin: not a whole quality model"):
        recipe(model=str(path))


def test_a_fasttext_model_needs_a_label(tmp_path):
    with pytest.raises(ConfigError, match="as label: NAME; has __label__hq, __label__cc"):
        recipe(model=str(saved_fasttext(tmp_path)))
