"""MDS, the shards of mosaicml-streaming: `train/shard.00000.mds`, …, samples one after the other
behind a table of offsets, and `index.json`; ids are called `tokens`.
`StreamingDataset(local="tokens", split="train")` opens it.

shard.00000.mds, little endian:

    uint32    samples
    uint32    byte of the file where each sample begins, and where the last one ends
    JSON      columns in order of names, their encodings and fixed sizes
    samples   uint32 bytes of each column without a fixed size, then the columns

    tokens     ndarray:uint16, ndarray:uint32 or, packed, ndarray:uint16:2048: one byte for the
               number of dimensions and the type of the shape, the shape, the ids; packed the ids
    doc_id     uint64;  doc_offset  int;  copies_exact, copies_near  uint32
    others     str; empty where it is not known; dates as 2026-11-21T10:00:00.000Z

The files are those that MDSWriter would write of the same samples, byte for byte, with two
exceptions: it refuses a document without tokens, though its reader does not, and it puts an empty
shard before a sample which is larger than a shard.

Source: MDSWriter, JointWriter and NDArray of mosaicml-streaming 0.13.0, streaming/base/format/.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.storage.atomic import atomic_path, write_text
from tokenmill.pipelines.tokens.export.exported import MOST_BYTES, Hashed, Part
from tokenmill.pipelines.tokens.export.rows import Ids, Tokens, ids_of

HASH = "xxh3_128"
ONE_AXIS = 1 << 2  # first byte of an array: dimensions, and in two bits the width of the shape
DATE = "%Y-%m-%dT%H:%M:%SZ"
WIDTHS = {"uint32": 4, "uint64": 8, "int": 8}  # of encodings with a fixed size
BINARY = pa.large_binary()


class Shape:
    """The header of every shard: the columns of its samples."""

    def __init__(self, tokens: Tokens, shard_bytes: int) -> None:
        encodings = {_name(f): _encoding(f, tokens) for f in tokens.schema}
        self.names = sorted(encodings)
        self.encodings = [encodings[name] for name in self.names]
        packed = tokens.seq_len and tokens.seq_len * tokens.dtype.itemsize
        self.sizes = [packed if n == "tokens" else WIDTHS.get(encodings[n]) for n in self.names]
        self.config = {
            "column_encodings": self.encodings,
            "column_names": self.names,
            "column_sizes": self.sizes,
            "compression": None,
            "format": "mds",
            "hashes": [HASH],
            "size_limit": shard_bytes,
            "version": 2,
        }
        self.header = json.dumps(self.config, sort_keys=True).encode()


class Shard:
    """The samples of one shard, until it is written."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._held: list[pa.Array] = []
        self._sizes: list[I64] = []
        self.rows = self.tokens = 0
        self.bytes = 8 + len(shape.header)

    def add(self, samples: pa.Array, sizes: I64, n_tokens: int) -> None:
        """samples: (n,) large_binary.  sizes: (n,) bytes of each.  n_tokens: in all of them."""
        self._held.append(samples)
        self._sizes.append(sizes)
        self.rows += len(samples)
        self.tokens += n_tokens
        self.bytes += int(sizes.sum()) + 4 * len(samples)

    def write(self, out: Path, split: str, number: int) -> Part:
        """Write `shard.00000.mds` of a split below `out`; ConfigError: a sample is too large."""
        if self.bytes > MOST_BYTES["mds"]:
            raise ConfigError(
                f"a document of {self.bytes:,} bytes is beyond {MOST_BYTES['mds']:,}, the most a"
                " shard of mds can hold; prepare with output.seq_len, or export as parquet"
            )
        config = self._shape.header
        starts = np.concatenate(([0], np.cumsum(np.concatenate(self._sizes))))
        starts += 4 + 4 * len(starts) + len(config)
        path = out / split / f"shard.{number:05d}.mds"
        with atomic_path(path) as partial, Hashed(partial) as file:
            file.write(np.uint32(self.rows).tobytes())
            file.write(starts.astype(np.uint32))
            file.write(config)
            for samples in self._held:
                ends = np.asarray(samples.buffers()[1]).view(np.int64)
                first, last = ends[samples.offset], ends[samples.offset + len(samples)]
                file.write(samples.buffers()[2][int(first) : int(last)])
            finished = file.entry(f"{split}/{path.name}")
        return Part(split, (finished,), self.rows, self.tokens)


def write_mds(
    out: Path,
    split: str,
    tokens: Tokens,
    batches: Iterator[pa.RecordBatch],
    *,
    shard_bytes: int,
    first: int,
) -> Iterator[Part]:
    """Write the rows of a split as shards; a part for each. first: number of the first one."""
    shape = Shape(tokens, shard_bytes)
    shard = Shard(shape)
    for batch in batches:
        ids = ids_of(batch)
        samples = encoded(batch, ids, shape)
        sizes = np.diff(np.asarray(samples.buffers()[1]).view(np.int64)[: len(samples) + 1])
        ends = np.cumsum(sizes + 4)
        row = 0
        while row < len(samples):
            before = int(ends[row - 1]) if row else 0
            stop = int(np.searchsorted(ends, before + shard_bytes - shard.bytes, "right"))
            stop = max(stop, row if shard.rows else row + 1)
            if stop > row:
                n_tokens = int(ids.ends[stop] - ids.ends[row])
                shard.add(samples[row:stop], sizes[row:stop], n_tokens)
            if stop < len(samples):
                yield shard.write(out, split, first)
                first, shard = first + 1, Shard(shape)
            row = stop
    if shard.rows:
        yield shard.write(out, split, first)


def write_index(out: Path, split: str, shape: Shape, parts: Sequence[Part]) -> None:
    """Write `index.json`, by which a folder of shards is a dataset."""
    shards = [
        {
            **shape.config,
            "raw_data": {
                "basename": Path(part.files[0].name).name,
                "bytes": part.files[0].bytes,
                "hashes": {HASH: part.files[0].xxh3_128},
            },
            "samples": part.rows,
            "zip_data": None,
        }
        for part in parts
    ]
    index = json.dumps({"shards": shards, "version": 2}, sort_keys=True)
    write_text(out / split / "index.json", index)


def encoded(batch: pa.RecordBatch, ids: Ids, shape: Shape) -> pa.Array:
    """(n_rows,) large_binary: each row as a sample."""
    by_name = {_name(field): batch[field.name] for field in batch.schema}
    columns = [
        _arrays(ids, is_fixed=size is not None) if name == "tokens" else [_values(by_name[name])]
        for name, size in zip(shape.names, shape.sizes, strict=True)
    ]
    open_columns = [c for c, size in zip(columns, shape.sizes, strict=True) if size is None]
    pieces = [piece for column in columns for piece in column]
    if open_columns:
        lengths = [sum(pc.binary_length(p).to_numpy() for p in column) for column in open_columns]
        pieces.insert(0, _binary(np.stack(lengths, axis=1).astype(np.uint32)))
    return pc.binary_join_element_wise(*pieces, pa.scalar(b"", BINARY))


def _name(field: pa.Field) -> str:
    """Of a column; ids are called as llm-foundry, which reads MDS, calls them."""
    return "tokens" if field.name == "input_ids" else str(field.name)


def _encoding(field: pa.Field, tokens: Tokens) -> str:
    if field.name == "input_ids":
        shape = "" if tokens.seq_len is None else f":{tokens.seq_len}"
        return f"ndarray:{tokens.dtype.name}{shape}"
    numbers = {pa.uint32(): "uint32", pa.uint64(): "uint64", pa.int64(): "int"}
    return numbers.get(field.type, "str")


def _values(column: pa.Array) -> pa.Array:
    """A column but tokens, encoded."""
    if pa.types.is_integer(column.type):
        return _binary(column.to_numpy().reshape(-1, 1))
    if pa.types.is_timestamp(column.type):
        column = pc.strftime(column, DATE)
    return pc.fill_null(column, "").cast(pa.large_string()).cast(BINARY)


def _arrays(ids: Ids, *, is_fixed: bool) -> list[pa.Array]:
    """The column tokens, encoded: heads of the arrays where their lengths differ, and ids."""
    ends = ids.ends * ids.values.dtype.itemsize
    data = pa.py_buffer(np.ascontiguousarray(ids.values))
    n = len(ids.ends) - 1
    values = pa.Array.from_buffers(BINARY, n, [None, pa.py_buffer(ends), data])
    if is_fixed:
        return [values]
    lengths = np.diff(ids.ends)
    code = (lengths >= 1 << 8).astype(np.uint8) + (lengths >= 1 << 16)
    heads = np.empty((n, 5), np.uint8)
    heads[:, 0] = ONE_AXIS | code
    heads[:, 1:] = lengths.astype("<u4").view(np.uint8).reshape(n, 4)
    widths = 1 + (1 << code.astype(np.int64))
    head = heads[np.arange(5) < widths[:, None]]
    starts = np.concatenate(([0], np.cumsum(widths)))
    return [
        pa.Array.from_buffers(BINARY, n, [None, pa.py_buffer(starts), pa.py_buffer(head)]),
        values,
    ]


def _binary(rows: npt.NDArray[Any]) -> pa.Array:
    """(n,) large_binary: the bytes of each row of (n, k) numbers."""
    rows = np.ascontiguousarray(rows)
    ends = np.arange(len(rows) + 1, dtype=np.int64) * (rows.itemsize * rows.shape[1])
    return pa.Array.from_buffers(BINARY, len(rows), [None, pa.py_buffer(ends), pa.py_buffer(rows)])
