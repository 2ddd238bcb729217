"""Numbers too small to be meant so lack their unit; too large a growth is a percentage."""

import pytest
from pydantic import TypeAdapter, ValidationError

from tokenmill.sizing import tables

LEAST = {
    "FlopRate": (10**12, "1 TFLOP/s", "TFLOP/s"),
    "ByteRate": (10**6, "1 MB/s", "GB/s"),
    "BitRate": (10**6, "1 Mb/s", "Gb/s"),
    "Capacity": (10**9, "1 GB", "GB"),
}


@pytest.mark.parametrize("kind", LEAST)
def test_a_number_of_some_size_needs_no_unit(kind):
    least, written, unit = LEAST[kind]
    adapter = TypeAdapter(getattr(tables, kind))
    assert adapter.validate_python(least) == adapter.validate_python(written) == least
    with pytest.raises(ValidationError, match=f"has no unit; write the unit, as .* {unit}"):
        adapter.validate_python(least - 1)


def test_growth_from_twofold_on_is_meant_in_percent():
    adapter = TypeAdapter(tables.Growth)
    assert adapter.validate_python(1.99) == 1.99
    assert adapter.validate_python("200 %") == 2.0
    with pytest.raises(ValidationError, match="2 is 200% a year; write 2%, or 200%"):
        adapter.validate_python(2)
    with pytest.raises(ValidationError):
        adapter.validate_python(-0.1)
