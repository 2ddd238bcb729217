"""Keys of 128 bits by which URLs, sets of images, and hosts are the same."""

from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import xxhash

from tokenmill.dedup.digest import span_digests
from tokenmill.pipelines.core.urls import normalized
from tokenmill.pipelines.corpus.counted.steps import SameUrl
from tokenmill.pipelines.filters.images.keys import (
    KEY_BYTES,
    ImageKey,
    Keys,
    has_key,
    image_keys,
    text_keys,
)
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of


def url_keys(urls: pa.Array, step: SameUrl) -> Keys:
    """(n, 2) xxh3 of URLs as the step compares them; no key for null and the empty one."""
    return text_keys(urls if step.url == "exact" else normalized(urls, step.drop_parameters))


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
