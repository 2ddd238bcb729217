"""A dataset of random token ids, so large that no cache holds it and no array compresses it."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.probe.medium import Medium, medium_of, read_json
from tokenmill.pipelines.probe.shards import open_dataset, silent
from tokenmill.pipelines.storage.files import arrow_stream
from tokenmill.pipelines.tokens.dataset import dataset_schema, file_name, write_split
from tokenmill.sizing.units import format_bytes

MARK = "tokenmill probe: random token ids, no text"
SHARD_BYTES = 512_000_000
BATCH_TOKENS = 1 << 20
SEED = 0
MARKS = ("state.json", "dataset_info.json")  # the first is the last that is written
SHARD = re.compile(r"data-\d{5,}-of-\d{5,}\.arrow")


def fill(
    folder: Place, n_bytes: int, *, width: int, seq_len: int, tell: Callable[[str], None] = silent
) -> Place:
    """Write a packed dataset of about `n_bytes`; it can be opened when all of it is written.

    One that an earlier call wrote with the same sizes is taken as it is.

    width: bytes of a token id, 2 or 4.  tell: what is being done, once nothing is wrong with it.
    ConfigError: something else is in the folder, there is no room, or it cannot be written.
    """
    medium, rows = medium_of(folder), max(1, n_bytes // (width * seq_len))
    if is_filler(folder):
        there = open_dataset(folder)
        if (there.rows, there.width, there.seq_len) != (rows, width, seq_len):
            raise ConfigError(
                f"{folder}: an earlier --fill wrote {format_bytes(there.bytes)} there, in rows of"
                f" {there.seq_len} ids of {there.width} bytes; ask for the same, or delete the"
                " folder"
            )
        return folder
    medium.check_free(n_bytes)
    tell(f"filling {folder} with {format_bytes(n_bytes)} of random token ids")
    try:
        _write(medium, rows, np.uint16 if width == 2 else np.int32, seq_len)
    except OSError as e:
        _delete(medium)
        raise ConfigError(f"{folder}: cannot be filled ({e.strerror or e})") from e
    except BaseException:
        _delete(medium)
        raise
    return folder


def _write(medium: Medium, rows: int, dtype: type[np.generic], seq_len: int) -> None:
    shard_rows = max(1, SHARD_BYTES // (np.dtype(dtype).itemsize * seq_len))
    files = -(-rows // shard_rows)
    schema = dataset_schema(pa.from_numpy_dtype(dtype), seq_len)
    rng = np.random.default_rng(SEED)
    from datasets import Features  # takes as long as all else that a probe imports

    features = Features.from_arrow_schema(schema).to_dict()
    with medium.written() as there:
        for number in range(files):
            some = min(shard_rows, rows - number * shard_rows)
            path = there / file_name(number, files)
            with arrow_stream(path, schema) as writer:
                for batch in _batches(rng, some, dtype, seq_len, schema):
                    writer.write_batch(batch)
            medium.take(path)
        write_split(
            there, "train", files, fingerprint="0" * 16, description=MARK, features=features
        )
        for name in reversed(MARKS):
            medium.take(there / name)


def remove_filler(folder: Place) -> None:
    """Delete what `fill` wrote, and a folder left empty; ConfigError: another's, or unwritable."""
    if not is_filler(folder):
        raise ConfigError(f"{folder}: was not written by --fill; delete it yourself")
    try:
        _delete(medium_of(folder))
    except OSError as e:
        raise ConfigError(f"{folder}: cannot be removed ({e.strerror or e})") from e


def is_filler(folder: Place) -> bool:
    """Whether `fill` wrote the dataset here."""
    medium, info = medium_of(folder), MARKS[1]
    return medium.holds(info) and read_json(medium, info).get("description") == MARK


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


def _delete(medium: Medium) -> None:
    """What makes it a dataset first, so that nobody opens half of it."""
    shards = [name for name in medium.names() if SHARD.fullmatch(name)]
    for some in (MARKS, shards):
        medium.delete(some)
