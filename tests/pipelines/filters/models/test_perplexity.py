"""The step `perplexity`: buckets, limits, and what a recipe is told of its model."""

import pickle
import re
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.filters.texts import texts
from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.verdicts import checked
from tests.pipelines.train.lm.models import model as made
from tests.pipelines.train.lm.models import saved, saved_arpa
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED
from tokenmill.pipelines.filters.models.perplexity import Perplexity, scorer
from tokenmill.pipelines.prepare.recipe import make_recipe

DOCS = ["the cat sat on a mat.", "the zebra sat on a mat.", "dog dog dog", "", "zebra", "\n"] * 50


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(saved(tmp_path_factory.mktemp("model")))


def judged(docs, **settings):
    result = Perplexity.model_validate(settings)(document_batch(docs))
    rows = (result.removed[name].to_pylist() for name in ("id", "reason", "value"))
    return result, {int(i): (reason, value) for i, reason, value in zip(*rows, strict=True)}


@given(
    docs=st.lists(texts | st.sampled_from(DOCS), max_size=8),
    keep=st.lists(st.sampled_from(["head", "middle", "tail"]), min_size=1, max_size=3),
    limits=st.lists(st.floats(1, 1e6), min_size=2, max_size=2).map(sorted),
)
def test_buckets_are_those_of_ccnet(model, docs, keep, limits):
    """`PerplexityBucket.get_bucket` of cc_net/perplexity.py."""
    head, tail = limits
    result, removed = judged(docs, model=model, keep=keep, head=head, tail=tail)
    wanted, counts = {}, {}
    for i, value in enumerate(made().perplexities(pa.array(docs, pa.large_string())).tolist()):
        if value != value:
            wanted[i] = ("no_words", None)
            continue
        bucket = "head" if value < head else "middle" if value < tail else "tail"
        counts[f"perplexity_{bucket}"] = counts.get(f"perplexity_{bucket}", 0) + 1
        if bucket not in keep:
            wanted[i] = (f"{bucket}_perplexity", value)
    assert removed == wanted
    assert result.notes == counts
    result.stats.check("perplexity")


def test_limits_are_the_models_own_unless_given(model):
    _, removed = judged(DOCS[:6], model=model)
    assert removed == {
        2: ("tail_perplexity", 374.5),
        3: ("no_words", None),
        4: ("tail_perplexity", 151.0),
        5: ("no_words", None),
    }
    _, removed = judged(DOCS[:6], model=model, head=100, tail=200)
    assert set(removed) == {2, 3, 5}


def test_neither_order_nor_batches_decide(model):
    stage = Perplexity.model_validate({"model": model})
    batch = document_batch(DOCS)
    whole = stage(batch).kept["id"].to_pylist()
    parts = [stage(batch.slice(at, 7)).kept["id"].to_pylist() for at in range(0, len(DOCS), 7)]
    assert list(chain.from_iterable(parts)) == whole
    backward = stage(batch.take(list(range(len(DOCS)))[::-1])).kept["id"].to_pylist()
    assert backward == whole[::-1]


def test_a_huge_document_is_scored_as_its_lines_are(model):
    n = 40_000
    line = "the zebra sat on a mat.\n"
    docs = [line, line * n, "x" * 3_000_000, "a " * 200_000, "\n" * 100_000]
    values = scorer(Perplexity.model_validate({"model": model}).model, "ccnet", None).perplexities(
        pa.array(docs)
    )
    assert values[0] == values[1]
    assert values[2] == 151.0
    assert np.isfinite(values[3])
    assert np.isnan(values[4])


@given(docs=st.lists(texts, max_size=8), first=st.integers(0, 8), n=st.integers(0, 8))
def test_every_document_is_kept_or_counted(model, docs, first, n):
    batch = document_batch(docs).slice(first, n)
    kept, removed, stats, *_ = Perplexity.model_validate({"model": model})(batch)
    assert (kept.schema, removed.schema) == (DOCUMENT, REMOVED)
    both = kept["doc_id"].to_pylist() + removed["doc_id"].to_pylist()
    assert sorted(both) == batch["doc_id"].to_pylist()
    stats.check("perplexity")


def test_images_go_with_their_documents(model):
    batch = illustrated([(text, [image(0)]) for text in DOCS[:3]])
    stage = Perplexity.model_validate({"model": model})
    assert checked(stage, batch).kept["images"].value_lengths().to_pylist() == [1, 1]


def test_a_stage_can_be_sent_to_a_worker(model):
    stage = Perplexity.model_validate({"model": model})
    assert pickle.loads(pickle.dumps(stage)) == stage
    assert Perplexity.model_validate_json(stage.model_dump_json()) == stage


@pytest.mark.peers
def test_a_kenlm_model_takes_the_same_place(tmp_path, model):
    pytest.importorskip("kenlm")
    path = str(saved_arpa(tmp_path))
    spaced = [doc.replace(".", " .") for doc in DOCS[:6]]
    _, ours = judged(spaced, model=model, head=5, tail=20)
    _, theirs = judged(spaced, model=path, head=5, tail=20)
    assert ours == theirs != {}
    for normalize in ("ccnet", "none"):
        _, got = judged(["THE cat sat on a mat ."], model=path, head=5, tail=6, normalize=normalize)
        assert bool(got) == (normalize == "none")


def recipe(**perplexity):
    steps = [{"perplexity": perplexity}]
    data = {"inputs": ["."], "steps": steps, "tokenizer": {"path": "tokenizer.json"}}
    return make_recipe(data, where="recipe.yaml")


def test_the_models_digest_is_part_of_what_a_run_is(tmp_path):
    path = saved(tmp_path)
    before = recipe(model=str(path)).identity()
    assert before == recipe(model={"file": str(path)}).identity()
    saved(tmp_path, cutoffs={"head": 5.0, "tail": 21.0})
    assert recipe(model=str(path)).identity() != before


def test_a_file_whose_digest_stands_in_the_recipe_is_not_looked_into(tmp_path, model):
    told = recipe(model=model).steps[0].model
    pinned = {"file": told.file, "sha256": told.sha256}
    _, removed = judged(DOCS[:6], model=pinned, head=5, tail=20)
    assert removed == judged(DOCS[:6], model=model)[1]
    with pytest.raises(ConfigError, match="the model carries no limits; give them as head"):
        recipe(model=pinned)


def test_a_run_can_be_looked_at_when_its_model_is_gone(tmp_path):
    path = saved(tmp_path)
    told = recipe(model=str(path)).identity()["steps"][0]["perplexity"]
    path.unlink()
    (step,) = recipe(**told).steps
    with pytest.raises(ConfigError, match=r"lm.npz: cannot be read"):
        step(document_batch(["good"]))


def test_a_model_that_changes_while_a_run_goes_on_is_refused(tmp_path):
    stage = Perplexity.model_validate({"model": str(saved(tmp_path))})
    saved(tmp_path, cutoffs=None)
    with pytest.raises(ConfigError, match="has changed since the run began; put it back"):
        scorer(stage.model, "ccnet", None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"head": 5}, "head is given without tail; give both limits, or neither"),
        ({"tail": 5}, "tail is given without head; give both limits, or neither"),
        ({"head": 5, "tail": 4}, "head 5 is above tail 4; exchange them"),
        ({"head": 0, "tail": 4}, "head: Input should be greater than 0, got 0"),
        ({"keep": []}, "keep"),
        ({"keep": ["best"]}, "Input should be 'head', 'middle' or 'tail', got 'best'"),
        ({"normalize": "ccnet"}, "normalize is of a KenLM model; that of train-lm needs none"),
        ({"normalize": "nfc"}, "Input should be 'ccnet' or 'none', got 'nfc'"),
        ({"sentencepiece": "/nowhere/sp.model"}, "/nowhere/sp.model: cannot be read (No such fil"),
        (
            {"model": "/nowhere/lm.npz"},
            "(No such file or directory); make it by tokenmill train-lm",
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


def test_limits_must_come_from_somewhere(tmp_path):
    with pytest.raises(ConfigError, match="the model carries no limits; give them as head: 300, t"):
        recipe(model=str(saved(tmp_path, cutoffs=None)))
    assert recipe(model=str(saved(tmp_path, cutoffs=None)), head=1, tail=2)


@pytest.mark.peers
def test_limits_of_a_kenlm_model_are_given(tmp_path):
    pytest.importorskip("kenlm")
    with pytest.raises(ConfigError, match="rows 30 and 60"):
        recipe(model=str(saved_arpa(tmp_path)))


@pytest.mark.parametrize("content", [b"", b"not a model at all", b"\x80\x04\x95 a pickle"])
def test_a_file_that_is_no_model_is_told_while_the_recipe_is_read(tmp_path, content):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    said = f"{path}: no language model; name a file of tokenmill train-lm, or of KenLM, binary or"
    with pytest.raises(ConfigError, match=re.escape(said)):
        recipe(model=str(path))


def test_buckets_are_told_of_documents_that_have_words(model):
    settings = {"model": model, "head": 100, "tail": 200, "action": "annotate"}
    kept = Perplexity.model_validate(settings)(document_batch(DOCS[:6])).kept
    values = [None if v != v else v for v in made().perplexities(document_batch(DOCS[:6])["text"])]
    assert kept["perplexity"].to_pylist() == values
    buckets = ["head", "head", "tail", None, "middle", None]
    assert kept["perplexity_bucket"].to_pylist() == buckets
