"""Rows of very many sidecars: the ones asked for, whatever is open, and few of them open."""

import errno
import mmap
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import listed
from tests.strategies import examples
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.storage.files import (
    MOST_OPEN,
    Opened,
    Rows,
    arrow_file,
    corpus_rows,
    counted_rows,
    open_batch,
    open_part,
    values,
    whole_file,
    with_parameters,
    with_parts,
)
from tokenmill.pipelines.storage.inputs import OutageError, outage

SCHEMA = with_parameters(
    pa.schema([("id", pa.int64()), ("pair", pa.list_(pa.int64(), 2))]), {"a": 1}
)


def write(path, ids, batch):
    columns = [pa.array(ids), listed(np.column_stack([ids, -ids]))]
    whole = pa.record_batch(columns, schema=SCHEMA)
    with arrow_file(path, SCHEMA) as writer:
        for at in range(0, len(ids), batch):
            writer.write_batch(whole.slice(at, batch))


@settings(max_examples=examples(40), deadline=None)
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
        return Opened([batch], np.array([0, 3]), mmap.mmap(-1, 1), {})

    rows = Rows(np.arange(n + 1) * 3, opening)
    wanted = np.sort(np.random.default_rng(1).choice(3 * n, 500, replace=False))
    assert rows.take("id", wanted).tolist() == wanted.tolist()
    assert opened == sorted(set((wanted // 3).tolist()))
    assert len(rows._open) == MOST_OPEN
    rows.take("id", wanted[-1:])
    assert len(opened) == len(set((wanted // 3).tolist()))


def test_the_file_that_was_used_longest_ago_is_let_go():
    def opening(number):
        return Opened([pa.record_batch({"id": [number]})], np.array([0, 1]), mmap.mmap(-1, 1), {})

    rows = Rows(np.arange(6), opening)
    rows._most = 2
    held = []
    for wanted in (0, 1, 0, 2, 3, 2, 4):
        rows.shard(wanted)
        held.append(sorted(rows._open))
    assert held == [[0], [0, 1], [0, 1], [0, 2], [2, 3], [2, 3], [2, 4]]


def test_rows_may_be_numbered_from_any_on(tmp_path):
    for name in "ab":
        write(tmp_path / name, np.arange(5), 2)
    rows = corpus_rows(lambda n: tmp_path / "ab"[n], [5, 5], {"a": 1}, first=100)
    assert (rows.n, rows.starts.tolist()) == (10, [100, 105, 110])
    assert rows.take("id", np.array([100, 103, 106, 109])).tolist() == [0, 3, 1, 4]
    assert [b.start for b in rows.walk()] == [100, 102, 104, 105, 107, 109]


def test_a_sidecar_of_other_parameters_or_another_number_of_rows_is_refused(tmp_path):
    write(tmp_path / "file", np.arange(5), 2)
    with pytest.raises(ShardError) as e:
        counted_rows([tmp_path / "file"], {"a": 2})
    assert str(e.value) == (
        f"{tmp_path / 'file'}: made with {{'a': 1}}, this run needs {{'a': 2}}; delete it and rerun"
    )
    for n in (4, 6):
        rows = corpus_rows(lambda _: tmp_path / "file", [n], {})
        with pytest.raises(ShardError) as e:
            rows.take("id", np.arange(1))
        told = f"{tmp_path / 'file'}: has 5 rows, its shard {n}; delete it and rerun"
        assert str(e.value) == told


def test_values_of_a_part_of_a_batch_are_of_its_rows(tmp_path):
    write(tmp_path / "file", np.arange(5), 5)
    part = open_batch(tmp_path / "file", 0).slice(1, 3)
    assert values(part, "id").tolist() == [1, 2, 3]
    assert values(part, "pair").tolist() == [[1, -1], [2, -2], [3, -3]]


@pytest.mark.parametrize(
    ("met", "told"),
    [
        (ValueError("no footer"), ShardError),
        (OSError("no footer"), ShardError),
        (OSError(errno.EIO, "Input/output error"), OSError),
        (outage("s3://b/k", "timeout"), OutageError),
    ],
    ids=["ValueError", "OSError", "EIO", "outage"],
)
def test_a_file_is_blamed_for_what_it_holds_and_never_for_an_outage(tmp_path, met, told):
    with pytest.raises(told) as e, whole_file(tmp_path / "file"):
        raise met
    assert isinstance(e.value, ShardError) is (told is ShardError)


def test_one_batch_is_read_alone_and_one_that_is_not_there_is_told(tmp_path):
    write(tmp_path / "file", np.arange(5), 2)
    assert open_batch(tmp_path / "file", 2)["id"].to_pylist() == [4]
    with pytest.raises(ShardError, match="not a complete Arrow IPC file"):
        open_batch(tmp_path / "file", 3)


IN_A_PROCESS = """
import os, sys
from pathlib import Path
import pyarrow as pa
from tokenmill.pipelines.storage.files import arrow_file, open_batch

folder = Path(sys.argv[1])
batch = pa.record_batch({name: pa.array(range(50_000)) for name in "abcd"})

def write(path, compression):
    with arrow_file(path, batch.schema, compression=compression) as writer:
        writer.write_batch(batch)

write(folder / "warm.arrow", None)
before = set(os.listdir("/proc/self/task"))
write(folder / "packed.arrow", "zstd")
assert open_batch(folder / "packed.arrow", 0) == batch
print(len(set(os.listdir("/proc/self/task")) - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_is_packed_and_unpacked_starts_no_thread(tmp_path):
    """Its CPU seconds are the work's own then, and workers have the cores that they are given."""
    asked = [sys.executable, "-c", IN_A_PROCESS, str(tmp_path)]
    assert subprocess.run(asked, check=True, capture_output=True, text=True).stdout == "0\n"


def test_a_part_is_its_batches_and_no_other(tmp_path):
    path, sizes = tmp_path / "a.arrow", (2, 0, 3, 1)
    schema = with_parts(SCHEMA, sizes)
    with arrow_file(path, schema) as writer:
        for number in range(sum(sizes)):
            column = pa.array([number])
            writer.write_batch(pa.record_batch([column, listed(np.array([[1, 2]]))], schema=schema))
    parts = [[batch["id"][0].as_py() for batch in open_part(path, n)] for n in range(len(sizes))]
    assert parts == [[0, 1], [], [2, 3, 4], [5]]
    with pytest.raises(ShardError, match="has 4 parts"):
        open_part(path, 4)
    assert schema.metadata.keys() > SCHEMA.metadata.keys()
