"""The formats of inputs: each is a `Reader`, registered by one call.

    file ── Reader.cut ──► pieces, one a shard ── Reader.read ──► ReadBatch, ReadBatch, …

Formats of others are registered by the same call, in a module of theirs that the environment names
(`core.plugins`). Nothing else here or elsewhere asks for a format by its name.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tokenmill.pipelines.core.shard import FORMATS, Input, InputFile, SourceShard
from tokenmill.pipelines.read.arrow import cut_arrow, read_arrow
from tokenmill.pipelines.read.batch import ReadBatch, as_crawled, without_images
from tokenmill.pipelines.read.columns import Piece
from tokenmill.pipelines.read.delimited import cut_csv, cut_tsv, read_delimited
from tokenmill.pipelines.read.images.webdataset import cut_webdataset, read_webdataset
from tokenmill.pipelines.read.jsonl import cut_jsonl, read_jsonl
from tokenmill.pipelines.read.options import Html, Images, Limits, Reading
from tokenmill.pipelines.read.parquet import cut_parquet, parquet_rows, read_parquet
from tokenmill.pipelines.read.stream import COMPRESSIONS
from tokenmill.pipelines.read.text import read_texts

IMAGE_ENDINGS = frozenset(
    [".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".bmp", ".tif", ".tiff", ".avif", ".ico"]
)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How files of a format become documents. A format needs `name`, `endings`, `cut` and `read`.

    name: as recipes say it.
    endings: of file names, in small letters, as ".jsonl". Files in folders are told by them; where
        two formats have one, it tells the one registered first, and the other has to be named.
    cut: the pieces of a file, given what the recipe says of the input, the wanted bytes of a shard
        and limits; it raises InputError for a file that is none of the format. None: each file is
        one document, and small files share a shard.
    read: the batches of a shard, made with `make_batch`: every document in one of them, read or
        failed, numbered from 0.
    compressions: endings that may follow, as ".gz", for compression around the whole file; its
        shards then are ranges of the uncompressed bytes (`read_blocks`).
    any_name: where a recipe names the format, files of any name are read.
    section: of the recipe, without which such files are no inputs.
    samples: the files hold images under keys: ids are unique in a file alone, images can be read
        where they stand, and of several captions the recipe chooses.
    beside: endings of files that documents refer to: no inputs, nor passed over.
    quotes: fields may stand between quotes, and the recipe may say which.
    rows: how many documents a file that cannot be cut has, None where that cannot be known.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[SourceShard, Reading], Iterator[ReadBatch]]
    cut: Callable[[InputFile, Input, int, Limits], list[Piece]] | None = None
    compressions: tuple[str, ...] = ()
    any_name: bool = False
    section: Literal["images", "html"] | None = None
    samples: bool = False
    beside: frozenset[str] = frozenset()
    quotes: bool = False
    rows: Callable[[str], int | None] = lambda _: None

    @property
    def whole(self) -> bool:
        """Whether each file is one document."""
        return self.cut is None

    def tells(self, name: str) -> bool:
        """Whether the name of a file ends as names of this format do."""
        return self.tells_by(_endings(name))

    def tells_by(self, endings: Sequence[str]) -> bool:
        """As `tells`, of a name that has these."""
        return not self._all_endings.isdisjoint(endings)

    @cached_property
    def _all_endings(self) -> set[str]:
        return {e + packed for e in self.endings for packed in ("", *self.compressions)}


def register(reader: Reader) -> None:
    """Let recipes name a format, and endings tell it; ConfigError where another has its name."""
    FORMATS.register(reader.name, reader)


def reader_named(name: str) -> Reader:
    """The reader of a format that the recipe names, or a shard has."""
    reader: Reader = FORMATS[name]
    return reader


def all_readers() -> tuple[Reader, ...]:
    return tuple(FORMATS.values())


def reader_of(name: str, among: Sequence[Reader] | None = None) -> Reader | None:
    """The reader that the name of a file tells, None if it tells none.

    among: all readers, where many names are told.

    >>> reader_of("c4-sample.00000-of-00001.json.gz").name
    'jsonl'
    >>> reader_of("crawl.warc.lz4").name
    'warc'
    >>> reader_of("LICENSE") is None
    True
    """
    endings = _endings(name)
    readers = all_readers() if among is None else among
    return next((reader for reader in readers if reader.tells_by(endings)), None)


def passed_over(paths: Sequence[str], most: int, other_format: Iterable[str] = ()) -> list[str]:
    """Lines that name files of inputs which nothing reads, `most` of each kind, and say why.

    other_format: as in `Plan`.

    >>> print(*passed_over(["a/LICENSE", "a/web.warc.gz", "a/NOTICE"], 1), sep="\\n")
    not read, for their names tell no format: a/LICENSE and 1 more
    not read without html: {} in a recipe: a/web.warc.gz
    """
    by_reason: dict[str, list[str]] = {}
    others = frozenset(other_format)
    for path in paths:
        reader = reader_of(path)
        why = ", for their names tell no format"
        if reader is not None:
            section = None if path in others else reader.section
            if section:
                why = f" without {section}: {{}} in a recipe"
            else:
                why = ", of another format or dataset"
        by_reason.setdefault(why, []).append(path)
    return [
        f"not read{why}: {', '.join(these[:most])}"
        + (f" and {len(these) - most:,} more" if len(these) > most else "")
        for why, these in by_reason.items()
    ]


def _endings(name: str) -> list[str]:
    """The endings of a file name, the longest first.

    >>> _endings("crawl/part-0.JSONL.gz")
    ['.jsonl.gz', '.gz']
    """
    _, *parts = posixpath.basename(name).lower().lstrip(".").split(".")
    return ["." + ".".join(parts[i:]) for i in range(len(parts))]


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
    reason is in `FILE_CAUSES`, or with a page that is cut there (`ReadBatch.damage`).

    images: what is read of images; None where the recipe has none, and documents are text.
    html: how pages are read; None where the recipe reads no web archives.
    run: an identity under which files do not change: the shards of a compressed file, read in
        turn, then share one stream.
    InputError: the file is gone or may not be read.
    OSError: the disk or the network failed; trying again may help.
    """
    batches = reader_named(shard.format).read(shard, Reading(limits, run, images, html))
    if html is not None:
        return map(as_crawled, batches)
    return batches if images is None else map(without_images, batches)


def _cut_warc(file: InputFile, _: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    from tokenmill.pipelines.read.web.warc import cut_warc  # needs tokenmill[web]

    return cut_warc(file, shard_bytes=shard_bytes, limits=limits)


def _read_markdown(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Folders of Markdown: each file a document, with the images it refers to; tiny ones share a
    shard.
    """
    from tokenmill.pipelines.read.images.markdown import read_markdown  # its parser is large

    return read_markdown(shard, how)


def _read_warc(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Web archives: pages of WARC, WET and ARC files, cut between members."""
    from tokenmill.pipelines.read.web.warc import read_warc  # needs tokenmill[web]

    return read_warc(shard, how)


PACKED = tuple(COMPRESSIONS)

for _reader in (
    Reader(
        name="jsonl",
        endings=(".jsonl", ".ndjson", ".json"),
        compressions=PACKED,
        cut=cut_jsonl,
        read=read_jsonl,
    ),
    Reader(
        name="parquet", endings=(".parquet",), cut=cut_parquet, read=read_parquet, rows=parquet_rows
    ),
    Reader(
        name="arrow",
        endings=(".arrow", ".ipc", ".arrows", ".feather"),
        cut=cut_arrow,
        read=read_arrow,
    ),
    *(
        Reader(
            name=name,
            endings=endings,
            compressions=PACKED,
            any_name=True,
            quotes=True,
            cut=cut,
            read=read_delimited,
        )
        for name, endings, cut in (("csv", (".csv",), cut_csv), ("tsv", (".tsv", ".tab"), cut_tsv))
    ),
    Reader(
        name="text",
        endings=(".txt", ".text", ".md", ".markdown", ".rst"),
        compressions=PACKED,
        any_name=True,
        read=read_texts,
    ),
    Reader(
        name="webdataset",
        endings=(".tar", ".tgz"),
        compressions=PACKED,
        cut=cut_webdataset,
        read=read_webdataset,
        section="images",
        samples=True,
    ),
    Reader(
        name="markdown",
        endings=(".md", ".markdown"),
        compressions=PACKED,
        read=_read_markdown,
        section="images",
        beside=IMAGE_ENDINGS,
    ),
    Reader(
        name="warc",
        # how a file is packed is told by its first bytes
        endings=tuple(e + p for e in (".warc", ".wet", ".arc") for p in ("", *PACKED, ".lz4")),
        cut=_cut_warc,
        read=_read_warc,
        section="html",
    ),
):
    register(_reader)
