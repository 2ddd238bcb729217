"""What holds for every stage a recipe can name where documents have images."""

import pickle

import pytest
from hypothesis import given, settings

from tests.pipelines.filters.test_stages import made
from tests.pipelines.filters.texts import texts
from tests.pipelines.read.images.batches import illustrated, numbers
from tests.pipelines.read.images.strategies import batches, document
from tests.pipelines.read.images.verdicts import checked
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.filters.stages import STAGES

# which need a file; see test_scores.py, and test_quality.py and test_perplexity.py of the filters
SCORED = ("image_scores", "document_scores", "quality", "perplexity")
# c4 drops lines, and with them the places of images; a recipe with images refuses it
WITH_IMAGES = [name for name in STAGES if name not in ("c4", *SCORED)]
every_stage = pytest.mark.parametrize("name", WITH_IMAGES)
some_batch = batches(document(texts.map(lambda text: text.replace("\ufffc", ""))))


@every_stage
@settings(max_examples=20)
@given(batch=some_batch)
def test_every_document_and_image_is_kept_or_counted(name, batch):
    checked(made(name), batch)


@every_stage
@settings(max_examples=20)
@given(batch=some_batch)
def test_a_verdict_does_not_depend_on_the_batch(name, batch):
    stage = made(name)
    alone = [stage(batch.slice(i, 1)) for i in range(batch.num_rows)]
    together = stage(batch)
    assert together.kept.to_pylist() == [row for r in alone for row in r.kept.to_pylist()]
    assert together.removed.to_pylist() == [row for r in alone for row in r.removed.to_pylist()]
    assert together.stats == sum((r.stats for r in alone), StageStats())
    if together.images is not None:
        rows = [row for r in alone for row in r.images.to_pylist()]
        assert together.images.to_pylist() == rows


@every_stage
@settings(max_examples=20)
@given(batch=some_batch)
def test_doing_it_twice_removes_nothing_more(name, batch):
    stage = made(name)
    once = stage(batch).kept
    twice = stage(once)
    assert numbers(twice.kept) == numbers(once)


@every_stage
def test_an_empty_batch_stays_one(name):
    result = checked(made(name), illustrated([]))
    assert result.stats == StageStats()


@every_stage
def test_a_stage_is_named_as_in_a_recipe_and_can_be_sent_to_a_worker(name):
    stage = made(name)
    assert stage.name == name
    assert pickle.loads(pickle.dumps(stage)) == stage
    assert STAGES[name].model_validate_json(stage.model_dump_json()) == stage
