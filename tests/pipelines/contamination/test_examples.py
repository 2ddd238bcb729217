import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.contamination import analysis as module
from tokenmill.pipelines.contamination.analysis import BestRows

ROWS = pa.schema([("item", pa.int64()), ("doc_id", pa.uint64()), ("share", pa.float64())])
tables = st.lists(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.2, 0.5, 1.0]))))


@given(tables, st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(0, 3))
def test_the_best_rows_are_those_of_all_at_once(added, most, fresh_rows, fresh_tables, looked):
    best, every = BestRows(ROWS, "share", most), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FRESH_ROWS", fresh_rows)
        patch.setattr(module, "FRESH_TABLES", fresh_tables)
        for number, pairs in enumerate(added):
            rows = [(item, number, share) for item, share in dict(pairs).items()]
            every += rows
            best.add(pa.table(list(zip(*rows, strict=True)) or [[]] * 3, schema=ROWS))
            if number == looked:
                best.table()
    order = sorted(every, key=lambda row: (row[0], -row[2], row[1]))
    kept = [row for i, row in enumerate(order) if [r[0] for r in order[:i]].count(row[0]) < most]
    assert [tuple(row.values()) for row in best.table().to_pylist()] == kept


def test_a_batch_of_few_rows_is_not_sorted_into_all_at_once():
    best = BestRows(ROWS, "share", 1)
    best.add(pa.table([range(100_000), [0] * 100_000, [1.0] * 100_000], schema=ROWS))
    kept = best.table()
    one = pa.table([[7], [1], [0.5]], schema=ROWS)
    allocated = pa.default_memory_pool().num_allocations()
    for _ in range(100):
        best.add(one)
    assert pa.default_memory_pool().num_allocations() - allocated < 100
    assert best.table() == kept
