"""Blocks of a shard end with its lines, and are otherwise those of the whole file."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tokenmill.pipelines.read import stream
from tokenmill.pipelines.read import stream as parked
from tokenmill.pipelines.read.lines import first_byte, read_lines
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.stream import read_blocks

BLOCK, TAIL = 64, 8
COMPRESSED = {None: bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module in (parked, stream):
        monkeypatch.setattr(module, "BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(parked, "KEPT_BYTES", 2 * BLOCK)
    monkeypatch.setattr(stream, "TAIL_BYTES", TAIL)
    monkeypatch.setattr(stream, "GZIP_OUT_BYTES", 24)


def blocks(path: Path, kind, start, stop, run=""):
    return read_blocks(str(path), kind, start=start, stop=stop, limits=Limits(), run=run)


def groups(path, kind, start, stop, *, told):
    """The lines of a shard, as they come; `told`: where it ends, while it is read."""
    of_it = blocks(path, kind, first_byte(start), stop if told else None)
    return list(read_lines(of_it, start=start, stop=stop, max_bytes=1 << 20))


LINES = st.lists(st.integers(0, 200), min_size=1, max_size=20)


@pytest.mark.parametrize("kind", COMPRESSED)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=LINES, cuts=st.lists(st.integers(0, 500), min_size=1, max_size=4))
@example(lengths=[63, 63], cuts=[64])
@example(lengths=[0, 0, 0], cuts=[1, 2])
def test_lines_come_in_the_same_groups_though_less_is_read(tmp_path, kind, lengths, cuts):
    data = b"".join(b"x" * n + b"\n" for n in lengths)
    path = tmp_path / "lines"
    path.write_bytes(COMPRESSED[kind](data))
    ends = [0, *sorted({min(cut, len(data)) for cut in cuts} - {0})]
    for start, stop in pairwise(ends):
        expected = groups(path, kind, start, stop, told=False)
        assert groups(path, kind, start, stop, told=True) == expected


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_shard_does_not_read_the_lines_of_the_next(tmp_path, kind):
    path = tmp_path / "lines"
    path.write_bytes(COMPRESSED[kind](b"12345678\n" * 100))
    block = b"".join(next(blocks(path, kind, 0, 18)))
    most = 18 + 24 if kind == "gzip" else 18 + TAIL
    if kind != "zstd":  # which gives out all of a frame at once
        assert 18 <= len(block) <= most
