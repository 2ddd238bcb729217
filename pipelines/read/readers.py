"""The reader of each format."""

from collections.abc import Callable, Iterator

from pipelines.read.arrow import read_arrow
from pipelines.read.batch import ReadBatch
from pipelines.read.jsonl import read_jsonl
from pipelines.read.limits import Limits
from pipelines.read.parquet import read_parquet
from pipelines.read.text import read_texts
from pipelines.shard import ShardFormat, SourceShard

READERS: dict[ShardFormat, Callable[[SourceShard, Limits], Iterator[ReadBatch]]] = {
    "parquet": read_parquet,
    "arrow": read_arrow,
    "text": read_texts,
}


def read_shard(shard: SourceShard, *, limits: Limits, run: str = "") -> Iterator[ReadBatch]:
    """Stream the documents of a shard, in order, in bounded memory.

    Every document of the shard is in one batch, read or failed; the lower half of its id
    counts both. A shard whose file is damaged ends at the damage with a failure whose
    reason is in `FILE_CAUSES` (`ReadBatch.damage`).

    run: an identity under which files do not change: the shards of a compressed file, read in
        turn, then share one stream.

    Raises:
        InputError: the file is gone or may not be read.
        OSError: the disk or the network failed; trying again may help.
    """
    if shard.format == "jsonl":
        return read_jsonl(shard, limits, run)
    return READERS[shard.format](shard, limits)
