"""Text files: each is one document, tiny ones share a shard."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import InputFile, SourceShard
from tokenmill.pipelines.read.batch import Failure, ReadBatch, make_batch, text_array
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Limits, Reading
from tokenmill.pipelines.read.stream import DamagedError, compression_of, read_blocks

BOM = b"\xef\xbb\xbf"


def group_texts(files: Sequence[InputFile], shard_bytes: int) -> list[list[InputFile]]:
    """Group files, in order, up to `shard_bytes`; a larger one stands alone."""
    groups: list[list[InputFile]] = []
    size = 0
    for file in files:
        if not groups or size + file.bytes > shard_bytes:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.bytes
    return groups


def read_texts(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield each file of the shard as a document; its id is its path below the input's folder."""
    rows: list[int] = []
    texts: list[str] = []
    failures: list[Failure] = []
    held = 0
    for row, (path, name) in enumerate(zip(shard.paths, shard.names, strict=True)):
        found = read_text(path, name, row, compression_of(path), how.limits)
        if isinstance(found, Failure):
            failures.append(found)
        else:
            rows.append(row)
            texts.append(found)
            held += len(found)
        if held >= BATCH_BYTES or len(rows) + len(failures) >= BATCH_DOCS:
            yield _batch(shard, rows, texts, failures)
            rows, texts, failures, held = [], [], [], 0
    if rows or failures:
        yield _batch(shard, rows, texts, failures)


def _batch(
    shard: SourceShard, rows: Sequence[int], texts: Sequence[str], failures: Sequence[Failure]
) -> ReadBatch:
    return make_batch(
        shard.ordinal,
        np.array(rows, np.int64),
        ids=pa.array([shard.names[i] for i in rows], pa.string()),
        urls=None,
        texts=text_array(texts),
        failures=failures,
    )


def read_text(
    path: str, name: str, row: int, compression: str | None, limits: Limits
) -> str | Failure:
    """A whole file as text, or why it is none."""
    data = bytearray()
    try:
        for block in read_blocks(path, compression, limits=limits):
            data += block
            if len(data) > limits.max_document_bytes:
                message = f"over limits.max_document_bytes, {limits.max_document_bytes}"
                return Failure(row, name, "too_large", f"{path}: {message}", len(data))
        return bytes(data).removeprefix(BOM).decode()
    except UnicodeDecodeError as e:
        at = e.start + (len(BOM) if data.startswith(BOM) else 0)
        return Failure(row, name, "invalid_utf8", f"{path} byte {at}: {e.reason}", len(data))
    except DamagedError as e:
        return Failure(row, name, e.cause, f"{path}: {e}", len(data))
    except InputError as e:
        return Failure(row, name, e.cause, str(e))
