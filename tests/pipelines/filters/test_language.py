"""The language of documents, by a model that comes with its library."""

import pyarrow as pa
import pytest

from pipelines.errors import ConfigError
from pipelines.filters.language import LONGEST, Language, language_of
from pipelines.images.options import Images
from pipelines.plan import plan_inputs
from pipelines.read.limits import Limits
from pipelines.read.readers import read_shard
from pipelines.recipe import make_recipe
from pipelines.shard import Input
from tests.pipelines.images.batches import illustrated, image

ENGLISH = "A man in a red jacket rides his bicycle along the river on a sunny morning in spring."
GERMAN = "Ein Mann in einer roten Jacke fährt an einem sonnigen Morgen mit dem Fahrrad am Fluss."
CHINESE = "一个穿红色夹克的男人在阳光明媚的早晨沿着河边骑自行车。"
FRENCH = "Un homme en veste rouge fait du vélo le long de la rivière par un matin ensoleillé."


def judged(texts, **settings):
    result = Language(**settings)(illustrated([(text, [image(0)]) for text in texts]))
    rows = {r["id"]: (r["reason"], r["detail"]) for r in result.removed.to_pylist()}
    return result.kept["text"].to_pylist(), rows, result


def test_other_languages_leave_and_are_named():
    kept, rows, result = judged([ENGLISH, GERMAN, CHINESE, FRENCH])
    assert kept == [ENGLISH]
    other = "other_language"
    assert rows == {"doc-1": (other, "de"), "doc-2": (other, "zh"), "doc-3": (other, "fr")}
    assert all(0.65 <= r["value"] <= 1 for r in result.removed.to_pylist())
    result.stats.check("language")


def test_several_may_stay():
    assert judged([ENGLISH, GERMAN, FRENCH], keep=["de", "fr"])[0] == [GERMAN, FRENCH]


@pytest.mark.parametrize("text", ["", "2024-10-11 17:05 ...", "\ufffc", "ok"])
def test_what_tells_no_language_is_uncertain(text):
    kept, rows, _ = judged([text], least=0.9)
    assert kept == []
    assert rows["doc-0"][0] == "uncertain_language"


def test_the_beginning_of_a_long_document_decides():
    assert language_of(ENGLISH * (LONGEST // len(ENGLISH) + 1) + GERMAN * 1000)[0] == "en"


def test_images_go_with_their_documents():
    _, _, result = judged([ENGLISH, GERMAN])
    assert result.kept["images"].value_lengths() == pa.array([1])


def test_a_language_that_is_not_known_is_refused_with_those_that_are():
    steps = [{"language": {"keep": ["english"]}}]
    data = {"inputs": ["."], "steps": steps, "tokenizer": {"path": "tokenizer.json"}}
    with pytest.raises(
        ConfigError, match=r"no language 'english' is known; there are ace, af, .*en"
    ):
        make_recipe(data, where="recipe.yaml")


def test_captions_of_photos_are_english(shared_data):
    path = shared_data / "images" / "coco_ccby_wds.tar"
    plan = plan_inputs([Input(path=str(path))], 10**9, images=Images())
    (shard,) = plan.shards
    batches = list(read_shard(shard, limits=Limits(), images=Images()))
    results = [Language()(b.documents) for b in batches]
    assert sum(r.kept.num_rows for r in results) == sum(b.documents.num_rows for b in batches) == 51
