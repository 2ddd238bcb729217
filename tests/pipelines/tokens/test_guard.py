import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.tokens.engines import risky

NEW = "\U0001611e"  # Gurung Khema, Unicode 16


@pytest.mark.parametrize(
    ("text", "plain", "composing"),
    [
        ("", False, False),
        ("plain", False, False),
        ("naïve 東京 🙂", False, False),
        ("nai\u0308ve", False, True),
        ("हिन्दी ไทย العَرَبِيَّة", False, False),  # marks, in NFC already
        ("a\u0323\u0301", False, True),
        ("a\u0301\u0323", False, True),
        (f"a{NEW}", True, True),
        ("\U0010ffff", True, True),
        ("\ue000", False, False),
        ("\x00\x85", False, False),
    ],
)
def test_which_documents_go_to_the_reference(text, plain, composing):
    column = pa.array(["", text, "x"])
    assert risky(column, composes=False).tolist() == [False, plain, False]
    assert risky(column, composes=True).tolist() == [False, composing, False]


@given(st.lists(st.text(max_size=20), max_size=6))
def test_what_is_not_in_nfc_goes_to_the_reference(texts):
    found = risky(pa.array(texts, pa.string()), composes=True)
    assert all(
        risk or unicodedata.is_normalized("NFC", text)
        for text, risk in zip(texts, found, strict=True)
    )
