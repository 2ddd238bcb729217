"""Named arrays in an Arrow IPC file, mapped into memory, refused if made with other parameters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa


def save_arrays(
    path: Path,
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    kind: str,
    parameters: Mapping[str, str],
) -> None:
    """Write arrays of one dimension, each as the only row of a column.

    kind: what the file is, in messages.
    parameters: with which they were made.
    """
    columns = {name: _one_row(array) for name, array in arrays.items()}
    metadata = {_prefix(kind) + key: value for key, value in parameters.items()}
    schema = pa.schema([(name, column.type) for name, column in columns.items()], metadata)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(list(columns.values()), schema=schema))


def load_arrays(
    path: Path, *, kind: str, parameters: Mapping[str, str]
) -> dict[str, npt.NDArray[Any]]:
    """Map the arrays of a file into memory.

    Raises:
        ValueError: the file is of another kind, or was made with other parameters.
        OSError: it cannot be read.
    """
    batch = _read(path, kind)
    stored = {k.decode(): v.decode() for k, v in (batch.schema.metadata or {}).items()}
    for key, expected in parameters.items():
        found = stored.get(_prefix(kind) + key)
        if found != expected:
            raise ValueError(
                f"{path}: {kind} of {key} {found!r}, this run needs {expected!r};"
                " delete it and build it again"
            )
    return {name: batch[name].values.to_numpy() for name in batch.schema.names}


def _prefix(kind: str) -> str:
    return f"tokenmill.{kind.replace(' ', '_')}."


def _one_row(array: npt.NDArray[Any]) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), pa.array(array))


def _read(path: Path, kind: str) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowInvalid, IndexError) as e:
        raise ValueError(
            f"{path}: not a saved {kind} ({e}); delete it and build it again"
        ) from None
