"""DuckDB, a reader of Parquet that is not Arrow's, reads back what was exported."""

import pytest

from tests.peers.exporting import exported, rows_of, run  # noqa: F401 - `run` is a fixture
from tests.peers.loaded import loaded

duckdb = loaded("duckdb")
pytestmark = pytest.mark.peers


def test_every_row_is_read_back(run, tmp_path):  # noqa: F811
    out = exported(run, tmp_path / "out", "parquet")
    for split, rows in rows_of(run).items():
        with duckdb.connect() as at:
            cursor = at.execute(f"select * from read_parquet('{out}/{split}-*.parquet')")
            names = [column[0] for column in cursor.description]
            found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        assert [{**row, "input_ids": list(row["input_ids"])} for row in found] == rows
