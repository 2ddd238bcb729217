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

from pipelines.errors import ConfigError, InputError
from pipelines.read.arrow import cut_arrow
from pipelines.read.columns import Columns, Piece
from pipelines.read.jsonl import cut_jsonl
from pipelines.read.limits import Limits
from pipelines.read.names import compression_of, format_of
from pipelines.read.parquet import cut_parquet, parquet_rows
from pipelines.read.saved import SavedDataset, belongs_to, find_saved
from pipelines.read.text import group_texts
from pipelines.shard import FailedInput, Input, Plan, ShardFormat, SourceShard
from pipelines.store import InputFile, expand

LOOKERS = 16  # files looked into at a time: on an object store each look waits for the network


class _Source(NamedTuple):
    number: int
    wanted: Input
    in_recipe: bool

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
) -> Plan:
    """Find, inspect and cut all inputs.

    A file that cannot be cut goes to `failed`, and the rest goes on.

    in_recipe: whether whoever named the inputs wrote a recipe, or paths on a command line.

    Raises:
        ConfigError: an input is not there, may not be read, or its format cannot be told.
    """
    limits = limits or Limits()
    shards: list[SourceShard] = []
    failed: list[FailedInput] = []
    files: list[InputFile] = []
    skipped: list[str] = []
    for index, wanted in enumerate(inputs):
        source = _Source(index, wanted, in_recipe)
        mine = _expanded(source)
        selection = _selected(source, mine)
        files += mine
        skipped += selection.skipped
        failed += [_missing(source, path) for path in selection.missing]
        for part in _cut(source, selection.found, shard_bytes, limits):
            (shards if isinstance(part, SourceShard) else failed).append(part)  # type: ignore[arg-type]
    n = len(shards)
    return Plan(
        shards=tuple(replace(s, ordinal=i, key=f"{i:05}-of-{n:05}") for i, s in enumerate(shards)),
        failed=tuple(failed),
        files=tuple(files),
        skipped=tuple(skipped),
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
    found: list[_Found] = []
    if wanted.format is None:
        found = [_Found(f, kind) for f in others if (kind := format_of(f.name)) is not None]
    elif wanted.format != "dataset":
        every = wanted.format == "text"
        alike = [f for f in others if every or format_of(f.name) == wanted.format]
        found = [_Found(f, wanted.format) for f in alike or others]
    if files and not found and not datasets:
        way = "say which in the recipe, as {path: …, format: text}"
        if not source.in_recipe:
            way = "rename them, as NAME.txt for text; see README for the others"
        raise ConfigError(f"{source.where}: {_names(others)} tell no format; {way}")
    # A dataset's files stay together, in its own order, where its folder stands.
    placed = [(f.file.path, f) for f in found]
    placed += [(posixpath.dirname(f.path), _Found(f, "arrow")) for d in chosen for f in d.files]
    taken = {f.file.path for f in found}
    return _Selection(
        found=[f for _, f in sorted(placed, key=itemgetter(0))],
        skipped=[f.path for f in others if f.path not in taken],
        missing=[path for d in chosen for path in d.missing],
    )


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
            return _pieces(item, source.wanted, shard_bytes, limits)
        except InputError as e:
            return e

    with ThreadPoolExecutor(LOOKERS) as pool:
        looks = pool.map(look, [f for f in found if f.format != "text"])
        for kind, run in groupby(found, key=lambda f: f.format):
            if kind == "text":
                yield from _text_shards(source, [f.file for f in run], shard_bytes)
                continue
            for item in run:
                pieces = next(looks)
                if isinstance(pieces, InputError):
                    yield _failed(source, item, pieces)
                else:
                    yield from (_shard(source, item, piece) for piece in pieces)


def _pieces(item: _Found, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    if item.format == "jsonl":
        compression = compression_of(item.file.name)
        return cut_jsonl(
            item.file, wanted, compression=compression, shard_bytes=shard_bytes, limits=limits
        )
    cut: Callable[..., list[Piece]] = cut_parquet if item.format == "parquet" else cut_arrow
    return cut(item.file, wanted, shard_bytes=shard_bytes)


def _shard(source: _Source, item: _Found, piece: Piece) -> SourceShard:
    text, id_, url = piece.columns
    return SourceShard(
        key="",
        ordinal=0,
        input=source.number,
        source=source.wanted.source_name,
        format=item.format,
        paths=(item.file.path,),
        names=(item.file.name,),
        compression=compression_of(item.file.name) if item.format == "jsonl" else None,
        start=piece.start,
        stop=piece.stop,
        first_row=piece.first_row,
        text=text,
        id=id_,
        url=url,
        bytes=piece.bytes,
    )


def _text_shards(
    source: _Source, files: Sequence[InputFile], shard_bytes: int
) -> Iterator[SourceShard]:
    whole = Piece(Columns("text", None, None), 0, None, bytes=0)
    for group in group_texts(files, shard_bytes):
        yield replace(
            _shard(source, _Found(group[0], "text"), whole),
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
