"""What a column of a table can be an annotation as."""

import pyarrow as pa
import pytest

from tokenmill.pipelines.core.schema import COLUMN_TYPES, column_type

AS = {
    "string": [pa.string(), pa.large_string(), pa.string_view(),
               pa.dictionary(pa.int8(), pa.string())],
    "int64": [pa.int8(), pa.uint32(), pa.int64()],
    "float64": [pa.float16(), pa.float64(), pa.uint64(), pa.decimal128(9, 2)],
    "bool": [pa.bool_()],
    "timestamp": [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "UTC")],
    None: [pa.time32("s"), pa.time64("ns"), pa.duration("s"), pa.month_day_nano_interval(),
           pa.binary(), pa.null(), pa.list_(pa.string()),
           pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())],
}  # fmt: skip


@pytest.mark.parametrize("name", AS, ids=str)
def test_each_kind_of_column_is_one_type_or_none(name):
    assert {column_type(kind) for kind in AS[name]} == {name}
    assert {*AS} == {*COLUMN_TYPES, None}
