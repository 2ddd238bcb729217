"""Kept text: the documents as they went to the tokenizer, a file beside each file of the dataset.

    text/data-00000-of-00002.parquet    or .jsonl.zst; in folders of the splits, as the dataset

A row is a document: id, text, source, url, date, content_type of pages of web archives, what steps
found out about it under names of its own, doc_id, and of a shuffled dataset how many copies of it
there are. Rows stand in the order of the dataset; a packed one has them in that order too, each in
the file in which it begins. Without packing row n of a file is row n of the dataset's.
"""

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from tokenmill.pipelines.core.schema import CRAWLED, DOCUMENT, OF_RUNS, column_type
from tokenmill.pipelines.runs.manifest import TEXT
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.storage.mirror import find, present

LEVEL = 3  # of zstd, for either format
GROUP_BYTES = 1 << 25  # of a row group of Parquet, as it lies in memory
COPIES = pa.field("copies", pa.uint32())  # of a document, in all epochs

Write: TypeAlias = Callable[[pa.RecordBatch], None]


def carried(annotations: Sequence[pa.Field], *, of_pages: bool) -> list[pa.Field]:
    """What token shards have for the text besides what they have anyway."""
    pages = [] if of_pages else [DOCUMENT.field("url")]
    return [DOCUMENT.field("text"), *pages, *(f for f in annotations if f.name != "source")]


def text_schema(annotations: Sequence[pa.Field], *, of_pages: bool, copies: bool) -> pa.Schema:
    """Columns of kept text. copies: it is of a shuffled dataset."""
    names = {f.name for f in annotations}
    return pa.schema(
        [
            DOCUMENT.field("id"),
            DOCUMENT.field("text"),
            pa.field("source", pa.string()),
            DOCUMENT.field("url"),
            CRAWLED.field("date"),  # null where documents are no pages of web archives
            *([CRAWLED.field("content_type")] if of_pages or "content_type" in names else []),
            *(f for f in annotations if f.name not in OF_RUNS),
            DOCUMENT.field("doc_id"),
            *([COPIES] if copies else []),
        ]
    )


def beside(schema: pa.Schema) -> dict[str, str]:
    """What stands beside the text, less what every document has, and of which kind each is."""
    own = {*DOCUMENT.names, COPIES.name}
    return {f.name: column_type(f.type) or "" for f in schema if f.name not in own}


def as_kept(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of kept text from those of a token shard; null what it has no column for."""
    there = set(batch.schema.names)
    columns = [batch[f.name] if f.name in there else pa.nulls(len(batch), f.type) for f in schema]
    return pa.record_batch(columns, schema=schema)


@contextlib.contextmanager
def text_file(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """Write kept text, in the format that the name of the file tells, atomically."""
    opened = _parquet if path.suffix == ".parquet" else _lines
    with atomic_path(path) as partial, opened(partial, schema) as write:
        yield write


def kept_rows(out: Path, **wanted: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of kept text in order, with their split; nothing of a run that kept none.

    out: a run directory, or the folder that mirrors one.  wanted: what columns of theirs are.
    """
    for pattern in ("data-*", "*/data-*"):
        for path in find(out / TEXT, pattern):
            split = "train" if path.parent.name == TEXT else path.parent.name
            for row in rows_of(present(path), **wanted):
                yield split, row


def rows_of(path: Path, **wanted: Any) -> Iterator[dict[str, Any]]:
    """The rows of a file of kept text whose columns are as wanted; times as they are in JSON."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(str(path)) as file:
            for batch in file.iter_batches():
                for name, value in wanted.items():
                    batch = batch.filter(pc.equal(batch[name], value))
                for row in batch.to_pylist():
                    date = row["date"]
                    yield {**row, "date": date and f"{date:%Y-%m-%dT%H:%M:%SZ}"}
        return
    reader = zstandard.ZstdDecompressor()
    with path.open("rb") as file, reader.stream_reader(file) as stream:
        for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n"):
            row = orjson.loads(line)
            if all(row[name] == value for name, value in wanted.items()):
                yield row


@contextlib.contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Write]:
    few = [f.name for f in schema if f.name in ("source", "content_type")]
    held: list[pa.RecordBatch] = []

    def put() -> None:
        table = pa.Table.from_batches(held, schema)
        writer.write_table(table, row_group_size=max(table.num_rows, 1))
        held.clear()

    def write(batch: pa.RecordBatch) -> None:
        held.append(batch)
        if sum(b.nbytes for b in held) >= GROUP_BYTES:
            put()

    with pq.ParquetWriter(
        str(path), schema, compression="zstd", compression_level=LEVEL, use_dictionary=few
    ) as writer:
        yield write
        if held:
            put()


@contextlib.contextmanager
def _lines(path: Path, schema: pa.Schema) -> Iterator[Write]:
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z

    def write(batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            stream.write(orjson.dumps(row, option=options))

    with (
        path.open("wb") as file,
        zstandard.ZstdCompressor(level=LEVEL).stream_writer(file) as stream,
    ):
        yield write
