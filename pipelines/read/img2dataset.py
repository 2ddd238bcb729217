"""What img2dataset tells beside its tars: the rows whose image it could not get.

    00000.tar  00000.parquet  00000_stats.json

The tar is what is read. Its sidecar has a row for each URL asked for, and those without success are
in no tar: each is a document that failed.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from tokenmill.pipelines.read.illustrated import Found, Lost, Page
from tokenmill.pipelines.read.parquet import parquet_tables
from tokenmill.pipelines.read.references import Place
from tokenmill.pipelines.read.stream import DamagedError
from tokenmill.pipelines.read.table import strings
from tokenmill.pipelines.shard import SourceShard
from tokenmill.pipelines.store import InputFile, files_among

NOT_DOWNLOADED = "not_downloaded"
STATUS, SUCCESS, ERROR = "status", "success", "error_message"
COLUMNS = ("key", "url", STATUS, ERROR)
TARS = (".tar.gz", ".tgz", ".tar")
SHOWN = 200


def sidecars(files: Sequence[InputFile]) -> dict[str, str]:
    """Those among the files that stand beside tars of the same name, by the tars' paths."""
    paths = {f.path for f in files}
    return {tar: table for tar, table in _tables(files).items() if table in paths}


def unlisted(files: Sequence[InputFile]) -> list[InputFile]:
    """Sidecars of tars among the files that no pattern named, as `*.tar` does not."""
    paths = {f.path for f in files}
    return files_among([table for table in _tables(files).values() if table not in paths])


def is_beside(file: InputFile, tables: Collection[str]) -> bool:
    """Whether a file is a sidecar, or the account that img2dataset leaves beside it."""
    stem = file.path.removesuffix("_stats.json")
    return file.path in tables or (stem != file.path and f"{stem}.parquet" in tables)


def with_missing(pages: Iterable[Page], shard: SourceShard) -> Iterator[Page]:
    """The documents of a tar, and behind them those that its sidecar says it does not have."""
    row = 0
    for page in pages:
        yield page
        row = page.row + 1
    if shard.sidecar is None:
        return
    try:
        for page in _missing(shard, shard.sidecar, row):
            yield page
            row += 1
    except DamagedError as e:
        name = posixpath.basename(shard.sidecar)
        yield Page(row, name, lost=Lost(e.cause, f"{shard.sidecar}: {e}"))


def not_downloaded(row: dict[str, Any], where: str) -> Lost | None:
    """Why there is no image in a row of img2dataset's, if it says so."""
    status = row.get(STATUS)
    if not isinstance(status, str) or status == SUCCESS:
        return None
    return Lost(NOT_DOWNLOADED, f"{where}: {status}: {str(row.get(ERROR) or 'no message')[:SHOWN]}")


def missing_page(row: int, id_: str, place: Place, url: str | None, lost: Lost) -> Page:
    """A document of which there is no more than an address."""
    return Page(row, id_, url=url, images=[Found(*place, url, lost=lost)], lost=lost)


def _missing(shard: SourceShard, sidecar: str, row: int) -> Iterator[Page]:
    table_number = 0
    for table in parquet_tables(sidecar, list(COLUMNS)):
        names = table.schema.names
        columns = {n: strings(table[n]).to_pylist() for n in COLUMNS if n in names}
        for i, values in enumerate(zip(*columns.values(), strict=True)):
            said = dict(zip(columns, values, strict=True))
            where = f"{sidecar} row {table_number + i}"
            lost = not_downloaded(said, where)
            if lost is None:
                continue
            place = Place(f"{posixpath.basename(sidecar)}#{table_number + i}", where)
            key = said.get("key")
            own = place.path if key is None else f"{shard.prefix or ''}{key}"
            yield missing_page(row, own, place, said.get("url"), lost)
            row += 1
        table_number += table.num_rows


def _tables(files: Sequence[InputFile]) -> dict[str, str]:
    """What the sidecars of tars are called, by the tars' paths."""
    stems = {f.path: _stem(f.path) for f in files}
    return {tar: f"{stem}.parquet" for tar, stem in stems.items() if stem is not None}


def _stem(path: str) -> str | None:
    suffix = next((s for s in TARS if path.lower().endswith(s)), None)
    return None if suffix is None else path[: -len(suffix)]
