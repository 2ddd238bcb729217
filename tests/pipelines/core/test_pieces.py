import numpy as np
import pyarrow as pa
import pytest

from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.core.pieces import MOST_PIECES, SHIFT, number_pieces, parent_ids
from tokenmill.pipelines.core.schema import doc_ids


def numbered(batch, numbers):
    ids, names = number_pieces(batch, np.array(numbers))
    return batch.set_column(0, batch.schema.field(0), ids).set_column(
        1, batch.schema.field(1), names
    )


def test_pieces_have_ids_of_their_own_and_whole_documents_keep_theirs():
    batch = document_batch(["a", "b", "c"], ordinal=3).take([0, 1, 1, 2])
    made = numbered(batch, [0, 1, MOST_PIECES, 0])
    assert made["id"].to_pylist() == ["0", "1#piece-1", "1#piece-15", "2"]
    first, _, _, last = (int(i) for i in batch["doc_id"].to_numpy())
    got = made["doc_id"].to_pylist()
    assert (got[0], got[3]) == (first, last)
    assert len(set(got)) == 4
    assert {i >> 32 for i in got} == {3}
    assert parent_ids(made).to_pylist() == batch["id"].to_pylist()


def test_a_document_that_is_named_like_a_piece_is_none():
    batch = document_batch(["a", "b"])
    named = batch.set_column(1, batch.schema.field(1), pa.array(["x#piece-1", "y"]))
    assert parent_ids(named).to_pylist() == ["x#piece-1", "y"]
    twice = numbered(named, [2, 0])
    assert twice["id"].to_pylist() == ["x#piece-1#piece-2", "y"]
    assert parent_ids(twice).to_pylist() == ["x#piece-1", "y"]


def test_a_row_that_leaves_no_room_for_the_number_is_told():
    batch = document_batch(["a", "b"])
    high = doc_ids(1, (1 << SHIFT) - 1, 2)
    batch = batch.set_column(0, batch.schema.field(0), pa.array(high))
    assert numbered(batch, [1, 0])["doc_id"].to_pylist()[1] == high[1]
    with pytest.raises(ShardError, match="the first 268,435,456 can; give the recipe a smaller"):
        number_pieces(batch, np.array([0, 1]))
