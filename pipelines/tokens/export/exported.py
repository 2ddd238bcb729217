"""The settings of an export, and the journal of the parts that are written."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import xxhash

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, is_remote
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.sizing.strict import parse_json

Format = Literal["megatron", "parquet", "mds"]
FORMATS: tuple[Format, ...] = get_args(Format)
# what the reader of each takes by default; a Parquet file is what the dataset's files are
SHARD_BYTES = {"parquet": 512 * 10**6, "mds": 1 << 26}
MOST_BYTES = {"parquet": 1 << 40, "mds": 2**32 - 1}  # MDS counts bytes of a shard in 32 bits


@dataclass(frozen=True, kw_only=True)
class Export:
    """The settings of an export.

    shard_bytes: of a file, as it is written; 0 where the format has one file for all.
    by_source: a pair of files for each source, for loaders that weigh files.
    tokens_only: of the columns the token ids alone.
    """

    format: Format
    shard_bytes: int
    by_source: bool = False
    tokens_only: bool = False


def check_outside(run: Place, out: Path) -> None:
    """ConfigError where `out` lies inside the run that is to be exported."""
    if not is_remote(run) and out.resolve().is_relative_to(Path(run).resolve()):
        raise ConfigError(f"{out}: lies inside the run {run}; choose another --out")


def asked(
    format: Format,
    *,
    shard_bytes: int | None = None,
    by_source: bool = False,
    tokens_only: bool = False,
) -> Export:
    """An export with the defaults of its format; ConfigError: it has no such setting, or value."""
    if by_source and format != "megatron":
        raise ConfigError(
            f"--by-source is for megatron; in {format} each row has its source in a column"
        )
    if format == "megatron":
        if tokens_only:
            raise ConfigError("--tokens-only: files for megatron hold nothing else; leave it out")
        if shard_bytes is not None:
            raise ConfigError(
                "--shard-bytes is not for megatron, which reads one pair of files for each"
                " dataset; leave it out, or take --by-source"
            )
        return Export(format=format, shard_bytes=0, by_source=by_source)
    size = SHARD_BYTES[format] if shard_bytes is None else shard_bytes
    if not 1 <= size <= MOST_BYTES[format]:
        raise ConfigError(
            f"--shard-bytes {size:,}: a file of {format} has 1 to {MOST_BYTES[format]:,} bytes"
        )
    return Export(format=format, shard_bytes=size, tokens_only=tokens_only)


class File(NamedTuple):
    """A finished file: path below the folder, bytes, and xxh3-128 in hexadecimal."""

    name: str
    bytes: int
    xxh3_128: str


class Part(NamedTuple):
    """Files that are finished together, one or a split's pairs; rows, tokens: in all of them."""

    split: str
    files: tuple[File, ...]
    rows: int
    tokens: int

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Part":
        """Of what `_asdict` tells, once it was JSON."""
        files = tuple(File(*f) for f in data["files"])
        return Part(data["split"], files, data["rows"], data["tokens"])

    def is_there(self, out: Path) -> bool:
        """Whether all its files are there and have their sizes."""
        paths = [(out / f.name, f.bytes) for f in self.files]
        return all(path.is_file() and path.stat().st_size == size for path, size in paths)


class Journal:
    """The finished parts of an export, in order."""

    NAME = "parts.jsonl"

    def __init__(self, out: Path, known: Sequence[Part] | None = None) -> None:
        """known: the finished parts; None to read those that an earlier attempt noted."""
        self._path = out / self.NAME
        known = list(self._read()) if known is None else known
        missing = (i for i, part in enumerate(known) if not part.is_there(out))
        self.parts = list(known[: next(missing, len(known))])
        lines = "".join(json.dumps(part._asdict()) + "\n" for part in self.parts)
        with atomic_path(self._path) as partial:
            partial.write_text(lines, encoding="utf-8")

    def add(self, part: Part) -> None:
        """Note a part whose files are on the disk under their names."""
        with self._path.open("a", encoding="utf-8") as f:
            f.write(json.dumps(part._asdict()) + "\n")
        self.parts.append(part)

    def of(self, split: str) -> list[Part]:
        return [part for part in self.parts if part.split == split]

    def _read(self) -> Iterator[Part]:
        """The parts up to the first line that a kill has torn."""
        if not self._path.is_file():
            return
        for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                yield Part.from_json(parse_json(line))
            except (ValueError, KeyError, TypeError):
                return


class Hashed:
    """A file being written, with its size and digest so far."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._hasher, self._bytes = xxhash.xxh3_128(), 0

    def __enter__(self) -> "Hashed":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> None:
        """data: anything with the buffer protocol, contiguous."""
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._hasher.update(view)
        self._bytes += view.nbytes

    def entry(self, name: str) -> File:
        """What is written so far. name: what it will be called below the folder."""
        return File(name, self._bytes, self._hasher.hexdigest())
