"""The reader of each format."""

from collections.abc import Callable, Iterator

from tokenmill.pipelines.core.shard import ShardFormat, SourceShard
from tokenmill.pipelines.read.arrow import read_arrow
from tokenmill.pipelines.read.batch import ReadBatch, without_crawl, without_images
from tokenmill.pipelines.read.images.markdown import read_markdown
from tokenmill.pipelines.read.images.tables import (
    read_illustrated_arrow,
    read_illustrated_jsonl,
    read_illustrated_parquet,
)
from tokenmill.pipelines.read.images.webdataset import read_webdataset
from tokenmill.pipelines.read.jsonl import read_jsonl
from tokenmill.pipelines.read.options import Html, Images, Limits
from tokenmill.pipelines.read.parquet import read_parquet
from tokenmill.pipelines.read.text import read_texts

READERS: dict[ShardFormat, Callable[[SourceShard, Limits], Iterator[ReadBatch]]] = {
    "parquet": read_parquet,
    "arrow": read_arrow,
    "text": read_texts,
}
# Those that read images beside the text, of shards that have some.
ILLUSTRATED_READERS: dict[
    ShardFormat, Callable[[SourceShard, Limits, Images], Iterator[ReadBatch]]
] = {
    "parquet": read_illustrated_parquet,
    "arrow": read_illustrated_arrow,
    "webdataset": read_webdataset,
    "markdown": read_markdown,
}


def read_shard(
    shard: SourceShard,
    *,
    limits: Limits,
    run: str = "",
    images: Images | None = None,
    html: Html | None = None,
) -> Iterator[ReadBatch]:
    """Stream the documents of a shard, in order, in bounded memory.

    Every document of the shard is in one batch, read or failed; the lower half of its id
    counts both. A shard whose file is damaged ends at the damage with a failure whose
    reason is in `FILE_CAUSES` (`ReadBatch.damage`).

    images: what is read of images; None where the recipe has none, and documents are text.
    html: how pages are read; None where the recipe reads no web archives.
    run: an identity under which files do not change: the shards of a compressed file, read in
        turn, then share one stream.

    Raises:
        InputError: the file is gone or may not be read.
        OSError: the disk or the network failed; trying again may help.
    """
    if html is not None:
        return _crawled(shard, limits, run, html)
    if images is not None and shard.format == "jsonl":
        return read_illustrated_jsonl(shard, limits, images, run)
    if images is not None and shard.format in ILLUSTRATED_READERS:
        return ILLUSTRATED_READERS[shard.format](shard, limits, images)
    batches = _texts(shard, limits, run)
    return batches if images is None else map(without_images, batches)


def _texts(shard: SourceShard, limits: Limits, run: str) -> Iterator[ReadBatch]:
    if shard.format == "jsonl":
        return read_jsonl(shard, limits, run)
    return READERS[shard.format](shard, limits)


def _crawled(shard: SourceShard, limits: Limits, run: str, html: Html) -> Iterator[ReadBatch]:
    if shard.format != "warc":
        return map(without_crawl, _texts(shard, limits, run))
    from tokenmill.pipelines.read.web.warc import read_warc  # needs tokenmill[web]

    return read_warc(shard, limits, html)
