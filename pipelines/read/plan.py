"""From the inputs of a recipe to the shards that stand for them.

    1  find the files of each input and tell their formats
    2  look into each file: columns, row groups, record batches, length
    3  cut, and number the shards by input, path and place

Nothing but inputs and recipe decides the result: not the time, the machine or the workers.
"""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.shard import (
    EarlierRun,
    FailedInput,
    Input,
    InputFile,
    Plan,
    ShardFormat,
    SourceShard,
    numbered,
)
from tokenmill.pipelines.read.arrow import SavedDataset, belongs_to, cut_arrow, find_saved
from tokenmill.pipelines.read.columns import Columns, Piece
from tokenmill.pipelines.read.images.webdataset import cut_webdataset, is_beside, sidecars, unlisted
from tokenmill.pipelines.read.jsonl import cut_jsonl
from tokenmill.pipelines.read.names import belongs_beside, compression_of, fits, format_of
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.parquet import cut_parquet, parquet_rows
from tokenmill.pipelines.read.text import group_texts
from tokenmill.pipelines.storage.inputs import expand
from tokenmill.pipelines.storage.retry import patiently

ILLUSTRATED: frozenset[ShardFormat | None] = frozenset({"webdataset", "markdown"})  # have images
WHOLE = frozenset({"text", "markdown"})  # each file is one document
STREAMED = frozenset({"jsonl", "webdataset"})  # the others compress inside the file, if at all
LOOKERS = 16  # files looked into at a time: on an object store each look waits for the network


class _Source(NamedTuple):
    number: int
    wanted: Input
    in_recipe: bool
    with_images: bool
    with_html: bool

    @property
    def place(self) -> str:
        """What messages begin with: where in a recipe it stands, if it stands in one."""
        return f"inputs.{self.number}: " if self.in_recipe else ""

    @property
    def where(self) -> str:
        return f"{self.place}{self.wanted.path}"


class _Found(NamedTuple):
    """A file to cut, with the format to read it as."""

    file: InputFile
    format: ShardFormat
    sidecar: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Selection:
    """What is to be read of an input's files, and what is not."""

    found: list[_Found]
    skipped: list[str]
    missing: list[str]


def plan_inputs(
    inputs: Sequence[Input],
    shard_bytes: int,
    *,
    limits: Limits | None = None,
    in_recipe: bool = True,
    images: bool = False,
    html: bool = False,
    against: Sequence[EarlierRun] = (),
) -> Plan:
    """Find, inspect and cut all inputs.

    A file that cannot be cut goes to `failed`, and the rest goes on.

    in_recipe: whether whoever named the inputs wrote a recipe, or paths on a command line.
    images: whether images are read too; without, tars of samples are no input.
    html: whether pages are; without, web archives are no input.
    against: earlier runs, behind whose shards these are numbered.

    Raises:
        ConfigError: an input is not there, may not be read, or its format cannot be told.
    """
    limits = limits or Limits()
    shards: list[SourceShard] = []
    failed: list[FailedInput] = []
    files: list[InputFile] = []
    skipped: list[str] = []
    for index, wanted in enumerate(inputs):
        source = _Source(index, wanted, in_recipe, images, html)
        mine = _expanded(source)
        mine += unlisted(mine) if images else []
        selection = _selected(source, mine)
        files += mine
        skipped += selection.skipped
        failed += [_missing(source, path) for path in selection.missing]
        for part in _cut(source, selection.found, shard_bytes, limits):
            (shards if isinstance(part, SourceShard) else failed).append(part)  # type: ignore[arg-type]
    return Plan(
        shards=numbered(shards, first=sum(run.shards for run in against)),
        failed=tuple(failed),
        files=tuple(files),
        skipped=tuple(skipped),
        against=tuple(against),
    )


def _expanded(source: _Source) -> list[InputFile]:
    try:
        return expand(source.wanted.path)
    except (InputError, OSError) as e:
        raise ConfigError(f"{source.place}{e}") from None


def _selected(source: _Source, files: Sequence[InputFile]) -> _Selection:
    """Tell the formats; inside a folder or pattern, leave out what is no input."""
    wanted = source.wanted
    datasets = _datasets(source, files) if wanted.format in (None, "dataset") else []
    chosen = [d for d in datasets if wanted.split in (None, d.split)]
    others = [f for f in files if not belongs_to(f, datasets)]
    tables = sidecars(others) if source.with_images else {}
    others = [f for f in others if not is_beside(f, tables.values())]
    found: list[_Found] = []
    if wanted.format is None:
        kinds = [(f, _format_of(source, f)) for f in others]
        found = [_Found(f, kind) for f, kind in kinds if kind is not None]
    elif wanted.format != "dataset":
        alike = [f for f in others if fits(f.name, wanted.format)]
        found = [_Found(f, wanted.format) for f in alike or others]
    if files and not found and not datasets:
        raise _no_format(source, others)
    illustrated = wanted.images is not None or any(f.format in ILLUSTRATED for f in found)
    if illustrated and not source.with_images:
        raise _no_images(source, others)
    if wanted.format == "warc" and not source.with_html:
        raise _no_html(source, others)
    # A dataset's files stay together, in its own order, where its folder stands.
    placed = [(f.file.path, f) for f in found]
    placed += [(posixpath.dirname(f.path), _Found(f, "arrow")) for d in chosen for f in d.files]
    taken = {f.file.path for f in found}
    return _Selection(
        found=[
            f._replace(sidecar=tables.get(f.file.path))
            for _, f in sorted(placed, key=itemgetter(0))
        ],
        skipped=[
            f.path
            for f in others
            if f.path not in taken and not belongs_beside(f.name, wanted.format)
        ],
        missing=[path for d in chosen for path in d.missing],
    )


def _format_of(source: _Source, file: InputFile) -> ShardFormat | None:
    """The format of a file to read, told by its name."""
    kind = format_of(file.name)
    if kind == "warc":
        return kind if source.with_html else None
    return kind if source.with_images or kind not in ILLUSTRATED else None


def _no_format(source: _Source, files: Sequence[InputFile]) -> ConfigError:
    if any(format_of(f.name) in ILLUSTRATED for f in files):
        return _no_images(source, files)
    if any(format_of(f.name) == "warc" for f in files):
        return _no_html(source, files)
    way = "say which in the recipe, as {path: …, format: text}"
    if not source.in_recipe:
        way = "rename them, as NAME.txt for text; see README for the others"
    return ConfigError(f"{source.where}: {_names(files)} tell no format; {way}")


def _no_images(source: _Source, files: Sequence[InputFile]) -> ConfigError:
    way = "add images: {} to the recipe" if source.in_recipe else "`prepare` reads them"
    return ConfigError(f"{source.where}: images with texts in {_names(files)}; {way}")


def _no_html(source: _Source, files: Sequence[InputFile]) -> ConfigError:
    named = _names([f for f in files if format_of(f.name) == "warc"] or files)
    return ConfigError(f"{source.where}: web archives in {named}; add html: {{}} to the recipe")


def _datasets(source: _Source, files: Sequence[InputFile]) -> list[SavedDataset]:
    """All saved datasets among the files, those of other splits too."""
    wanted = source.wanted
    try:
        datasets = find_saved(files)
    except InputError as e:
        raise ConfigError(f"{source.place}{e}") from None
    splits = sorted({d.split or "" for d in datasets})
    if wanted.format == "dataset" and not datasets:
        raise ConfigError(f"{source.where}: no saved dataset, it would have a state.json")
    if wanted.split is not None and wanted.split not in splits:
        there = ", ".join(splits) or "none"
        raise ConfigError(f"{source.where}: no split {wanted.split!r}; there are: {there}")
    return datasets


def _cut(
    source: _Source, found: Sequence[_Found], shard_bytes: int, limits: Limits
) -> Iterator[SourceShard | FailedInput]:
    """Shards and failures of an input, in the order of its files."""

    def look(item: _Found) -> list[Piece] | InputError:
        try:
            args = item, source.wanted, shard_bytes, limits
            return patiently(lambda: _pieces(*args), item.file.path)
        except InputError as e:
            return e

    with ThreadPoolExecutor(LOOKERS) as pool:
        looks = pool.map(look, [f for f in found if f.format not in WHOLE])
        tars = sum(f.format == "webdataset" for f in found)
        for kind, run in groupby(found, key=lambda f: f.format):
            if kind in WHOLE:
                yield from _text_shards(source, list(run), shard_bytes)
                continue
            for item in run:
                pieces = next(looks)
                if isinstance(pieces, InputError):
                    yield _failed(source, item, pieces)
                else:
                    yield from (_shard(source, item, piece, tars > 1) for piece in pieces)


def _pieces(item: _Found, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    if item.format == "jsonl":
        compression = compression_of(item.file.name)
        return cut_jsonl(
            item.file, wanted, compression=compression, shard_bytes=shard_bytes, limits=limits
        )
    if item.format == "webdataset":
        return cut_webdataset(item.file, wanted)
    if item.format == "warc":
        from tokenmill.pipelines.read.web.cut import cut_warc  # needs tokenmill[web]

        return cut_warc(item.file, shard_bytes=shard_bytes, limits=limits)
    cut: Callable[..., list[Piece]] = cut_parquet if item.format == "parquet" else cut_arrow
    return cut(item.file, wanted, shard_bytes=shard_bytes)


def _shard(source: _Source, item: _Found, piece: Piece, several: bool = False) -> SourceShard:
    """A piece as a shard.  several: the input has other tars, whose samples may share keys."""
    text, id_, url, images = piece.columns
    of_images = images is not None or item.format == "webdataset"
    return SourceShard(
        key="",
        ordinal=0,
        input=source.number,
        source=source.wanted.source_name,
        format=item.format,
        paths=(item.file.path,),
        names=(item.file.name,),
        compression=compression_of(item.file.name) if item.format in STREAMED else None,
        start=piece.start,
        stop=piece.stop,
        first_row=piece.first_row,
        text=text,
        id=id_,
        url=url,
        bytes=piece.bytes,
        images=images,
        captions=source.wanted.captions if of_images else None,
        sidecar=item.sidecar,
        prefix=f"{item.file.name}/" if several and item.format == "webdataset" else None,
    )


def _text_shards(
    source: _Source, found: Sequence[_Found], shard_bytes: int
) -> Iterator[SourceShard]:
    whole = Piece(Columns("text", None, None), 0, None, bytes=0)
    for group in group_texts([f.file for f in found], shard_bytes):
        yield replace(
            _shard(source, _Found(group[0], found[0].format), whole),
            paths=tuple(f.path for f in group),
            names=tuple(f.name for f in group),
            bytes=sum(f.bytes for f in group),
        )


def _failed(source: _Source, item: _Found, error: InputError) -> FailedInput:
    return FailedInput(
        path=item.file.path,
        input=source.number,
        source=source.wanted.source_name,
        cause=error.cause,
        message=str(error),
        bytes=item.file.bytes,
        docs=parquet_rows(item.file.path) if item.format == "parquet" else None,
    )


def _missing(source: _Source, path: str) -> FailedInput:
    return FailedInput(
        path=path,
        input=source.number,
        source=source.wanted.source_name,
        cause="not_found",
        message=f"{path}: named in {path.rpartition('/')[0]}/state.json but not there",
        bytes=0,
    )


def _names(files: Sequence[InputFile]) -> str:
    shown = ", ".join(repr(f.name) for f in files[:3])
    return shown + (f" and {len(files) - 3} more" if len(files) > 3 else "")
