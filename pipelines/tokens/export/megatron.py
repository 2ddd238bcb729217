"""Megatron's indexed dataset: `train.bin`, all token ids, and `train.idx`, where documents begin;
with `--by-source` a pair for each source, to be blended. Megatron's `IndexedDataset` opens it by
its prefix, as `tokens/train`.

The .idx, little endian:

    9 bytes   MMIDIDX and two zeros
    uint64    version, 1
    uint8     type of an id: 8 uint16, 4 int32
    uint64    sequences
    uint64    document boundaries: documents + 1
    int32     ids of each sequence
    int64     byte of the .bin where each sequence begins
    int64     sequence at which each document begins, and the number of sequences

Here a document is one sequence. Ids are those of the run, none are added: the recipe says whether
documents end with eos.

Source: IndexedDataset of megatron-core 0.16.1, megatron/core/datasets/indexed_dataset.py.
"""

import contextlib
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.receipt import file_entry
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.tokens.export.exported import File, Hashed, Part
from tokenmill.pipelines.tokens.export.rows import Ids, Tokens, ids_of

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<9sQBQQ")
CODES = {np.dtype(np.uint16): 8, np.dtype(np.int32): 4}
MOST_DOCS = 2**31 - 1  # its loader numbers documents in 32 bits
BLOCK = 1 << 20  # documents whose boundaries are computed at a time
MOST_CHARS = 80  # of a source in a file name
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class Pair:
    """Writes one .bin and its .idx, whose lengths go straight to the disk."""

    def __init__(self, prefix: Path, dtype: np.dtype, files: contextlib.ExitStack) -> None:
        """files: when it ends, the files get their names, .bin before .idx."""
        self.prefix = prefix
        self.docs = self.tokens = 0
        self._dtype = np.dtype(np.uint16 if dtype == np.uint16 else np.int32)
        idx = files.enter_context(atomic_path(prefix.with_name(f"{prefix.name}.idx")))
        bin_ = files.enter_context(atomic_path(prefix.with_name(f"{prefix.name}.bin")))
        self._bin = files.enter_context(Hashed(bin_))
        self._idx = files.enter_context(idx.open("wb+"))
        self._idx.write(self._header())

    def write(self, ids: Ids) -> None:
        """Add documents; ConfigError where the format cannot hold them."""
        values = ids.values.view(self._dtype)
        if len(values) and int(values.min()) < 0:
            raise ConfigError(
                f"{self.prefix.name}: token id {ids.values.max():,} is beyond int32, the widest"
                " type of Megatron; export as mds or parquet"
            )
        lengths = np.diff(ids.ends)
        self.docs += len(lengths)
        self.tokens += len(values)
        if self.docs > MOST_DOCS:
            raise ConfigError(
                f"{self.prefix.name}: more than {MOST_DOCS:,} documents, which Megatron's loader"
                " cannot number; take --by-source, or prepare packed sequences (output.seq_len)"
            )
        self._bin.write(np.ascontiguousarray(values))
        self._idx.write(lengths.astype(np.int32).tobytes())

    def close(self) -> File:
        """Write the rest of both files, which have no names yet; returns the .bin."""
        at = 0
        for first in range(0, self.docs, BLOCK):
            lengths = self._lengths(first)
            starts = at + np.concatenate(([0], np.cumsum(lengths)))
            self._idx.seek(0, 2)
            self._idx.write((starts[:-1] * self._dtype.itemsize).astype(np.int64).tobytes())
            at = int(starts[-1])
        for first in range(0, self.docs + 1, BLOCK):
            stop = min(first + BLOCK, self.docs + 1)
            self._idx.write(np.arange(first, stop, dtype=np.int64).tobytes())
        self._idx.seek(0)
        self._idx.write(self._header())
        return self._bin.entry(f"{self.prefix.name}.bin")

    def _lengths(self, first: int) -> I64:
        self._idx.seek(HEADER.size + 4 * first)
        n = min(BLOCK, self.docs - first)
        return np.frombuffer(self._idx.read(4 * n), np.int32).astype(np.int64)

    def _header(self) -> bytes:
        return HEADER.pack(MAGIC, 1, CODES[self._dtype], self.docs, self.docs + 1)


def write_megatron(
    out: Path, split: str, tokens: Tokens, batches: Iterator[pa.RecordBatch], *, by_source: bool
) -> Part:
    """Write the rows of a split as one pair of files, or one for each of its sources.

    A pair without a token is left out: Megatron cannot open an empty .bin.
    """
    pairs: dict[str | None, Pair] = {}
    with contextlib.ExitStack() as files:
        for batch in batches:
            for source, rows in _by_source(batch) if by_source else ((None, batch),):
                if source not in pairs:
                    prefix = out / (split if source is None else f"{split}-{slug(source)}")
                    pairs[source] = Pair(prefix, tokens.dtype, files)
                pairs[source].write(ids_of(rows))
        bins = [pair.close() for pair in pairs.values()]
    finished: list[File] = []
    for pair, bin_ in zip(pairs.values(), bins, strict=True):
        idx = pair.prefix.with_name(f"{pair.prefix.name}.idx")
        if pair.tokens:
            finished += [bin_, File(*file_entry(out, idx))]
        else:
            for path in (idx, out / bin_.name):
                path.unlink()
    rows, n_tokens = (sum(getattr(p, n) for p in pairs.values()) for n in ("docs", "tokens"))
    return Part(split, tuple(finished), rows, n_tokens)


def slug(source: str) -> str:
    """A source as part of a file name; a changed one ends with eight digits of its digest.

    >>> slug("crawl"), slug("s3://web/2026")
    ('crawl', 's3_web_2026-d7f11106')
    """
    plain = _ODD.sub("_", source)[:MOST_CHARS]
    return plain if plain == source else f"{plain}-{xxhash.xxh3_64_hexdigest(source.encode())[:8]}"


def _by_source(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each source, in the order in which sources come."""
    sources = pc.unique(batch["source"]).to_pylist()
    for source in sources:
        here = batch if len(sources) == 1 else batch.filter(pc.equal(batch["source"], source))
        yield source, here
