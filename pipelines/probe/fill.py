"""A dataset of random token ids, so large that no cache holds it and no array compresses it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.checkpoints import check_writable
from tokenmill.pipelines.probe.shards import open_dataset, read_json
from tokenmill.pipelines.storage.files import arrow_stream
from tokenmill.pipelines.tokens.dataset import dataset_schema, file_name, write_split
from tokenmill.sizing.units import format_bytes

MARK = "tokenmill probe: random token ids, no text"
SHARD_BYTES = 512_000_000
BATCH_TOKENS = 1 << 20
SEED = 0
ROOM = 1.02  # of the size: other columns and headers, and what a file system keeps for itself


def silent(_: str) -> None:
    """Say nothing of what is being done."""


def fill(
    folder: Path,
    n_bytes: int,
    *,
    width: int,
    seq_len: int,
    tell: Callable[[str], None] = silent,
) -> Path:
    """Write a packed dataset of about `n_bytes`; it can be opened when all of it is written.

    One that an earlier call wrote with the same sizes is taken as it is.

    width: bytes of a token id, 2 or 4.  tell: what is being done, once nothing is wrong with it.

    Raises:
        ConfigError: something else is in the folder, there is no room, or it cannot be written.
    """
    dtype = np.uint16 if width == 2 else np.int32
    rows = max(1, n_bytes // (width * seq_len))
    if is_filler(folder):
        _check_same(folder, rows=rows, width=width, seq_len=seq_len)
        return folder
    _check(folder, n_bytes)
    tell(f"filling {folder} with {format_bytes(n_bytes)} of random token ids")
    shard_rows = max(1, SHARD_BYTES // (width * seq_len))
    files = -(-rows // shard_rows)
    schema = dataset_schema(pa.from_numpy_dtype(dtype), seq_len)
    rng = np.random.default_rng(SEED)
    try:
        for number in range(files):
            some = min(shard_rows, rows - number * shard_rows)
            with arrow_stream(folder / file_name(number, files), schema) as writer:
                for batch in _batches(rng, some, dtype, seq_len, schema):
                    writer.write_batch(batch)
        features = datasets.Features.from_arrow_schema(schema).to_dict()
        write_split(
            folder, "train", files, fingerprint="0" * 16, description=MARK, features=features
        )
    except OSError as e:
        _delete(folder)
        raise ConfigError(f"{folder}: cannot be filled ({e.strerror or e})") from e
    except BaseException:
        _delete(folder)
        raise
    return folder


def remove_filler(folder: Path) -> None:
    """Delete what `fill` wrote, and the folder if nothing else is in it.

    Raises:
        ConfigError: the folder holds another dataset, or cannot be written.
    """
    if not is_filler(folder):
        raise ConfigError(f"{folder}: was not written by --fill; delete it yourself")
    try:
        _delete(folder)
        if not any(folder.iterdir()):
            folder.rmdir()
    except OSError as e:
        raise ConfigError(f"{folder}: cannot be removed ({e.strerror})") from e


def is_filler(folder: Path) -> bool:
    """Whether `fill` wrote the dataset here."""
    info = folder / "dataset_info.json"
    return info.is_file() and read_json(info).get("description") == MARK


def _check_same(folder: Path, *, rows: int, width: int, seq_len: int) -> None:
    there = open_dataset(folder)
    if (there.rows, there.width, there.seq_len) != (rows, width, seq_len):
        raise ConfigError(
            f"{folder}: an earlier --fill wrote {format_bytes(there.bytes)} there, in rows of"
            f" {there.seq_len} ids of {there.width} bytes; ask for the same, or delete the folder"
        )


def _check(folder: Path, n_bytes: int) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: something is there; --fill needs a new or an empty folder")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < n_bytes * ROOM:
        raise ConfigError(
            f"{folder}: {format_bytes(free)} are free, {format_bytes(n_bytes)} were asked for; give"
            " a smaller --fill"
        )
    check_writable(folder, "cannot be written")


def _batches(
    rng: np.random.Generator, rows: int, dtype: type[np.generic], seq_len: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Record batches of random ids as large as those that `prepare` writes."""
    step = max(1, BATCH_TOKENS // seq_len)
    for first in range(0, rows, step):
        some = min(step, rows - first)
        ids = np.frombuffer(rng.bytes(some * seq_len * np.dtype(dtype).itemsize), dtype)
        if ids.dtype == np.int32:
            ids = ids & np.int32(2**31 - 1)  # an id is not negative
        columns = [
            pa.FixedSizeListArray.from_arrays(pa.array(ids), seq_len),
            pa.array(np.arange(first, first + some, dtype=np.uint64)),
            pa.array(np.zeros(some, np.int64)),
        ]
        yield pa.record_batch(columns, schema=schema)


def _delete(folder: Path) -> None:
    """What is a dataset no more first, so that nobody opens half of it."""
    for name in ("state.json", "dataset_info.json"):
        (folder / name).unlink(missing_ok=True)
    for path in folder.glob("data-*-of-*.arrow"):
        path.unlink()
