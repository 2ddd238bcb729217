"""Keys of 128 bits by which images and texts are the same.

A key is (2,) uint64; one of zeros stands for what has no key, and equals nothing.
"""

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import U64, Bools
from tokenmill.dedup.same.digest import digests

Keys = U64  # (n, 2)
KEY_BYTES = 16
ImageKey = Literal["url", "md5"]


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
