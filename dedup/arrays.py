"""Arrays: their types, of Arrow text for kernels, worked on part by part, kept in files."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.abc import MetaPathFinder
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.kernels._jit import F32 as F32
from tokenmill.dedup.kernels._jit import F64 as F64
from tokenmill.dedup.kernels._jit import I32 as I32
from tokenmill.dedup.kernels._jit import I64 as I64
from tokenmill.dedup.kernels._jit import U8 as U8
from tokenmill.dedup.kernels._jit import U16 as U16
from tokenmill.dedup.kernels._jit import U32 as U32
from tokenmill.dedup.kernels._jit import U64 as U64

Bools = npt.NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)

KEYS_PER_BUCKET = 2


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _lists_without_pandas() -> None:
    """Have Arrow look for pandas now, and find none.

    It imports pandas when it first makes an array of a list, to tell whether that is a series:
    0.3 s in each process. Where one is asked for later, as by `to_pandas`, Arrow looks again.
    """
    if "pandas" not in sys.modules:
        hiding = _WithoutPandas()
        sys.meta_path.insert(0, hiding)
        try:
            pa.array([])
        finally:
            sys.meta_path.remove(hiding)


_lists_without_pandas()


def read_only(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """View an input as a C-contiguous, read-only array; copied only if it is not contiguous.

    Numba compiles a kernel once for each combination of writable and read-only arguments:
    seen through this, a memory-mapped file and a fresh array are the same to it.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def power_of_two(least: int) -> int:
    """The least power of two that is at least `least` and 2."""
    return 1 << (max(least, 2) - 1).bit_length()


def shift_of(array: npt.NDArray[Any]) -> np.uint64:
    """By how much to shift a hash right to number the elements of a power-of-two array."""
    return np.uint64(65 - len(array).bit_length())


def order_of(rows: I64) -> I64:
    """What puts (n,) numbers from 0 up in order, equal ones as they stand.

    Number and place are sorted as one: `np.argsort` takes a third longer.
    """
    bits = len(rows).bit_length()
    if int(rows.max(initial=0)) >> (63 - bits):
        return np.argsort(rows, kind="stable")
    together = rows << bits | np.arange(len(rows))
    together.sort()
    order: I64 = together & ((1 << bits) - 1)
    return order


def bucket_starts(hashes: U64) -> I32:
    """(n_buckets + 1,) where buckets of the same first bits begin, a power of two of them.

    hashes: (n,) distinct, ascending; KEYS_PER_BUCKET of them in a bucket at most, on the average.
    """
    n_buckets = power_of_two(-(-len(hashes) // KEYS_PER_BUCKET))
    buckets = hashes >> np.uint64(65 - n_buckets.bit_length())
    counts = np.bincount(buckets.astype(np.int64), minlength=n_buckets)
    return np.append(0, np.cumsum(counts)).astype(np.int32)


def parts(sizes: npt.NDArray[np.int64], most: int) -> Iterator[slice]:
    """Cut rows of such sizes into parts of about `most` in all; a row may have more by itself."""
    begun = (np.cumsum(sizes) - sizes) // most
    starts = np.flatnonzero(np.diff(begun, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(sizes)]):
        yield slice(start, stop)


class TextBuffers(NamedTuple):
    """UTF-8 of a text column, document `i` at `data[offsets[i]:offsets[i + 1]]`; a view of it."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(n_docs,) int64, bytes of each document."""
        return np.diff(self.offsets)

    @property
    def n_bytes(self) -> int:
        return int(self.offsets[-1] - self.offsets[0])


def text_buffers(column: pa.Array) -> TextBuffers:
    """View an Arrow text column as the two arrays a kernel can walk, both read-only.

    Slices are honoured: the offsets of `column[10:20]` start where document 10 does.
    TypeError: `column` is not `string` or `large_string`.
    ValueError: `column` contains nulls; a kernel cannot see them.
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise TypeError(f"expected a string or large_string column, got {column.type}")
    if column.null_count:
        raise ValueError(
            f"text column has {column.null_count} nulls in {len(column)} documents;"
            " fill them with pc.fill_null(column, '') or drop them first"
        )
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    _, offsets, data = column.buffers()
    if len(column) == 0 or offsets is None:
        return TextBuffers(read_only(np.empty(0, np.uint8)), read_only(np.zeros(1, np.int64)))
    ends = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    view = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return TextBuffers(read_only(view), read_only(ends.astype(np.int64, copy=False)))


def large_strings(data: U8, offsets: I64) -> pa.Array:
    """(n_docs,) large_string, a view of both arrays: `text_buffers` gives them back."""
    buffers = pa.py_buffer(offsets), pa.py_buffer(data)
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, *buffers)


@dataclass(frozen=True, eq=False)
class Saved:
    """Arrays of one dimension, which a file keeps; other fields of a subclass are settings."""

    KIND: ClassVar[str]  # what the file is, in messages

    @classmethod
    def parameters(cls, **settings: Any) -> dict[str, str]:
        """What decides the arrays, by name: a file made with others is refused."""
        raise NotImplementedError

    def save(self, path: Path) -> None:
        """Write an Arrow IPC file, which `load` maps into memory."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {n: value for n, value in values.items() if isinstance(value, np.ndarray)}
        made_with = self.parameters(**{n: values[n] for n in values.keys() - arrays.keys()})
        metadata = {self._prefix() + key: value for key, value in made_with.items()}
        columns = [
            pa.LargeListArray.from_arrays(pa.array([0, len(a)], pa.int64()), pa.array(a))
            for a in arrays.values()
        ]
        batch = pa.record_batch(columns, list(arrays)).replace_schema_metadata(metadata)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)

    @classmethod
    def load(cls, path: Path, **settings: Any) -> Self:
        """Map a saved file into memory. settings: the fields that are no arrays.

        ValueError: the file is of another kind, or was made with other parameters.
        OSError: it cannot be read.
        """
        try:
            batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        except (pa.ArrowInvalid, IndexError) as e:
            raise ValueError(
                f"{path}: not a saved {cls.KIND} ({e}); delete it and build it again"
            ) from None
        stored = {k.decode(): v.decode() for k, v in (batch.schema.metadata or {}).items()}
        for key, expected in cls.parameters(**settings).items():
            found = stored.get(cls._prefix() + key)
            if found != expected:
                raise ValueError(
                    f"{path}: {cls.KIND} of {key} {found!r}, this run needs {expected!r};"
                    " delete it and build it again"
                )
        arrays = {name: batch[name].values.to_numpy() for name in batch.schema.names}
        return cls(**settings, **arrays)

    @classmethod
    def _prefix(cls) -> str:
        return f"tokenmill.{cls.KIND.replace(' ', '_')}."
