"""Keys of 128 bits by which images, sets of them, documents and paragraphs are the same.

A key is (2,) uint64; one of zeros stands for what has no key, and equals nothing.
"""

from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from tokenmill.dedup.digest import digests, span_digests
from tokenmill.pipelines.core.urls import normalized
from tokenmill.pipelines.corpus.counted.steps import ImageKey, SameUrl
from tokenmill.pipelines.filters.images.edit import counts_of, owners_of

Keys = npt.NDArray[np.uint64]  # (n, 2)
KEY_BYTES = 16


def has_key(keys: Keys) -> npt.NDArray[np.bool_]:
    """(n,) whether each of (n, 2) is a key at all."""
    return np.asarray(keys.any(axis=1))


def text_keys(texts: pa.Array) -> Keys:
    """(n, 2) xxh3 of strings; no key for null and the empty one."""
    filled = texts.fill_null("")
    keys = digests(filled, "xxh3").copy()
    keys[np.asarray(pc.equal(filled, ""))] = 0
    return keys


def url_keys(urls: pa.Array, step: SameUrl) -> Keys:
    """(n, 2) xxh3 of URLs as the step compares them; no key for null and the empty one."""
    return text_keys(urls if step.url == "exact" else normalized(urls, step.drop_parameters))


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


def host_keys(urls: pa.Array) -> Keys:
    """(n, 2) of the hosts of URLs, ports included, as `urllib.parse` finds them."""
    hosts = [host_of(url) for url in urls.to_pylist()]
    # another seed than that of paragraphs: one that is a host's name must not undo its key
    made = b"".join(
        xxhash.xxh3_128_digest(host.encode(), seed=1) if host else bytes(KEY_BYTES)
        for host in hosts
    )
    return np.frombuffer(made, np.uint64).reshape(-1, 2)


def host_of(url: str | None) -> str:
    """The host of a URL, and its port; "" where there is none.

    >>> host_of("https://www.example.org:8080/a?b"), host_of("a picture"), host_of("http://[::1")
    ('www.example.org:8080', '', '')
    """
    try:
        return urlsplit(url).netloc if url else ""
    except ValueError:  # brackets of an IPv6 address that do not match, and the like
        return ""
