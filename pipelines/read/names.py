"""What the name of a file tells about its content."""

import posixpath

from tokenmill.pipelines.core.shard import ShardFormat

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
    ".tar": "webdataset",
    ".tgz": "webdataset",
    ".warc": "warc",
    ".wet": "warc",
    ".arc": "warc",
}
_MARKDOWN = (".md", ".markdown")
_IMAGES = frozenset(
    [".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".bmp", ".tif", ".tiff", ".avif", ".ico"]
)
_COMPRESSIONS = {".gz": "gzip", ".tgz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_STREAMED = {"jsonl", "text", "webdataset", "warc"}  # the others compress inside the file
_WEB_COMPRESSIONS = {*_COMPRESSIONS, ".lz4"}


def compression_of(name: str) -> str | None:
    """The compression around the whole file, if there is one.

    >>> compression_of("crawl/part-0.jsonl.zst")
    'zstd'
    """
    return _COMPRESSIONS.get(posixpath.splitext(name.lower())[1])


def fits(name: str, kind: str) -> bool:
    """Whether a file in a folder is read where a recipe names the format.

    >>> fits("docs/index.md", "markdown"), fits("docs/cat.png", "markdown")
    (True, False)
    """
    if kind == "markdown":
        stem, suffix = posixpath.splitext(name.lower())
        return (posixpath.splitext(stem)[1] if suffix in _COMPRESSIONS else suffix) in _MARKDOWN
    return kind == "text" or format_of(name) == kind


def belongs_beside(name: str, kind: str | None) -> bool:
    """Whether a file is there for documents to refer to, and no document itself.

    >>> belongs_beside("docs/cat.png", "markdown"), belongs_beside("docs/cat.png", "text")
    (True, False)
    """
    return kind == "markdown" and posixpath.splitext(name.lower())[1] in _IMAGES


def format_of(name: str) -> ShardFormat | None:
    """The format, or None if the name does not tell.

    >>> format_of("c4-sample.00000-of-00001.json.gz")
    'jsonl'
    >>> format_of("crawl.warc.lz4")
    'warc'
    >>> format_of("LICENSE") is None
    True
    """
    stem, suffix = posixpath.splitext(name.lower())
    if suffix in _WEB_COMPRESSIONS and suffix not in _FORMATS:
        found = _FORMATS.get(posixpath.splitext(stem)[1])
        return found if found in (_STREAMED if suffix in _COMPRESSIONS else {"warc"}) else None
    return _FORMATS.get(suffix)
