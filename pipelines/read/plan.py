"""From the inputs of a recipe to the shards that stand for them.

    1  find the files of each input and tell their formats
    2  look into each file: columns, row groups, record batches, length
    3  cut, and number the shards by input, path and place

Nothing but inputs and recipe decides the result: not the time, the machine or the workers.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.shard import (
    DATASET,
    RUN,
    EarlierRun,
    FailedInput,
    Input,
    InputFile,
    Plan,
    SourceShard,
    numbered,
)
from tokenmill.pipelines.read.arrow import DATA_FORMAT, SavedDataset, belongs_to, find_saved, strays
from tokenmill.pipelines.read.columns import Columns, Piece
from tokenmill.pipelines.read.images.layouts import UNKNOWN
from tokenmill.pipelines.read.images.webdataset import is_beside, sidecars, unlisted
from tokenmill.pipelines.read.kept import kept_files
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.readers import Reader, all_readers, reader_named, reader_of
from tokenmill.pipelines.read.stream import compression_of
from tokenmill.pipelines.read.text import MOST_POINTER, NO_FILE, group_texts, is_pointer
from tokenmill.pipelines.storage.inputs import expand, is_excluded, patiently, without

LOOKERS = 16  # files looked into at a time: on an object store each look waits for the network
MOST_LOOKS = 64  # of one of them in turn, where there are many files
MOST_SOURCES = 5  # named in a line


class _Source(NamedTuple):
    number: int
    wanted: Input
    in_recipe: bool
    sections: frozenset[str]  # of the recipe, as `Reader.section` names them
    shard_bytes: int
    limits: Limits

    @property
    def place(self) -> str:
        """What messages begin with: where in a recipe it stands, if it stands in one."""
        return f"inputs.{self.number}: " if self.in_recipe else ""

    @property
    def where(self) -> str:
        return f"{self.place}{self.wanted.path}"


class _File(NamedTuple):
    """A file to cut, with the reader of its format."""

    file: InputFile
    reader: Reader
    sidecar: str | None = None


def plan_inputs(
    inputs: Sequence[Input],
    shard_bytes: int,
    *,
    limits: Limits | None = None,
    in_recipe: bool = True,
    images: bool = False,
    html: bool = False,
    against: Sequence[EarlierRun] = (),
    among: Callable[[InputFile], bool] | None = None,
) -> Plan:
    """Find, inspect and cut all inputs.

    A file that cannot be cut goes to `failed`, and the rest goes on.

    in_recipe: whether whoever named the inputs wrote a recipe, or paths on a command line.
    images: whether images are read too; without, tars of samples are no input.
    html: whether pages are; without, web archives are no input.
    against: earlier runs, behind whose shards these are numbered.
    among: which of the files found are read; asked once of each. An input may have none then.
    ConfigError: an input is not there, may not be read, or its format cannot be told.
    """
    sections = frozenset(["images"] * images + ["html"] * html)
    shards: list[SourceShard] = []
    failed: list[FailedInput] = []
    damaged: dict[str, str] = {}
    files: list[InputFile] = []
    skipped: list[str] = []
    other_format: list[str] = []
    idle: list[str] = []
    unread: ConfigError | None = None
    for index, wanted in enumerate(inputs):
        source = _Source(index, wanted, in_recipe, sections, shard_bytes, limits or Limits())
        mine = _expanded(source, idle, may_lack=among is not None)
        chosen, strayed, passed_over, missing = _selected(source, mine)
        passed_over, apart = [*strayed, *passed_over], frozenset(strayed)
        if among is not None:
            mine = [file for file in mine if among(file)]
            read = {file.path for file in mine}
            chosen = [f for f in chosen if f.file.path in read]
            passed_over = [path for path in passed_over if path in read]
        files += mine
        skipped += passed_over
        other_format += [p for p in passed_over if wanted.format or p in apart]
        for path in missing:
            why = f"{path}: named in {path.rpartition('/')[0]}/state.json but not there"
            failed.append(_failed(source, path, InputError(why, cause="not_found")))
        for part in _cut(source, chosen, damaged):
            (shards if isinstance(part, SourceShard) else failed).append(part)  # type: ignore[arg-type]
        if not shards and not unread and wanted.format is None and among is None:
            unread = _of_sections(source, mine)
    if unread and not shards:
        raise ConfigError(f"{unread}; of the others, {failed[0].message}") if failed else unread
    return Plan(
        shards=numbered(shards, first=sum(run.shards for run in against)),
        failed=tuple(failed),
        damaged=damaged,
        files=tuple(files),
        skipped=tuple(skipped),
        other_format=tuple(other_format),
        idle=tuple(idle),
        against=tuple(against),
    )


def texts_from(plan: Plan) -> dict[str, dict[str, int]]:
    """By source, of how many files which column is the text; of files that have columns."""
    found: dict[str, dict[str, int]] = {}
    for shard in {shard.paths[0]: shard for shard in plan.shards}.values():
        if shard.text and _has_columns(reader_named(shard.format)):
            of = found.setdefault(shard.source, {})
            of[shard.text] = of.get(shard.text, 0) + 1
    return found


def unlike(texts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A line that says from where texts are taken, unless all are from columns of one name."""
    sources: dict[str, list[str]] = {}
    for source, columns in texts.items():
        for column in columns:
            sources.setdefault(column, []).append(source)
    told = [
        f"{column} ({', '.join(of[:MOST_SOURCES])}{', …' if len(of) > MOST_SOURCES else ''})"
        for column, of in sources.items()
    ]
    return [f"text is taken from columns {', '.join(told)}"] if len(told) > 1 else []


def list_inputs(inputs: Sequence[Input], *, images: bool = False) -> list[InputFile]:
    """The files of a recipe's inputs, not looked into; ConfigError: missing, or not allowed."""
    sections = frozenset(["images"] * images)
    sources = (_Source(i, of, True, sections, 0, Limits()) for i, of in enumerate(inputs))
    return [file for source in sources for file in _expanded(source, [], may_lack=False)]


def _expanded(source: _Source, idle: list[str], *, may_lack: bool) -> list[InputFile]:
    """The files of an input.  idle: takes up which patterns of `exclude` match none."""
    try:
        path = source.wanted.path
        found = kept_files(path) if source.wanted.format == RUN else expand(path)
        for pattern in source.wanted.exclude:
            if not any(is_excluded(file.name, pattern) for file in found):
                idle.append(f"{source.where}: nothing matches {pattern!r} of exclude")
        found = without(found, source.wanted.exclude, path)
        return found + (unlisted(found) if "images" in source.sections else [])
    except (InputError, OSError) as e:
        if may_lack and isinstance(e, InputError) and e.cause == "not_found":
            return []
        raise ConfigError(f"{source.place}{e}") from None


def _selected(
    source: _Source, files: Sequence[InputFile]
) -> tuple[list[_File], list[str], list[str], list[str]]:
    """Tell the formats: what to cut, what else lies in datasets and in folders, what is lacking."""
    wanted = source.wanted
    datasets = _datasets(source, files) if wanted.format in (None, DATASET) else []
    named = None if wanted.format in (None, DATASET, RUN) else reader_named(wanted.format)
    splits = [d for d in datasets if wanted.split in (None, d.split)]
    others = [f for f in files if not belongs_to(f, datasets)]
    tables = sidecars(others) if "images" in source.sections else {}
    others = [f for f in others if not is_beside(f, tables.values())]
    chosen: list[_File] = []
    if named is not None:
        alike = [f for f in others if named.any_name or named.tells(f.name)]
        chosen = [_File(f, named) for f in alike or others]
    elif wanted.format in (None, RUN):
        readers = all_readers()
        by_name = [(f, reader_of(f.name, readers)) for f in others]
        chosen = [_File(f, r) for f, r in by_name if r is not None and _reads(source, r)]
    if files and not chosen and not datasets:
        raise _no_format(source, others)
    if not all(_reads(source, f.reader) for f in chosen):
        raise _no_section(source, others, chosen[0].reader)
    if wanted.images is not None and "images" not in source.sections:
        raise _no_images(source, others)
    given = {
        "columns": wanted.columns,
        "quote": wanted.quote is not None,
        "header": wanted.header,
        "images": wanted.images is not None,
        "roots": wanted.roots,
    }
    for key, is_given in given.items():
        if is_given and chosen and not any(_has(key, f.reader) for f in chosen):
            why = f"files of format {chosen[0].reader.name} have none; leave it out"
            raise ConfigError(f"{source.place}{key}: {why}")
    data = reader_named(DATA_FORMAT)
    # A dataset's files stay together, in its own order, where its folder stands.
    placed = [(f.file.path, f) for f in chosen]
    placed += [(posixpath.dirname(f.path), _File(f, data)) for d in splits for f in d.files]
    taken = {f.file.path for f in chosen}
    beside = named.beside if named is not None else ()
    return (
        [f._replace(sidecar=tables.get(f.file.path)) for _, f in sorted(placed, key=itemgetter(0))],
        strays(files, datasets),
        [
            f.path
            for f in others
            if f.path not in taken and posixpath.splitext(f.name.lower())[1] not in beside
        ],
        [path for d in splits for path in d.missing],
    )


def _reads(source: _Source, reader: Reader) -> bool:
    return reader.section is None or reader.section in source.sections


def _has_columns(reader: Reader) -> bool:
    return not reader.whole and reader.section != "html"


def _has(key: str, reader: Reader) -> bool:
    """Whether files of a format have what a key of an input is about."""
    if key == "columns":
        return _has_columns(reader)
    if key in ("quote", "header"):
        return reader.quotes
    in_columns = not (reader.whole or reader.quotes or reader.samples) and reader.section is None
    return in_columns or (key == "roots" and bool(reader.beside))


def _no_format(source: _Source, files: Sequence[InputFile]) -> ConfigError:
    if unread := _of_sections(source, files):
        return unread
    way = "say which in the recipe, as {path: …, format: text}"
    if not source.in_recipe:
        way = "rename them, as NAME.txt for text; see README for the others"
    tell = "tells" if len(files) == 1 else "tell"
    return ConfigError(f"{source.where}: {_names(files)} {tell} no format; {way}")


def _of_sections(source: _Source, files: Sequence[InputFile]) -> ConfigError | None:
    """What is wrong where the names of some tell a format whose section the recipe has not."""
    told = [(f, reader) for f in files if (reader := reader_of(f.name)) is not None]
    for section in ("images", "html"):
        those = [(f, r) for f, r in told if r.section == section and not _reads(source, r)]
        if those:
            return _no_section(source, [f for f, _ in those], those[0][1])
    return None


def _no_section(source: _Source, files: Sequence[InputFile], reader: Reader) -> ConfigError:
    if reader.section == "images":
        return _no_images(source, files)
    named = _names([f for f in files if reader.tells(f.name)] or files)
    return ConfigError(f"{source.where}: web archives in {named}; add html: {{}} to the recipe")


def _no_images(source: _Source, files: Sequence[InputFile]) -> ConfigError:
    way = "`prepare` reads them"
    if source.in_recipe:
        way = "add images: {} to the recipe, and a tokenizer"
    return ConfigError(f"{source.where}: images with texts in {_names(files)}; {way}")


def _datasets(source: _Source, files: Sequence[InputFile]) -> list[SavedDataset]:
    """All saved datasets among the files, those of other splits too."""
    wanted = source.wanted
    try:
        datasets = find_saved(files)
    except InputError as e:
        raise ConfigError(f"{source.place}{e}") from None
    splits = sorted({d.split or "" for d in datasets})
    if wanted.format == DATASET and not datasets:
        raise ConfigError(f"{source.where}: no saved dataset, it would have a state.json")
    if wanted.split is not None and wanted.split not in splits:
        there = ", ".join(splits) or "none"
        raise ConfigError(f"{source.where}: no split {wanted.split!r}; there are: {there}")
    return datasets


def _cut(
    source: _Source, chosen: Sequence[_File], damaged: dict[str, str]
) -> Iterator[SourceShard | FailedInput]:
    """Shards and failures of an input, by file; damaged: takes up damaged files, and the cause."""

    def look(item: _File) -> list[Piece] | InputError:
        """Twice where damage is met: it may have been met on the way here alone."""
        found, damage = _looked(source, item)
        if damage:
            found, damage = _looked(source, item)
        if damage and not isinstance(found, InputError):
            damaged[item.file.path] = damage
        return found

    with ThreadPoolExecutor(LOOKERS) as pool:
        alone = [f for f in chosen if not f.reader.whole]
        n = min(len(alone) // (4 * LOOKERS) + 1, MOST_LOOKS)
        parts = [alone[at : at + n] for at in range(0, len(alone), n)]
        looks = chain.from_iterable(pool.map(lambda part: [*map(look, part)], parts))
        several = sum(f.reader.samples for f in chosen) > 1
        for reader, alike in groupby(chosen, key=attrgetter("reader")):
            if reader.whole:
                for group in group_texts([item.file for item in alike], source.shard_bytes):
                    size = sum(f.bytes for f in group)
                    whole = Piece(Columns("text", None, None), 0, None, bytes=size)
                    yield _shard(source, reader, group, whole)
                continue
            for item in alike:
                pieces = _known(source, item.file, next(looks))
                if isinstance(pieces, InputError):
                    path, n_bytes = item.file.path, item.file.bytes
                    yield _failed(source, path, pieces, n_bytes, reader.rows(path))
                else:
                    for piece in pieces:
                        yield _shard(source, reader, [item.file], piece, item.sidecar, several)


def _known(
    source: _Source, file: InputFile, pieces: list[Piece] | InputError
) -> list[Piece] | InputError:
    """A file as it is cut, unless it has images that nobody named in a recipe without."""
    if isinstance(pieces, InputError):
        if pieces.cause == UNKNOWN:
            raise ConfigError(f"{source.place}{pieces}")
        return pieces
    if "images" in source.sections or not pieces or pieces[0].columns.images is None:
        return pieces
    return InputError(str(_no_images(source, [file])), cause="no_images")


def _looked(source: _Source, item: _File) -> tuple[list[Piece] | InputError, str]:
    """A file as it is cut, or why it cannot be; and the cause of damage that was met, or ""."""
    file, cut = item.file, item.reader.cut
    if cut is None:
        return [], ""
    if file.bytes < MOST_POINTER and is_pointer(file.path):
        return InputError(f"{file.path}: {NO_FILE}", cause="lfs_pointer"), "lfs_pointer"
    try:
        how = source.wanted, source.shard_bytes, source.limits
        found = patiently(lambda: cut(file, *how), file.path)
    except InputError as e:
        return e, e.cause
    return found, next((piece.damage for piece in found if piece.damage), "")


def _shard(
    source: _Source,
    reader: Reader,
    files: Sequence[InputFile],
    piece: Piece,
    sidecar: str | None = None,
    several: bool = False,
) -> SourceShard:
    """A piece as a shard.  several: the input has other files of samples, which may share keys."""
    name = files[0].name
    stream = reader.compressions and not reader.whole
    has_captions = piece.columns.images is not None or reader.samples
    return SourceShard(
        input=source.number,
        source=source.wanted.source_name,
        format=reader.name,
        paths=tuple(f.path for f in files),
        names=tuple(f.name for f in files),
        compression=compression_of(name) if stream else None,
        start=piece.start,
        stop=piece.stop,
        first_row=piece.first_row,
        bytes=piece.bytes,
        captions=source.wanted.captions if has_captions else None,
        sidecar=sidecar,
        join=source.wanted.join,
        quote=piece.quote,
        header=source.wanted.header,
        roots=source.wanted.roots,
        columns=tuple(source.wanted.columns.items()),
        prefix=f"{name}/" if several and reader.samples else None,
        **piece.columns._asdict(),
    )


def _failed(
    source: _Source, path: str, error: InputError, n_bytes: int = 0, docs: int | None = None
) -> FailedInput:
    return FailedInput(
        path=path,
        input=source.number,
        source=source.wanted.source_name,
        cause=error.cause,
        message=str(error),
        bytes=n_bytes,
        docs=docs,
    )


def _names(files: Sequence[InputFile]) -> str:
    shown = ", ".join(repr(f.name) for f in files[:3])
    return shown + (f" and {len(files) - 3} more" if len(files) > 3 else "")
