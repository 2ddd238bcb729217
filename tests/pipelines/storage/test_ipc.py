"""Messages of Arrow files made by hand; as writers make them: read/test_tables.py."""

import struct

import pyarrow as pa
import pytest

from tokenmill.pipelines.storage.ipc import MAGIC, CutShortError, messages


@pytest.mark.parametrize(
    ("footer_bytes", "whole"), [(5, True), (6, False), (0, False), (-1, False)]
)
def test_a_footer_may_take_all_behind_the_first_mark_and_no_more(footer_bytes, whole):
    data = MAGIC + bytes(2) + bytes(5) + struct.pack("<i6s", footer_bytes, MAGIC)
    found = []
    try:
        found += messages(pa.BufferReader(data))
    except CutShortError:
        found += ["cut short"]
    assert found == ["cut short"] * (not whole)
