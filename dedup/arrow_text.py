"""The doorway between Arrow text columns and Numba kernels."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class TextBuffers(NamedTuple):
    """UTF-8 bytes of a text column, document `i` at `data[offsets[i]:offsets[i + 1]]`.

    data:    (n_bytes,) uint8, a read-only view of the Arrow buffer, not a copy.
    offsets: (n_docs + 1,) int64.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(n_docs,) int64, bytes of each document."""
        return np.diff(self.offsets)


def text_buffers(column: pa.Array) -> TextBuffers:
    """View an Arrow text column as the two arrays a kernel can walk.

    Slices are honoured: the offsets of `column[10:20]` start where document 10 does.

    Raises:
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
        return TextBuffers(np.empty(0, np.uint8), np.zeros(1, np.int64))
    ends = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    view = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return TextBuffers(view, ends.astype(np.int64, copy=False))
