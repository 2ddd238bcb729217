"""Rows of very many sidecars: the ones asked for, whatever is open, and few of them open."""

import mmap

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import listed
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.storage.files import (
    MOST_OPEN,
    Opened,
    Rows,
    arrow_file,
    corpus_rows,
    counted_rows,
    open_batch,
    with_parameters,
)

SCHEMA = with_parameters(
    pa.schema([("id", pa.int64()), ("pair", pa.list_(pa.int64(), 2))]), {"a": 1}
)


def write(path, ids, batch):
    columns = [pa.array(ids), listed(np.column_stack([ids, -ids]))]
    whole = pa.record_batch(columns, schema=SCHEMA)
    with arrow_file(path, SCHEMA) as writer:
        for at in range(0, len(ids), batch):
            writer.write_batch(whole.slice(at, batch))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 4), st.integers(1, 3), st.randoms())
def test_rows_are_those_of_all_files_one_after_the_other(
    tmp_path_factory, sizes, batch, most, random
):
    folder, n = tmp_path_factory.mktemp("files"), sum(sizes)
    ids = np.array([random.randrange(1_000) for _ in range(n)], np.int64)
    paths, at = [folder / str(shard) for shard in range(len(sizes))], 0
    for path, size in zip(paths, sizes, strict=True):
        write(path, ids[at : at + size], batch)
        at += size
    rows = counted_rows(paths, {"a": 1})
    rows._most = most
    assert (rows.n, rows.n_shards) == (n, len(sizes))
    wanted = np.flatnonzero([random.random() < 0.5 for _ in range(n)])
    for _ in range(2):
        assert rows.take("id", wanted).tolist() == ids[wanted].tolist()
        assert rows.take("pair", wanted).tolist() == [[i, -i] for i in ids[wanted].tolist()]
        assert len(rows._open) <= most
        first = random.randrange(len(sizes) + 1)
        walked = list(rows.walk(first))
        assert np.concatenate([ids[:0], *(b.values("id") for b in walked)]).tolist() == (
            ids[rows.starts[first] :].tolist()
        )
        for found in walked:
            start = int(rows.starts[found.shard])
            assert start <= found.start < start + sizes[found.shard]
            assert found.values("id").tolist() == ids[found.start :][: len(found.rows)].tolist()


def test_of_a_hundred_thousand_shards_only_those_asked_for_are_opened_and_few_held():
    n, opened = 100_000, []

    def opening(number):
        opened.append(number)
        batch = pa.record_batch({"id": [3 * number, 3 * number + 1, 3 * number + 2]})
        return Opened([batch], np.array([0, 3]), mmap.mmap(-1, 1))

    rows = Rows(np.arange(n + 1) * 3, opening)
    wanted = np.sort(np.random.default_rng(1).choice(3 * n, 500, replace=False))
    assert rows.take("id", wanted).tolist() == wanted.tolist()
    assert opened == sorted(set((wanted // 3).tolist()))
    assert len(rows._open) == MOST_OPEN
    rows.take("id", wanted[-1:])
    assert len(opened) == len(set((wanted // 3).tolist()))


def test_a_sidecar_of_other_parameters_or_another_number_of_rows_is_refused(tmp_path):
    write(tmp_path / "file", np.arange(5), 2)
    with pytest.raises(ShardError) as e:
        counted_rows([tmp_path / "file"], {"a": 2})
    assert str(e.value) == (
        f"{tmp_path / 'file'}: made with {{'a': 1}}, this run needs {{'a': 2}}; delete it and rerun"
    )
    rows = corpus_rows(lambda _: tmp_path / "file", [4], {})
    with pytest.raises(ShardError) as e:
        rows.take("id", np.arange(1))
    assert str(e.value) == (f"{tmp_path / 'file'}: has 5 rows, its shard 4; delete it and rerun")


def test_one_batch_is_read_alone_and_one_that_is_not_there_is_told(tmp_path):
    write(tmp_path / "file", np.arange(5), 2)
    assert open_batch(tmp_path / "file", 2)["id"].to_pylist() == [4]
    with pytest.raises(ShardError, match="not a complete Arrow IPC file"):
        open_batch(tmp_path / "file", 3)
