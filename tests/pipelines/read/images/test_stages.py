"""What holds for every stage a recipe can name where documents have images."""

import pickle

import pytest
from hypothesis import given, settings

from tests.pipelines.filters.test_stages import made
from tests.pipelines.filters.texts import texts
from tests.pipelines.read.images.batches import illustrated, image, numbers
from tests.pipelines.read.images.strategies import batches, document
from tests.pipelines.read.images.verdicts import checked
from tests.strategies import examples
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.stages import STAGES

# which need a file; see test_scores.py, and test_quality.py and test_perplexity.py of the filters
SCORED = ("image_scores", "document_scores", "quality", "perplexity")
# c4 drops lines, and with them the places of images; a recipe with images refuses it
WITH_IMAGES = [name for name in STAGES if name not in ("c4", *SCORED)]
LOOK_AT_IMAGES = [name for name in WITH_IMAGES if STEPS[name].needs_images]
every_stage = pytest.mark.parametrize("name", WITH_IMAGES)

PROSE = "The boats lay still upon the water, and that was all there was to be seen of it. " * 20
DOCUMENTS = [
    (f"{PROSE}\n\n{PLACEHOLDER}\n\n{PROSE}", [image(2)]),
    (PLACEHOLDER, [image(0, url=None, md5=None, width=None, height=None)]),
    ("", []),
    ("a red door", [image(n, format=f) for n, f in enumerate((None, "png", "bmp"))]),
    (PROSE, []),
    (f"mail ann@example.org #\n{PLACEHOLDER}", [image(7, url="http://logos.org/a.png")]),
]
# of steps for text, which have laws of their own over texts of all kinds
BATCHES = [illustrated(DOCUMENTS), illustrated(DOCUMENTS[::-1]).slice(1, 4), illustrated([])]


def over_batches(law):
    """A law for steps that look at images over drawn batches, and for the others over a few."""

    @pytest.mark.parametrize("name", LOOK_AT_IMAGES)
    @settings(max_examples=examples(20))
    @given(batch=batches(document(texts.map(lambda text: text.replace("\ufffc", "")))))
    def drawn(name, batch):
        law(name, batch)

    @pytest.mark.parametrize("name", sorted({*WITH_IMAGES} - {*LOOK_AT_IMAGES}))
    @pytest.mark.parametrize("batch", BATCHES, ids=("all", "slice", "none"))
    def given_ones(name, batch):
        law(name, batch)

    return drawn, given_ones


def kept_or_counted(name, batch):
    checked(made(name), batch)


def of_the_document_alone(name, batch):
    stage = made(name)
    alone = [stage(batch.slice(i, 1)) for i in range(batch.num_rows)]
    together = stage(batch)
    assert together.kept.to_pylist() == [row for r in alone for row in r.kept.to_pylist()]
    assert together.removed.to_pylist() == [row for r in alone for row in r.removed.to_pylist()]
    assert together.stats == sum((r.stats for r in alone), StageStats())
    if together.images is not None:
        rows = [row for r in alone for row in r.images.to_pylist()]
        assert together.images.to_pylist() == rows


def removing_nothing_more(name, batch):
    stage = made(name)
    once = stage(batch).kept
    twice = stage(once)
    assert numbers(twice.kept) == numbers(once)


test_all_drawn_are_kept_or_counted, test_all_are_kept_or_counted = over_batches(kept_or_counted)
test_drawn_verdicts_are_of_a_document, test_verdicts_are_of_a_document = over_batches(
    of_the_document_alone
)
test_twice_removes_no_more_drawn, test_twice_removes_no_more = over_batches(removing_nothing_more)


@every_stage
def test_an_empty_batch_stays_one(name):
    result = checked(made(name), illustrated([]))
    assert result.stats == StageStats()


@every_stage
def test_a_stage_is_named_as_in_a_recipe_and_can_be_sent_to_a_worker(name):
    stage = made(name)
    assert stage.name == name
    assert pickle.loads(pickle.dumps(stage)) == stage
    assert STEPS[name].model_validate_json(stage.model_dump_json()) == stage
