"""Keys of 128 bits by which images and texts are the same.

A key is (2,) uint64; one of zeros stands for what has no key, and equals nothing.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from tokenmill.dedup.arrays import U64, Bools
from tokenmill.dedup.same.digest import digests, span_digests
from tokenmill.pipelines.core.config import ALONE, EACH_ONCE
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of

Keys = U64  # (n, 2)
KEY_BYTES = 16
ImageKey = Literal["url", "md5"]
ImageKeys = Annotated[tuple[ImageKey, ...], Field(min_length=1), ALONE, EACH_ONCE]


def has_key(keys: Keys) -> Bools:
    """(n,) whether each of (n, 2) is a key at all."""
    return np.asarray(keys.any(axis=1))


def text_keys(texts: pa.Array) -> Keys:
    """(n, 2) xxh3 of strings; no key for null and the empty one."""
    filled = texts.fill_null("")
    keys = digests(filled, "xxh3").copy()
    keys[np.asarray(pc.equal(filled, ""))] = 0
    return keys


def image_keys(documents: pa.RecordBatch, by: ImageKey) -> Keys:
    """(n_images, 2) of all images of documents (schema ILLUSTRATED), in order."""
    column = documents["images"].flatten().field(by)
    if by == "url":
        return text_keys(column)
    known = np.asarray(column.is_valid())
    filled = column.fill_null(bytes(KEY_BYTES))
    start = filled.offset * KEY_BYTES
    data = np.frombuffer(filled.buffers()[1], np.uint8)[start : start + len(filled) * KEY_BYTES]
    keys: Keys = np.ascontiguousarray(data).view(np.uint64).reshape(-1, 2)
    return np.where(known[:, None], keys, np.uint64(0))


def image_set_keys(documents: pa.RecordBatch, by: ImageKey) -> Keys:
    """(n_docs, 2) xxh3 over each document's images' keys, sorted, each once.

    No key for a document without images, or with one that has none.
    """
    keys, owners = image_keys(documents, by), owners_of(documents)
    order = np.lexsort((keys[:, 1], keys[:, 0], owners))
    keys, owners = keys[order], owners[order]
    again = (keys[1:] == keys[:-1]).all(axis=1) & (owners[1:] == owners[:-1])
    first = np.concatenate((np.ones(min(len(keys), 1), np.bool_), ~again))
    n_each = np.bincount(owners[first], minlength=documents.num_rows)
    ends = np.concatenate(([0], np.cumsum(n_each))).astype(np.int64) * KEY_BYTES
    made = span_digests(keys[first].reshape(-1).view(np.uint8), ends, "xxh3").copy()
    made[counts_of(documents) == 0] = 0
    made[owners[~has_key(keys)]] = 0
    return made


def known(keys_of: Callable[[pa.RecordBatch, ImageKey], Keys], documents: pa.RecordBatch) -> Keys:
    """What `image_keys` or `image_set_keys` tells by MD5, or by URL where there is no key by it."""
    by_md5, by_url = (keys_of(documents, by) for by in ("md5", "url"))
    return np.where(has_key(by_md5)[:, None], by_md5, by_url)
