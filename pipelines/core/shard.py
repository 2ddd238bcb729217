"""Input, shard and plan: what is to be read, in which pieces, in which order.

    Input (recipe)  --plan_inputs-->  Plan: SourceShard, SourceShard, …  --read_shard-->  batches

Shards are numbered by input, then by path, then by place in the file, so that document
ids are ordered as the input is. They depend on the inputs and the recipe alone. Where earlier
runs stand before them, ordinals go on behind theirs, so that ids are of one document in all.
"""

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from tokenmill.pipelines.core.config import Config, FilePath, digest_of
from tokenmill.pipelines.core.plugins import Registry

# The readers of formats, by name: each a `read.readers.Reader`, our own and those of plug-ins.
FORMATS: Registry[Any] = Registry("format", own=("tokenmill.pipelines.read.readers",))
DATASET = "dataset"  # no format of files, but how `datasets` lays out a folder of them
RUN = "run"  # nor this, but the text that a run of prepare kept
ColumnType = Literal["string", "int64", "float64", "bool", "timestamp"]  # see schema.COLUMN_TYPES
ColumnPath = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]{0,127}$")]
Captions = Literal["join", "first", "longest"]
SELDOM = ("texts", "join", "columns", "quote", "header", "roots")  # most shards have none
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1000.0  # a draw tells 2e-10 apart


class Input(Config):
    """One source of documents; its path alone will do where nothing else is to be said.

    path: file, folder or pattern, here or in a store (see `pipelines.storage.inputs`).
    exclude: patterns of files and folders that are left out, of names below the path, as
        "drafts/*.md", or of their last part alone, as "*.bak"; `*` crosses folders. A file that is
        named itself stays.
    source: name of the source in every report; the stem of the path if not given.
    format: told from the names of the files if not given. "arrow" is an Arrow IPC file or
        stream; "dataset" a Hugging Face dataset saved to disk; "text" takes each file as one
        document, whatever its name. "webdataset" are tars of samples, "markdown" documents with
        references to images: both for recipes with `images`. "warc" are web archives (WARC, WET,
        ARC), for recipes with `html`.
        "run", which may be written as `from: run`, takes the text that a finished run kept, or
        the runs of a collection, with all its annotations, and its sources as column `source`.
    split: of a saved dataset with several; all of them, in order, if not given.
    text, id, url: names of the columns, of tars of the fields in .json; common names are looked
        for if not given. A dot leads into a struct or a JSON object, as meta.text, also through
        lists of such, as messages.content: what stands in each, in order. text may name
        several, as [question, answer], of which `join` makes one; what is null or empty is
        passed over. Neighbours through one list, as [turns.human, turns.assistant], take turns.
        Not so of tars, nor beside images.
    join: what is put between the texts of several columns, and of a list, where the column of text
        has lists of them or its path leads through one.
    quote: what stands around fields of CSV and TSV. If not given, '"' of CSV, and of a TSV whose
        beginning is as writers of CSV make it; "", nothing, of others. A file whose quotes are
        named is not doubted where they hold many lines.
    header: names of the columns of CSV and TSV whose first line is a row, as [label, text].
    columns: others that stay with the document as annotations, with their kinds, as
        {topic: string, meta.score: float64}: string, int64, float64, bool, timestamp. A dot in the
        name becomes "_". What is not of its kind is null there, and counted.
    images: name of the column with images: their bytes, structs of bytes and path as `datasets`
        has them, or URLs; or lists of those. None reads text alone.
    roots: folders in which images lie too that are named by paths: those that lead out of the
        input's folder, and those as /img/a.png, which are below one of these.
    captions: what becomes of several captions of one image: joined as lines, or one of them.
    weight: how often a document stands in an epoch of the dataset, on average: 0.25 keeps one in
        four, chosen by id and `output.seed`; 2.5 has each twice, and every other one again.
    """

    path: FilePath
    exclude: tuple[str, ...] = Field((), exclude_if=lambda exclude: not exclude)
    source: str | None = None
    format: str | None = None
    split: str | None = None
    text: str | tuple[str, ...] | None = None
    id: str | None = None
    url: str | None = None
    join: str | None = Field(None, exclude_if=lambda join: join is None)
    quote: Literal['"', "'", ""] | None = Field(None, exclude_if=lambda quote: quote is None)
    header: tuple[str, ...] = Field((), exclude_if=lambda header: not header)
    columns: Mapping[ColumnPath, ColumnType] = Field(
        default_factory=dict, exclude_if=lambda columns: not columns
    )
    images: str | None = None
    roots: tuple[FilePath, ...] = Field((), exclude_if=lambda roots: not roots)
    captions: Captions = "join"
    weight: float = 1.0

    @model_validator(mode="before")
    @classmethod
    def _name_the_source(cls, data: Any) -> Any:
        """Name it by the path as it was written: the dataset must not know where it was made."""
        data = {"path": data} if isinstance(data, str) else data
        if isinstance(data, dict) and "from" in data:
            if data["from"] != RUN or data.get("format", RUN) != RUN:
                raise ValueError("from: run is all that can be said; a format has its own key")
            data = {**{k: v for k, v in data.items() if k != "from"}, "format": RUN}
        if isinstance(data, dict) and isinstance(data.get("path"), str):
            return {**data, "source": data.get("source") or named_by(data["path"])}
        return data

    @field_validator("format")
    @classmethod
    def _is_known(cls, format: str | None) -> str | None:
        if format in (None, DATASET, RUN) or format in FORMATS:
            return format
        *names, last = map(repr, FORMATS)
        raise PydanticCustomError(
            "unknown_format",
            "Input should be {names} or {last}, or {dataset}, or {run}",
            {"names": ", ".join(names), "last": last, "dataset": repr(DATASET), "run": repr(RUN)},
        )

    @field_validator("weight")
    @classmethod
    def _some_of_it(cls, weight: float) -> float:
        if weight == 0:
            raise ValueError("a weight of 0 takes nothing; leave the input out")
        if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            raise ValueError(f"a weight is from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}")
        return weight

    @field_validator("text", mode="before")
    @classmethod
    def _are_names(cls, text: Any) -> Any:
        if not isinstance(text, list | tuple):
            return text
        if not text or not all(isinstance(name, str) for name in text):
            raise ValueError(
                "text is the name of a column, or several names, as [question, answer]"
            )
        return tuple(text) if len(text) > 1 else text[0]

    @model_validator(mode="after")
    def _joins_several(self) -> Self:
        if self.texts and self.images is not None:
            raise ValueError("text of several columns is not read beside images; name one")
        if self.texts and self.join is None:
            raise ValueError(r'say what stands between the columns of text, as join: "\n\n"')
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of text, where several are named."""
        return self.text if isinstance(self.text, tuple) else ()

    @property
    def text_name(self) -> str | None:
        """What the column of text is called, be it made of several."""
        return " + ".join(self.text) if isinstance(self.text, tuple) else self.text

    @property
    def source_name(self) -> str:
        """What the source is called in every report.

        >>> Input(path="s3://bucket/crawl-2024/*.jsonl.zst").source_name
        'crawl-2024'
        >>> Input(path="data/books.jsonl.gz").source_name
        'books'
        >>> Input(path=".").source_name
        'input'
        """
        return self.source or named_by(self.path)


def folder_of(path: str, name: str) -> str:
    """The folder of an input, with its last slash. path, name: of one of its files, or its shard.

    >>> folder_of("data/manuals/en/a.md", "en/a.md")
    'data/manuals/'
    """
    return path.removesuffix(name) if path.endswith(name) else f"{posixpath.dirname(path)}/"


def named_by(path: str) -> str:
    """The last part of a path that is not a pattern, without suffixes."""
    parts = [p for p in path.replace("\\", "/").split("/") if p not in ("", "~", ".", "..")]
    named = [p for p in parts if not any(c in p for c in "*?[")]
    last = named[-1] if named else "input"
    return last.split(".")[0] or last


class InputFile(NamedTuple):
    """A file of the inventory; another size or version means the input has changed.

    path: absolute, or an address.
    name: the path below the folder, or below the part of the pattern without wildcards.
    version: time of the last change, nanoseconds since 1970.
    """

    path: str
    name: str
    bytes: int
    version: int


def versions_of(files: Iterable[InputFile]) -> dict[str, list[int | str]]:
    """What an identity has of files: bytes and version, by path."""
    return {f.path: [f.bytes, str(f.version)] for f in files}


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceShard:
    """A piece of one input file, or several tiny text files.

    key: "00017-of-00256".  ordinal: 17, the upper half of its documents' ids; more by the shards
        of earlier runs, where there are any.
    input: index among the recipe's inputs.  source: that input's name.
    paths, names: the files, and what they are called in documents' ids.
    compression: None, "gzip" or "zstd".
    start, stop: the shard owns what begins in [start, stop); None is the end of the file.
        For "jsonl" lines by byte of the uncompressed file, for "arrow" record batches by
        byte of the file, for "parquet" row groups by number, for "warc" what is packed as one,
        by byte of the file, or records of a file that is not packed; for others as they cut it.
    first_row: number in the file of the shard's first row ("parquet", "arrow").
    text, id, url: names of the columns; unused for "text".
    texts: those that `text` is made of, where these are several.
    join, columns, quote, header, roots: as in `Input`; quote is "" of a TSV without.
    images, captions: as in `Input`; None where there is no such column.
    prefix: what ids begin with, where other tars of the input may have the same keys.
    sidecar: path of the table that img2dataset leaves beside a tar, of what it did not get too.
    bytes: uncompressed size, estimated where only reading would tell.
    """

    format: str
    paths: tuple[str, ...]
    names: tuple[str, ...]
    key: str = ""  # this and its ordinal once shards are numbered
    ordinal: int = 0
    input: int = 0
    source: str = ""
    compression: str | None = None
    start: int = 0
    stop: int | None = None
    first_row: int = 0
    text: str = "text"
    texts: tuple[str, ...] = ()
    id: str | None = None
    url: str | None = None
    bytes: int = 0
    images: str | None = None
    captions: Captions | None = None
    prefix: str | None = None
    sidecar: str | None = None
    join: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    quote: str | None = None
    header: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()

    @property
    def asked(self) -> list[str]:
        """The columns to read, by their paths, each once."""
        texts = self.texts or (self.text,)
        named = [*texts, self.id, self.url, *(path for path, _ in self.columns)]
        return list(dict.fromkeys(path for path in named if path is not None))

    @property
    def chain(self) -> str:
        """Shards of one chain are best read in turn: those of a compressed file; "" is none."""
        return self.paths[0] if self.compression else ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` undoes it."""
        of = {name: getattr(self, name) for name in self.__slots__}
        of |= {"paths": list(self.paths), "names": list(self.names)}
        for name in SELDOM:
            if not of[name] and of[name] != "":
                del of[name]
        return of

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "SourceShard":
        names = ("paths", "names", "texts", "header", "roots")
        several = {name: tuple(data.get(name, ())) for name in names}
        columns = tuple((path, kind) for path, kind in data.get("columns", ()))
        return SourceShard(**{**data, **several, "columns": columns})


def numbered(shards: Sequence[SourceShard], *, first: int) -> tuple[SourceShard, ...]:
    """The shards of a run, in order, with their keys and ordinals from `first` on."""
    n = len(shards)
    return tuple(
        replace(shard, ordinal=first + i, key=shard_key(i, n)) for i, shard in enumerate(shards)
    )


def shard_key(number: int, n: int) -> str:
    return f"{number:05}-of-{n:05}"


def shard_number(key: str) -> int:
    """What `shard_key` made a key of.

    >>> shard_number(shard_key(17, 256))
    17
    """
    return int(key.partition("-")[0])


@dataclass(frozen=True, kw_only=True)
class FailedInput:
    """A file that cannot be cut into shards; the rest goes on.

    cause: as in the ledger.  docs: how many it holds, None where that cannot be known.
    """

    path: str
    input: int
    source: str
    cause: str
    message: str
    bytes: int
    docs: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def with_way(self, way: str) -> "FailedInput":
        """The same with another way out than the recipe, if the column of its text is not found.

        way: where it says NAME the text that could be taken is named, where one was told.
        """
        what, _, told = self.message.rpartition("; ")
        if not what or self.cause not in ("missing_column", "text_not_string"):
            return self
        if named := re.search(r'.*, text: ("(?:[^"\\]|\\.)*"|[^,}]+)', told):
            way = way.replace("NAME", named[1])
        return replace(self, message=f"{what}; {way}")


@dataclass(frozen=True, kw_only=True)
class EarlierRun:
    """A finished run whose documents stand before those of this one; known by its index.

    out: its directory.  digest: of its index.  shards: how many it has; its index has as many
    files for each pass that makes keys.  docs, index_bytes: what the index holds.
    other_steps: its documents came to the last of these passes by other steps than this run's.
    """

    out: Path
    digest: str
    shards: int
    docs: int
    index_bytes: int
    other_steps: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Of its shards, in order."""
        return tuple(shard_key(number, self.shards) for number in range(self.shards))

    def identity(self) -> dict[str, Any]:
        """What of it decides what a run against it makes, as JSON: not where it lies."""
        return {"index": self.digest, "shards": self.shards}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All the work of reading.

    damaged: files that were cut though damage was met, which decided how, and its causes.
    files: what the inputs were when planned, failed ones included.
    skipped: paths found in a folder that nothing reads: their names tell no format, or one that
        needs a section which the recipe has not, or another than their input names, or they lie
        in the folder of a saved dataset that knows nothing of them.
    other_format: those of the last two kinds.
    idle: what inputs exclude that no file of theirs matches, in words.
    against: the runs that stand before, oldest first.
    cut: digest of the shards, where it is known of the same files and they were not cut again.
    """

    shards: tuple[SourceShard, ...]
    failed: tuple[FailedInput, ...] = ()
    damaged: Mapping[str, str] = field(default_factory=dict)
    files: tuple[InputFile, ...] = ()
    skipped: tuple[str, ...] = field(default=())
    other_format: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    against: tuple[EarlierRun, ...] = ()
    cut: str | None = None

    @property
    def read(self) -> list[InputFile]:
        """The files but for those skipped; what one input skips another may read."""
        skips, read = Counter(self.skipped), []
        for file in self.files:
            if skips[file.path]:
                skips[file.path] -= 1
            else:
                read.append(file)
        return read

    def identity(self) -> dict[str, Any]:
        """All of the inputs that decides what a run makes of them, as JSON."""
        return {
            "inputs": versions_of(self.files),
            "failed_inputs": {**self.damaged, **{f.path: f.cause for f in self.failed}},
            "shards": self.cut
            or digest_of(json.dumps(s.to_json(), sort_keys=True) for s in self.shards),
            "against": [run.identity() for run in self.against],
        }
