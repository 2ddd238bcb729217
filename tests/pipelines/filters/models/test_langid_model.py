"""py3langid's model, walked by our kernel, against the library and a slow twin."""

import functools

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier
from py3langid.modelio import load_model

from tests.pipelines.filters.languages import SENTENCES
from tests.reference import language as reference
from tests.strategies import text_columns
from tokenmill.pipelines.filters.models import language_models as ours
from tokenmill.pipelines.filters.models.language_models import code_of, langid_model


@functools.cache
def arrays():
    weights, prior, labels, *automaton = load_model(MODEL_DIR / MODEL_FILE)
    return (weights, prior, [code_of(label) for label in labels], *automaton)


@functools.cache
def library():
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def told(column):
    found = langid_model().tell(column)
    return list(zip(found.codes.to_pylist(), found.probabilities.tolist(), strict=True))


def same(found, wanted, tolerance=1e-6):
    assert [code for code, _ in found] == [code for code, _ in wanted]
    assert [p for _, p in found] == pytest.approx([p for _, p in wanted], abs=tolerance)


# without characters that are newer than this interpreter, and those that Python alone takes for
# capitals, which are no letters, as Ⅻ and Ⓐ
texts = st.one_of(
    st.sampled_from([s for pair in SENTENCES.items() for s in (pair[1], pair[1].upper())]),
    st.text(st.characters(exclude_categories=("Cn", "Cs", "Nl", "So")), max_size=40),
    st.lists(st.sampled_from(list(SENTENCES.values())), max_size=4).map("\n".join),
)


@given(text_columns(texts))
@example(pa.array(["", "e\u0301tude", "ÉTUDE", "ǅ", "ΣΊΣΥΦΟΣ", "ºA", "Aª", "AB Ⅻ"]))
def test_the_kernel_tells_what_the_twin_does(column):
    wanted = [reference.tell(text, arrays()) for text in column.to_pylist()]
    found = told(column)
    same(found, wanted)


def test_the_library_tells_the_same():
    known = list(SENTENCES.values())
    column = pa.array([*known, *(one[:40] for one in known), *map(str.upper, known)])
    wanted = [library().classify(text) for text in column.to_pylist()]
    # its sums have 24 bits
    same(told(column), [(code_of(code), p) for code, p in wanted], tolerance=1e-4)


def test_sentences_are_told():
    assert [code for code, _ in told(pa.array(list(SENTENCES.values())))] == list(SENTENCES)


def test_languages_with_two_classes_are_told_once():
    model = langid_model()
    assert len(model.languages) == len(set(model.languages)) == 140
    assert len(model.classes) == 142


@pytest.mark.parametrize("room", [1, 100, 3000])
def test_the_room_for_features_changes_nothing(monkeypatch, room):
    column = pa.array(["", *SENTENCES.values()] * 3)
    wanted = told(column)
    monkeypatch.setattr(ours, "ROOM", room)
    monkeypatch.setattr(ours, "AT_ONCE", 7)
    assert told(column) == wanted
    assert told(column[:0]) == []
