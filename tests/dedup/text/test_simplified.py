"""Texts in the form in which datatrove compares them; `make peers` holds it against its own."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.dedup.text.simplified import simplified
from tokenmill.pipelines.corpus.near import NearDedup


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", ""),
        ("Caf\u00e9, \u201cNo. 3,75\u201d!", "cafe no 0"),
        ("1.2.3 4,5 \u0661\u0662\u066b\u0665", "0 0 0 0"),
        ("a\tb\n\nc\u00a0d\u3000e\x1cf", "a b c d e f"),
        ("\u4e2d\u6587\u3002\u4e2d\u6587", "\u4e2d\u6587 \u4e2d\u6587"),
        ("don't stop", "don t stop"),
        ("\u0301x", "x"),
    ],
)
def test_the_form_of_a_text(text, form):
    assert simplified(pa.array([text], pa.large_string())).to_pylist() == [form]


@given(st.lists(st.text(max_size=30), max_size=5))
def test_texts_are_by_themselves_and_a_form_has_no_blank_at_its_ends(texts):
    forms = simplified(pa.array(texts, pa.string()))
    assert forms.type == pa.large_string()
    each = [simplified(pa.array([text]))[0].as_py() for text in texts]
    assert forms.to_pylist() == each
    assert all(form == form.strip() for form in each)


def test_documents_are_signed_in_that_form_where_a_recipe_says_so():
    texts = [" ".join(f"word {i}," for i in range(40)), " ".join(f"Word {i}9!" for i in range(40))]
    batch = pa.record_batch({"text": pa.array(texts, pa.large_string())})
    as_published = {"words": "whitespace", "normalize": "datatrove"}
    first, second = zip(
        *(c.to_pylist() for c in NearDedup(**as_published).key_columns(batch, "a")), strict=True
    )
    assert first == second
    first, second = zip(*(c.to_pylist() for c in NearDedup().key_columns(batch, "a")), strict=True)
    assert first != second
    short = pa.record_batch(
        {"text": pa.array(["one two three four", "1 2 3 4 5"], pa.large_string())}
    )
    bands = NearDedup(**as_published).key_columns(short, "a")[2:]
    assert [[bool(key) for key in band.to_pylist()] for band in bands] == [[False, True]] * 14
    assert "normalize" not in NearDedup().key_parameters()
    assert NearDedup(**as_published).key_parameters()["normalize"] == "datatrove"
