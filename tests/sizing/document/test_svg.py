"""Text in a drawing: as it was written, and no wider than there is room."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.document.svg import columns, cut, escaped


@given(st.text(max_size=60), st.integers(3, 40))
def test_a_cut_label_is_no_wider_than_asked(label, most):
    assert columns(cut(label, most)) <= most
    if columns(label) <= most:
        assert cut(label, most) == label


@given(st.text())
def test_escaped_text_is_text_in_any_document(text):
    root = ElementTree.fromstring(f'<a b="{escaped(text)}">{escaped(text)}</a>')
    assert root.get("b") == (root.text or "")
    assert len(root.text or "") == len(text)
