"""What is predicted of a run with images, and what the run then makes of them."""

import hashlib
import json
import math
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.pipelines.keyed import PUBLISHED
from tests.pipelines.read.images.shards import encoded, jpeg, noise, sample, tar_bytes
from tests.running import one_by_one
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.compare import compare, load_estimate
from tokenmill.pipelines.measure.images import PLAUSIBLE, _too_many
from tokenmill.pipelines.measure.job import MeasureJob, Measuring
from tokenmill.pipelines.measure.remarks import image_remarks
from tokenmill.pipelines.measure.run import measure_corpus, to_json
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.sizing.corpus import Estimate, load_corpus

PLANTED = (9, 10, 11, 12, 30)  # times that an image stands in the corpus
SHARDS, SINGLES = 8, 120
# measured on the machine, or small and told no closer than within some times as much
ROUGH = ("stored in removed", "stored in thumbnails", "disk after ")


@cache
def planted():
    """Images as the corpus has them, in the order of its samples; with each its URL."""
    rng = np.random.default_rng(5)
    found = [
        (jpeg(200, 160, (times, 7, 9)), f"p{times}") for times in PLANTED for _ in range(times)
    ]
    found += [(encoded(noise(30 + i % 40, 40, i), "PNG"), f"s{i % 100}") for i in range(SINGLES)]
    return [found[i] for i in rng.permutation(len(found)).tolist()]


@pytest.fixture(scope="module")
def tars(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tars")
    for shard in range(SHARDS):
        members = {}
        for i, (image, name) in list(enumerate(planted()))[shard::SHARDS]:
            ext = "jpg" if image[:2] == b"\xff\xd8" else "png"
            caption = f"caption {i % 90} of a picture " + "and more " * (i % 90 % 5)
            members |= sample(f"{i:05}", image, caption, ext=ext, url=f"https://e.com/{name}")
        (folder / f"s{shard}.tar").write_bytes(tar_bytes(members))
    return folder


@pytest.fixture(scope="module")
def interleaved(tmp_path_factory):
    """Documents with text between their images, of which there are URLs alone."""
    path = tmp_path_factory.mktemp("interleaved") / "docs.jsonl"
    rng = np.random.default_rng(3)
    urls = [f"https://e.com/{n}.jpg" for times in PLANTED for n in [times] * times]
    urls += [f"https://e.com/one{i}.jpg" for i in range(100)]
    rows, at = [], rng.permutation(len(urls)).tolist()
    while at:
        here = [urls[at.pop()] for _ in range(min(len(at), int(rng.integers(0, 4))))]
        words = [f"words of paragraph {len(rows)} {'more ' * i}" for i in range(len(here) + 1)]
        texts = [t for word in words for t in (word, None)][:-1]
        images = [u for url in here for u in (None, url)] + [None]
        rows.append({"text": texts, "images": images})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def recipe_of(path, tokenizer_path, steps, **settings):
    inputs = {"path": str(path), **settings.pop("columns", {})}
    data = {
        "name": "pictures",
        "inputs": [inputs],
        "tokenizer": {"path": str(tokenizer_path)},
        "images": settings.pop("images", {}),
        "run": {"keep_intermediates": True},
        "steps": steps,
    }
    return make_recipe({**data, **settings}, where="recipe.yaml")


def compared(recipe, folder, **how):
    """The rows of `compare`, and the outcome of the prediction."""
    path = folder / "estimate.json"
    outcome = measure_corpus(Measuring(recipe=recipe, **{"sample": 0.2, **how}), path, one_by_one)
    report = run_recipe(recipe, folder / "run", one_by_one)
    rows = compare(load_estimate(path, recipe), report)
    return {row.name: row for row in rows if not row.name.startswith(ROUGH)}, outcome


STEPS = {
    "nothing": [],
    "rules": [{"images": {"formats": ["png", "jpeg"], "min_side": 35, "max_ratio": None}}],
    "repeated": ["repeated_images"],
    "first kept": [{"repeated_images": {"keep": "first", "by": ["md5"], "more_than": 9}}],
    "documents": ["exact", PUBLISHED],
    "urls": ["same_url"],
    "sets": [{"same_images": {"by": "md5", "keep": "first"}}],
    "a rule behind": ["exact", {"images": {"formats": ["png"], "min_side": 1}}],
}


@pytest.mark.long_but("rules", "repeated", "documents")  # a case of each kind of step
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_where_all_documents_are_probed_images_are_told_as_the_run_counts_them(
    tars, tokenizer_path, tmp_path, steps
):
    recipe = recipe_of(tars / "*.tar", tokenizer_path, steps)
    rows, outcome = compared(recipe, tmp_path, sample=1.0)
    assert [name for name, row in rows.items() if not row.held] == []
    names = ["images in", "image bytes in", "images", "image bytes", "image tokens", "documents"]
    names += [
        "png images",
        "png bytes",
        "png pixels",
        "text bytes",
        "tokens",
        "stored in 17-images",
    ]
    for name in names:
        assert rows[name].predicted.value == pytest.approx(rows[name].actual), name
    assert rows["stored in dataset"].predicted.value == pytest.approx(
        rows["stored in dataset"].actual, rel=0.01
    )
    odd = "not predicted", "each by itself"  # the latter of two steps that look for copies
    assert not [line for line in outcome.predicted.remarks if any(words in line for words in odd)]


@pytest.mark.long_but("0-then exact")  # the others repeat its first step
@pytest.mark.parametrize(
    "steps",
    [["repeated_images"], ["repeated_images", "exact"], ["repeated_images", "same_url"]],
    ids=["repeated", "then exact", "then urls"],
)
@pytest.mark.parametrize("seed", few([0, 1, 2], 3))
def test_a_sample_of_documents_holds_the_run_in_its_intervals(
    tars, tokenizer_path, tmp_path, steps, seed
):
    recipe = recipe_of(tars / "*.tar", tokenizer_path, steps)
    rows, _ = compared(recipe, tmp_path, sample=0.5, probes=90, seed=seed)
    outside = [name for name, row in rows.items() if not row.held]
    assert len(outside) <= len(rows) / 10, outside
    low, high = rows["images"].predicted.limits()
    assert 0 < low < high < 2 * rows["images"].actual


def test_repeats_are_those_a_dictionary_counts(tars, tokenizer_path, tmp_path):
    recipe = recipe_of(tars / "*.tar", tokenizer_path, [])
    path = tmp_path / "estimate.json"
    told = measure_corpus(Measuring(recipe=recipe, sample=0.2), path, one_by_one).estimate.images
    pairs = planted()
    for by, keys in (
        ("url", [name for _, name in pairs]),
        ("md5", [hashlib.md5(image).hexdigest() for image, _ in pairs]),
    ):
        times = Counter(keys)
        assert told.unique_frac[by].value == pytest.approx(len(times) / len(keys))
        often = sum(times[key] > 10 for key in keys)
        assert told.repeated_frac[by].value == pytest.approx(often / len(keys))
    held = []
    for seed in range(3):
        how = Measuring(recipe=recipe, sample=0.2, probes=60, seed=seed)
        sampled = measure_corpus(how, path, one_by_one).estimate.images
        for name in ("unique_frac", "repeated_frac"):
            low, high = getattr(sampled, name)["md5"].limits()
            held.append(low <= getattr(told, name)["md5"].value <= high)
    assert sum(held) >= len(held) - 1


@pytest.mark.parametrize("no_images_left", [True, False])
def test_documents_that_lose_their_last_image_are_told_and_so_is_text_between_images(
    interleaved, tokenizer_path, tmp_path, no_images_left
):
    steps = [{"repeated_images": {"by": ["url"], "no_images_left": no_images_left}}]
    images = {"tokens": 5, "store": "reference"}
    columns = {"images": "images", "text": "text"}
    recipe = recipe_of(interleaved, tokenizer_path, steps, images=images, columns=columns)
    rows, _ = compared(recipe, tmp_path, sample=1.0)
    dataset = rows.pop("stored in dataset")  # of 30 kB, 1.3 describe it
    assert dataset.predicted.value == pytest.approx(dataset.actual, rel=0.06)
    assert [name for name, row in rows.items() if not row.held] == []
    for name in ("images", "image tokens", "documents", "text bytes"):
        assert rows[name].predicted.value == pytest.approx(rows[name].actual), name
    lost = rows["documents in"].actual - rows["documents"].actual
    assert (lost > 0) is no_images_left


@pytest.mark.long_but("nothing-0.2", "behind exact-0.2")  # with and without what is bounded
@pytest.mark.parametrize("budget", few([0.2, 0.6], 2))
@pytest.mark.parametrize(
    "steps",
    [[], ["repeated_images"], ["exact", "repeated_images"], ["repeated_images", "same_url"]],
    ids=["nothing", "repeated", "behind exact", "before urls"],
)
def test_a_part_of_the_inputs_gives_bounds(tars, tokenizer_path, tmp_path, steps, budget):
    recipe = recipe_of(tars / "*.tar", tokenizer_path, steps)
    rows, outcome = compared(recipe, tmp_path, budget=budget, probes=80)
    for name in ("images in", "images", "image bytes", "documents", "tokens"):
        low, high = rows[name].predicted.limits()
        assert low * 0.9 <= rows[name].actual <= high * 1.1, name
    for told in (outcome.estimate.images.unique_frac, outcome.estimate.images.repeated_frac):
        low, high = told["md5"].limits()
        assert 0 <= low < high <= 1
    said = [line for line in outcome.predicted.remarks if "the interval spans both" in line]
    assert bool(said) is ("repeated_images" in steps)


def test_an_estimate_of_images_is_a_corpus_to_size(tars, tokenizer_path, tmp_path):
    recipe = recipe_of(tars / "*.tar", tokenizer_path, ["repeated_images"])
    path = tmp_path / "estimate.json"
    estimate = measure_corpus(
        Measuring(recipe=recipe, sample=0.2, probes=90), path, one_by_one
    ).estimate
    data = json.loads(path.read_text())
    assert data == json.loads(json.dumps(to_json(estimate)))
    assert Estimate.model_validate(data) == estimate
    images = load_corpus(path).images
    assert images.images == estimate.images.images
    assert images.tokens_per_image.value == pytest.approx(1.0)
    assert images.in_dataset


@pytest.mark.long_but("mm1")  # obelics has all of its steps but one
@pytest.mark.parametrize("name", ["obelics", "mm1"])
def test_the_steps_of_the_published_recipes_are_predicted(tars, tokenizer_path, tmp_path, name):
    steps = ["repeated_images", "same_url", "repeated_paragraphs", "same_images", "image_once"]
    steps = steps if name == "obelics" else [{"images": {"min_side": 35}}, *steps]
    rows, outcome = compared(recipe_of(tars / "*.tar", tokenizer_path, steps), tmp_path, sample=1.0)
    assert [row for row in rows if row.startswith("images ")]
    assert [name for name, row in rows.items() if not row.held] == []
    remarks = "\n".join(outcome.predicted.remarks)
    assert "repeated_paragraphs is not predicted" in remarks
    assert "same_url and same_images are counted each by itself" in remarks


@pytest.mark.parametrize(
    ("steps", "counted"),
    [
        (["exact", {"same_url": {"keep": "first"}}, "near"], "exact and same_url are"),
        ([{"same_url": {"keep": "first"}}, "near", "exact"], None),
        (["exact", "near"], None),
    ],
)
def test_those_that_are_said_to_be_counted_by_themselves_stand_before_near(
    tars, tokenizer_path, steps, counted
):
    """`near` decides of what those before it leave."""
    measuring = Measuring(recipe=recipe_of(tars / "*.tar", tokenizer_path, steps))
    job = MeasureJob(out=Path(), recipe=measuring.recipe, identity="", measuring=measuring)
    said = [line for line in image_remarks(job, None, is_whole=True) if "by itself" in line]
    assert [line.partition(" counted")[0] for line in said] == ([counted] if counted else [])


def test_an_image_may_be_too_frequent_where_chance_may_have_left_so_few_in_what_was_read():
    counts = np.arange(1, 30)
    for more_than, read_frac in ((1, 0.5), (10, 0.1), (10, 0.9), (25, 0.3)):
        often, may_be = _too_many(counts, more_than, read_frac)
        assert (often == (counts > more_than)).all()
        each = [
            math.comb(more_than + 1, k) * read_frac**k * (1 - read_frac) ** (more_than + 1 - k)
            for k in range(more_than + 1)
        ]
        chance = np.array([sum(each[: n + 1]) for n in counts])
        assert (may_be == ((chance > PLAUSIBLE) & ~often)).all()
    assert not _too_many(counts, 10, 1.0)[1].any()


def test_images_without_any_text_are_refused_in_one_line(tokenizer_path, tmp_path):
    members = {f"{i}.jpg": jpeg(200, 160, (i, 0, 0)) for i in range(5)}
    (tmp_path / "s.tar").write_bytes(tar_bytes(members))
    recipe = recipe_of(tmp_path / "s.tar", tokenizer_path, [])
    with pytest.raises(ConfigError, match="have no text; nothing to predict"):
        measure_corpus(Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one)
