"""The language of documents and their paragraphs, by models that come with their libraries."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.chains import Runs
from tests.pipelines.filters.languages import SENTENCES
from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.train.quality.models import fasttext_bytes
from tests.reference import language as reference
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models import language, language_models
from tokenmill.pipelines.filters.models.language import Language
from tokenmill.pipelines.filters.models.language_models import LEAST, language_model
from tokenmill.pipelines.prepare.job import run_identity
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

ENGLISH, GERMAN, CHINESE, FRENCH = (SENTENCES[code] for code in ("en", "de", "zh", "fr"))
SENTENCES_IN_ENGLISH = (
    ENGLISH,
    "Nothing that was said at the meeting had been written down by anybody who was there.",
    "The library keeps its oldest books in a room whose windows are never opened.",
    "We would like to know whether the train to the coast still leaves before noon.",
)
LIBRARIES = ("py3langid", "eldc")


def judged(texts, **settings):
    result = Language(**settings)(document_batch(texts))
    result.stats.check("language")
    rows = {r["id"]: (r["reason"], r["detail"]) for r in result.removed.to_pylist()}
    return result.kept["text"].to_pylist(), rows, result


def recipe(tokenizer="tokenizer.json", **settings):
    data = {"inputs": ["."], "steps": [{"language": settings}], "tokenizer": {"path": tokenizer}}
    return make_recipe(data, where="recipe.yaml")


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_languages_leave_and_are_named(library):
    kept, rows, result = judged([ENGLISH, GERMAN, CHINESE, FRENCH], library=library)
    assert kept == [ENGLISH]
    other = "other_language"
    assert rows == {"1": (other, "de"), "2": (other, "zh"), "3": (other, "fr")}
    assert all(LEAST[library] <= r["value"] <= 1 for r in result.removed.to_pylist())


@pytest.mark.parametrize("library", LIBRARIES)
def test_several_may_stay(library):
    assert judged(SENTENCES.values(), keep=["de", "fr"], library=library)[0] == [GERMAN, FRENCH]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("text", ["", "2024-10-11 17:05 ...", "\ufffc", "ok", "\U00010900"])
def test_what_tells_no_language_is_uncertain(text, library):
    kept, rows, result = judged([text], least=0.95, library=library)
    assert kept == []
    assert rows["0"][0] == "uncertain_language"
    assert 0 <= result.removed["value"][0].as_py() < (0.95 if text == "ok" else 1e-9)


def test_the_beginning_of_a_long_document_decides():
    text = ENGLISH * 200 + GERMAN * 1000
    assert judged([text])[0] == [text]
    assert judged([text], first_chars=None)[0] == []
    assert judged([GERMAN[:60] + ENGLISH * 9], first_chars=60)[1]["0"] == ("other_language", "de")


def test_images_go_with_their_documents():
    result = Language()(illustrated([(text, [image(0)]) for text in (ENGLISH, GERMAN)]))
    assert result.kept["images"].value_lengths() == pa.array([1])


def test_codes_may_be_those_of_three_letters():
    assert Language(keep=["eng", "deu_Latn", "nob"]).keep == ("en", "de", "no")


def test_paragraphs_of_other_languages_leave_a_document():
    english = "\n".join(SENTENCES_IN_ENGLISH)
    text = f"{english}\n\n{GERMAN}\n\nok\n\n{FRENCH}\n\n{english}\nja"
    kept, rows, result = judged([text, ENGLISH], unit="paragraph")
    assert kept == [f"{english}\n\nok\n\n{english}\nja", ENGLISH]
    assert rows == {}
    assert result.notes == {"paragraphs_removed_as_de": 1, "paragraphs_removed_as_fr": 1}
    assert result.stats.bytes_edited == len(f"{GERMAN}\n\n{FRENCH}\n\n".encode())


def test_of_a_document_in_another_language_paragraphs_stay():
    text = f"{GERMAN}\n\nok\n\n{ENGLISH}\n\n{GERMAN}\n\n{GERMAN}"
    kept, _, result = judged([text], unit="paragraph")
    assert kept == [ENGLISH]
    assert result.notes == {"paragraphs_removed_as_de": 3, "paragraphs_removed_with_document": 1}


def test_lines_are_paragraphs_too():
    text = f"{ENGLISH}\n{GERMAN}\n\n{ENGLISH}"
    assert judged([text], unit="line")[0] == [f"{ENGLISH}\n\n{ENGLISH}"]


def test_a_document_whose_paragraphs_all_leave_leaves_for_its_own_reason():
    whole = f"{GERMAN}\n\n{FRENCH}"
    assert judged([whole], unit="paragraph")[1]["0"][0] in ("other_language", "uncertain_language")
    shorts = "\n".join(["ja", "nein", "doch"])
    assert judged([shorts, ""], unit="line")[0] == []


def rule_texts():
    parts = st.sampled_from([ENGLISH, GERMAN, FRENCH, "ok", "", "2024", "Tisch", "Hallo du", " "])
    return st.lists(parts, max_size=5).flatmap(
        lambda some: st.sampled_from(["\n", "\n\n"]).map(lambda end: end.join(some))
    )


@given(
    st.lists(rule_texts(), max_size=5),
    st.sampled_from(["line", "paragraph"]),
    st.sampled_from([0, 5, 40]),
    st.sampled_from([0.0, 0.65, 0.99]),
    st.sampled_from(LIBRARIES),
)
@example(["\n\n"], "paragraph", 0, 0.0, "py3langid")
def test_parts_leave_as_the_twin_says(texts, unit, min_chars, least, library):
    model = language_model(library, None)

    def tell(text):
        if not any(map(str.isalpha, text)):
            return None, 0.0
        codes, probabilities = model.tell(pa.array([text]))
        return codes[0].as_py(), probabilities[0]

    separator = {"line": "\n", "paragraph": "\n\n"}[unit]
    rule = {"keep": ["en"], "least": least, "min_chars": min_chars}
    wanted = [reference.by_parts(text, tell, separator, **rule) for text in texts]
    kept, rows, result = judged(texts, unit=unit, library=library, **rule)
    assert kept == [left for left, _, _ in wanted if left is not None]
    assert [rows[i][0] for i in rows] == [reason for _, reason, _ in wanted if reason]
    assert sum(result.notes.values()) == sum(n for *_, n in wanted)


def saved_languages(folder):
    """A fastText model that takes "good" for English, "bad" for German, "the" for either."""
    labels = ("__label__en", "__label__deu_Latn", "__label__fr")
    inputs = np.array([[0, 0, 0], [8, 0, -8], [0, 8, -8], [7, 8, -9]])
    path = folder / "lid.bin"
    path.write_bytes(fasttext_bytes(labels=labels, dim=3, inputs=inputs, outputs=np.eye(3)))
    return path


def test_a_fasttext_model_tells_its_labels(tmp_path):
    path = str(saved_languages(tmp_path))
    texts = ["good\ngood good", "bad bad bad", "the", "123", "good " * 9 + "bad " * 99]
    kept, rows, result = judged(texts, model=path, first_chars=60)
    assert kept == [texts[0], texts[4]]
    assert rows == {
        "1": ("other_language", "de"),
        "2": ("uncertain_language", "de"),
        "3": ("uncertain_language", None),
    }
    of_e = np.exp([0, 6, -6])  # the end of the line is a word too
    assert result.removed["value"][0].as_py() == pytest.approx(of_e[1] / of_e.sum(), abs=1e-4)
    assert judged(texts, model=path, keep=["de"])[0] == [texts[1], texts[4]]


def test_a_document_of_which_no_paragraph_is_left(tmp_path):
    labels = ("__label__en", "__label__de", "__label__fr")
    inputs = np.array([[0, 0, 0], [9, 10, -50], [9, -50, 10], [0, 0, 0]])
    path = tmp_path / "lid.bin"
    path.write_bytes(fasttext_bytes(labels=labels, dim=3, inputs=inputs, outputs=np.eye(3)))
    rule = {"model": str(path), "least": 0.3, "min_chars": 1}
    assert judged(["good\nbad"], **rule)[0] == ["good\nbad"]  # on the whole both say English
    kept, rows, result = judged(["good\nbad"], unit="line", **rule)
    assert (kept, rows) == ([], {"0": ("no_text_left", "en")})
    assert result.notes == {"lines_removed_as_de": 1, "lines_removed_as_fr": 1}


def test_a_model_that_changes_while_a_run_goes_on_is_refused(tmp_path):
    path = saved_languages(tmp_path)
    stage = Language(model=str(path))
    assert (stage.library, stage.least) == ("fasttext", 0.65)
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ConfigError, match="has changed since the run began; put it back"):
        stage(document_batch(["good"]))


def test_a_run_can_be_looked_at_when_its_model_is_gone(tmp_path):
    path = saved_languages(tmp_path)
    told = recipe(model=str(path)).identity()["steps"][0]["language"]
    path.unlink()
    (step,) = recipe(**told).steps
    with pytest.raises(ConfigError, match=r"lid.bin: cannot be read"):
        step(document_batch(["good"]))


def test_each_library_has_its_least():
    assert Language(library="eldc").least == 0.5
    assert Language().least == 0.65
    assert Language(library="eldc", least=0.9).least == 0.9


def test_library_and_version_are_part_of_a_run(tmp_path, tokenizer_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    plan = plan_inputs([Input(path=str(tmp_path / "a.jsonl"))], 10**9)

    def identity(**settings):
        return run_identity(recipe(str(tokenizer_path), **settings), plan)

    assert identity()["versions"]["py3langid"] == "0.4.0"
    assert "py3langid" not in identity(library="eldc")["versions"]
    assert identity(library="eldc")["versions"]["eldc"] == "0.4.0"
    assert identity()["recipe"] != identity(library="eldc")["recipe"]
    assert identity()["recipe"]["steps"][0]["language"]["least"] == 0.65


def test_a_language_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(
        ConfigError, match=r"no language 'english' is known; there are ace, af, .*en"
    ):
        recipe(keep=["english"])
    with pytest.raises(ConfigError, match=r"no language 'gl' is known; there are am, ar, .*en"):
        recipe(keep=["gl"], library="eldc")


def test_a_model_that_is_not_there_says_where_to_get_it(tmp_path):
    with pytest.raises(ConfigError, match=r"lid\.176\.bin \(131 MB.*dl\.fbaipublicfiles"):
        recipe(model=str(tmp_path / "lid.176.bin"))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_is_missing_is_named_with_its_extra(library, monkeypatch):
    monkeypatch.setattr(language_models, "find_spec", lambda name: None)
    extra = {"py3langid": "language"}.get(library, library)
    message = f"needs {library}; pip install 'tokenmill[{extra}]'"
    with pytest.raises(ConfigError, match=re.escape(message)):
        recipe(library=library)


def test_a_model_and_its_library_go_together(tmp_path):
    path = str(saved_languages(tmp_path))
    with pytest.raises(ConfigError, match="a model file is of library: fasttext"):
        recipe(model=path, library="eldc")
    with pytest.raises(ConfigError, match="library: fasttext needs a model file, as model: lid"):
        recipe(library="fasttext")
    (tmp_path / "other.bin").write_bytes(b"no model")
    with pytest.raises(ConfigError, match=r"other.bin: no fastText model; name one, as lid\.176"):
        recipe(model=str(tmp_path / "other.bin"))


def test_paragraphs_are_not_taken_from_between_images():
    data = {
        "inputs": ["."],
        "images": {},
        "steps": [{"language": {"unit": "paragraph"}}],
        "tokenizer": {"path": "tokenizer.json"},
    }
    with pytest.raises(ConfigError, match="'language' cuts text"):
        make_recipe(data, where="recipe.yaml")


def test_captions_of_photos_are_english(shared_data):
    path = shared_data / "images" / "coco_ccby_wds.tar"
    plan = plan_inputs([Input(path=str(path))], 10**9, images=True)
    (shard,) = plan.shards
    batches = list(read_shard(shard, limits=Limits(), images=Images()))
    results = [Language()(b.documents) for b in batches]
    assert sum(r.kept.num_rows for r in results) == sum(b.documents.num_rows for b in batches) == 51


def test_a_run_accounts_for_the_paragraphs_that_left_and_goes_on_with_its_library_alone(
    tmp_path, monkeypatch
):
    runs = Runs(tmp_path)
    english = "\n".join(SENTENCES_IN_ENGLISH)
    docs = [f"{english}\n\n{GERMAN}\n\n{english}", GERMAN, ENGLISH]
    settings = {"steps": [{"language": {"unit": "paragraph"}}, "exact"]}
    out = runs.make("mixed", docs, **settings)
    report = json.loads((out / "report.json").read_text())
    assert report["notes"] == {"paragraphs_removed_as_de": 2}
    (stats,) = (row for row in report["ledger"] if row["stage"] == "language")
    assert stats["removed"] == {"other_language": 1}
    assert stats["bytes_edited"] == len(f"\n\n{GERMAN}".encode())
    monkeypatch.setattr(language, "version", lambda _: "0.4.1")
    with pytest.raises(ConfigError, match="versions"):
        runs.make("mixed", docs, **settings)
