"""What the name of a file tells about its content."""

import posixpath

from pipelines.shard import ShardFormat

_FORMATS: dict[str, ShardFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".markdown": "text",
    ".rst": "text",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_STREAMED = {"jsonl", "text"}  # the others compress inside the file


def compression_of(name: str) -> str | None:
    """The compression around the whole file, if there is one.

    >>> compression_of("crawl/part-0.jsonl.zst")
    'zstd'
    """
    return _COMPRESSIONS.get(posixpath.splitext(name.lower())[1])


def format_of(name: str) -> ShardFormat | None:
    """The format, or None if the name does not tell.

    >>> format_of("c4-sample.00000-of-00001.json.gz")
    'jsonl'
    >>> format_of("LICENSE") is None
    True
    """
    stem, suffix = posixpath.splitext(name.lower())
    if suffix in _COMPRESSIONS:
        found = _FORMATS.get(posixpath.splitext(stem)[1])
        return found if found in _STREAMED else None
    return _FORMATS.get(suffix)
