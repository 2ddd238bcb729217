"""The compression around a file, told by its name."""

import posixpath

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}


def compression_of(name: str) -> str | None:
    """The compression around the whole file, if there is one.

    >>> compression_of("crawl/part-0.jsonl.zst"), compression_of("photos.tgz")
    ('zstd', 'gzip')
    """
    ending = posixpath.splitext(name.lower())[1]
    return "gzip" if ending == ".tgz" else COMPRESSIONS.get(ending)
