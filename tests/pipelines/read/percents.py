"""A format as a contributor writes it: records between lines of `%%`, in files that end in .pct.

    the first record
    %%
    the second

A record belongs to the shard in which its first byte lies; blank ones are no documents.
"""

import contextlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.batch import Failure, ReadBatch, make_batch, text_array
from tokenmill.pipelines.read.columns import Columns, Piece
from tokenmill.pipelines.read.lines import LostLine, read_lines
from tokenmill.pipelines.read.options import BATCH_DOCS, Limits, Reading
from tokenmill.pipelines.read.readers import Reader, register
from tokenmill.pipelines.read.stream import read_blocks

MARK = b"%%"
BEFORE = len(MARK) + 1  # a mark that begins so many bytes before a place ends there


def cut(file: InputFile, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    n = max(1, -(-file.bytes // shard_bytes))
    places = [i * file.bytes // n for i in range(n + 1)]
    columns = Columns("text", None, None)
    return [Piece(columns, a, b, bytes=b - a) for a, b in pairwise(places)]


def read(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    held: list[tuple[int, bytes]] = []
    row = 0
    for record in _records(shard, how.limits):
        held.append(record)
        if len(held) == BATCH_DOCS:
            yield _batch(shard, row, held)
            row, held = row + len(held), []
    if held:
        yield _batch(shard, row, held)


def _records(shard: SourceShard, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """The byte at which each record of the shard begins, and the record."""
    start = max(shard.start - BEFORE, 0)
    blocks = read_blocks(shard.paths[0], None, start=max(start - 1, 0), limits=limits)
    begin = 0 if shard.start == 0 else None  # of the record at hand
    lines: list[bytes] = []
    with contextlib.closing(blocks):
        for item in read_lines(blocks, start=start, stop=None, max_bytes=limits.max_document_bytes):
            group = [] if isinstance(item, LostLine) else item.pairs()
            for offset, line in group:
                if line != MARK:
                    lines.append(line)
                    continue
                if begin is not None and b"".join(lines).strip():
                    yield begin, b"\n".join(lines)
                begin, lines = offset + BEFORE, []
                if shard.stop is not None and begin >= shard.stop:
                    return
    if begin is not None and b"".join(lines).strip():
        yield begin, b"\n".join(lines)


def _batch(shard: SourceShard, row: int, records: list[tuple[int, bytes]]) -> ReadBatch:
    rows: list[int] = []
    ids: list[str] = []
    texts: list[str] = []
    failures: list[Failure] = []
    for number, (begin, record) in enumerate(records, row):
        name = f"{shard.names[0]}#{begin}"
        try:
            text = record.decode()
        except UnicodeDecodeError as e:
            detail = f"{shard.paths[0]} byte {begin + e.start}: {e.reason}"
            failures.append(Failure(number, name, "invalid_utf8", detail, len(record)))
            continue
        rows.append(number)
        ids.append(name)
        texts.append(text)
    return make_batch(
        shard.ordinal,
        np.array(rows, np.int64),
        ids=pa.array(ids, pa.string()),
        urls=None,
        texts=text_array(texts),
        failures=failures,
    )


register(Reader(name="percents", endings=(".pct",), cut=cut, read=read))
