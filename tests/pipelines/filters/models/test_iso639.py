"""One code for each language, whatever a library calls it."""

import pytest

from tests.pipelines.filters.languages import SENTENCES
from tokenmill.pipelines.filters.models.language_models import CODES, code_of, language_model

OTHERS = {"deu": "de", "zh-Hant": "zh", "cmn_Hani": "zh", "fil": "tl", "nb": "no", "iw": "he"}


def test_labels_of_libraries_become_codes():
    assert {label: code_of(label) for label in OTHERS} == OTHERS
    assert [code_of(one) for one in ("ceb", "sh", "English", "eng_Latn_x")] == [
        "ceb",
        "sh",
        "English",
        "eng_Latn_x",
    ]


def test_a_code_stays_what_it_is():
    codes = set(CODES.values())
    assert len(codes) == 183
    assert {code_of(code) for code in codes} == codes


@pytest.mark.parametrize("library", ["py3langid", "eldc"])
def test_libraries_know_languages_by_their_codes(library):
    known = language_model(library, None).known
    assert set(SENTENCES) <= known
    assert {code_of(code) for code in known} == known
