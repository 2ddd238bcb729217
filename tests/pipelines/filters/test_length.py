"""Documents are as long as Python says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.strategies import document_batch
from tokenmill.pipelines.filters.length import Length

sizes = st.one_of(st.none(), st.integers(0, 6))


@given(st.lists(st.text(max_size=8), max_size=6), sizes, sizes)
def test_documents_of_the_right_length_stay(texts, least, most):
    if None not in (least, most) and most < least:
        least, most = most, least
    result = Length(min_chars=least, max_chars=most)(document_batch(texts))
    stays = [(least or 0) <= len(t) <= (len(t) if most is None else most) for t in texts]
    kept = zip(texts, stays, strict=True)
    assert result.kept["text"].to_pylist() == [t for t, stay in kept if stay]
    gone = [t for t, stay in zip(texts, stays, strict=True) if not stay]
    rows = result.removed.to_pylist()
    assert [row["value"] for row in rows] == [len(t) for t in gone]
    reasons = ["too_short" if len(t) < (least or 0) else "too_long" for t in gone]
    assert [row["reason"] for row in rows] == reasons
    result.stats.check("test")


def test_a_range_of_nothing_is_refused():
    with pytest.raises(ValidationError) as e:
        Length(max_chars=299)
    assert e.value.errors()[0]["msg"] == (
        "Value error, min_chars 300 is over max_chars 299; nothing would be kept"
    )
