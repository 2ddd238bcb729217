"""Columns beside the text are made in parts that fit; a row that stands for too much is told."""

import pyarrow as pa
import pytest

from tokenmill.pipelines.read.stream import DamagedError
from tokenmill.pipelines.read.weights import in_bounds

MB = 1024**2


def standing_for(n_bytes):
    """A row of a list, each member of which is the one value of a dictionary, of a MiB."""
    members = pa.DictionaryArray.from_arrays(
        pa.array([0] * (n_bytes // MB), pa.int32()), ["x" * MB]
    )
    return pa.record_batch({"a": pa.ListArray.from_arrays([0, len(members)], members)})


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([], [0]),
        ([1] * 5, [5]),
        ([20 * MB] * 2, [1, 1]),
        ([40 * MB], [1]),
        ([12 * MB] * 4, [2, 2]),
    ],
)
def test_rows_are_halved_until_they_fit_and_one_row_is_not(sizes, parts):
    table = pa.record_batch({"a": pa.array(["x" * n for n in sizes], pa.string())})
    found = list(in_bounds(table, ["a"]))
    assert [part.num_rows for part in found] == parts
    assert pa.Table.from_batches(found).combine_chunks() == pa.Table.from_batches([table])


def test_a_row_that_stands_for_much_more_than_the_file_has_is_refused():
    assert list(in_bounds(standing_for(16 * MB), ["a"])) == [standing_for(16 * MB)]
    with pytest.raises(DamagedError, match=r"'a' would take [\d,]+ bytes in this row"):
        list(in_bounds(standing_for(64 * MB), ["a"]))
