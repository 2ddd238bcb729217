"""The rows of a benchmark, from wherever it lies, whatever form its makers gave it.

    file, pattern, folder of files, saved `datasets` folder, hf://… --> rows, one a question

A file's name says its format: JSON Lines, JSON, CSV, TSV, Parquet; each may be compressed: .gz,
.bz2, .zst. Besides lists of rows: SQuAD's articles of paragraphs of questions, DROP's passages of
questions, BIG-Bench Hard's {"examples": […]}, MATH's file an item, MMLU's CSV without header,
and others whose first line has a number and a sentence, as MGSM's TSV: their columns are f0, f1, ….
Benchmarks are small (some thousand items): rows are Python objects here, and nowhere else.

Benchmarks on the hub are read with `datasets` into its cache, from where they are read offline.

    hf://openai/gsm8k/main/test                        owner, name, config, split
    hf://allenai/ai2_arc/ARC-Challenge,ARC-Easy/test   several configs, one after the other
    hf://baber/piqa/validation                         the only config
    hf://openai/gsm8k@e53f048/main/test                as it was at a commit, branch or tag

No code of a dataset is run: sets that need it are refused. Configs are named, not found: the
cache does not know whether it has them all.
"""

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv
from pyarrow import fs

from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.places import FILES, within_roots
from tokenmill.pipelines.core.shard import Input, InputFile
from tokenmill.pipelines.read.arrow import check_stream
from tokenmill.pipelines.read.delimited import delimiter_of, uses_quotes
from tokenmill.pipelines.read.parquet import whole_tables
from tokenmill.pipelines.read.weights import in_bounds, made_bytes
from tokenmill.pipelines.storage.bounds import MOST_TIMES, ExpandsError, check_expansion
from tokenmill.pipelines.storage.inputs import expand, is_outage, open_input, resolve, without
from tokenmill.sizing.strict import parse_json

Row = dict[str, Any]

# lists of objects that are the rows: of SQuAD's articles, of their paragraphs, of DROP's passages
NESTED = ("paragraphs", "qas", "qa_pairs")
MOST_CELL_CHARS = 1 << 17  # csv's own limit, which readers of inputs raise for the process
LONGEST_NAME = 40  # characters of a column's name; our choice
_NUMBER = re.compile(r"-?\d[\d.,]*")
MMLU_COLUMNS = ["question", "A", "B", "C", "D", "answer"]
SCHEME = "hf://"
FORM = f"{SCHEME}OWNER/NAME/CONFIG/SPLIT"
_OFFLINE = (
    "load it once where the hub can be reached, with the same HF_HOME,"
    " or download a file of it and name that"
)


class HubSet(NamedTuple):
    """A split of a dataset; config, split: None is the only one.  revision: None is the newest."""

    repo: str
    configs: tuple[str | None, ...]
    split: str | None
    revision: str | None = None


def is_hub(path: str) -> bool:
    return path.startswith(SCHEME) and not path.startswith(FILES)


def parse_hub(path: str) -> HubSet:
    """Read a path of the forms above; ValueError where it is of none of them."""
    owner, *parts = path.removeprefix(SCHEME).split("/")
    if not owner or not 1 <= len(parts) <= 3 or not all(parts):
        raise ValueError(f"is no set on the hub; write {FORM}")
    configs = tuple(parts[1].split(",")) if len(parts) == 3 else (None,)
    name, _, revision = parts[0].partition("@")
    split = parts[-1] if len(parts) > 1 else None
    return HubSet(f"{owner}/{name}", configs, split, revision or None)


def hub_rows(wanted: HubSet) -> list[Row]:
    """The rows of a set on the hub, or of a folder of data files if `repo` is one.

    ValueError: it is not to be had; names the way out.
    OSError: the disk of the cache failed.
    """
    import datasets  # takes 0.6 s, and only those who name a set on the hub need it

    try:
        return [row for config in wanted.configs for row in _rows(wanted, config)]
    except datasets.exceptions.DatasetNotFoundError as e:
        raise ValueError(f"{e}; check the id, or log in with `hf auth login`") from e
    except ConnectionError as e:
        raise ValueError(f"{e}; {_OFFLINE}") from e
    except (OSError, RuntimeError, datasets.exceptions.DatasetsError) as e:
        if is_outage(e):
            raise
        raise ValueError(f"{e}; download a file of it and name that") from e


def _rows(wanted: HubSet, config: str | None) -> list[Row]:
    import datasets

    found = datasets.load_dataset(wanted.repo, config, split=wanted.split, revision=wanted.revision)
    if isinstance(found, dict):
        if len(found) != 1:
            raise ValueError(f"has splits {', '.join(found)}; write {FORM}")
        (found,) = found.values()
    rows: list[Row] = found.with_format("arrow")[:].to_pylist()  # images stay undecoded bytes
    return rows


BLOCK_BYTES = 1024**2
FREE_BYTES = 4 * BLOCK_BYTES  # of a packed file; as Python objects `[],` takes 24 times its bytes
ROW_BYTES = 400  # a row of a few columns, beside its values
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
STATE = "state.json"  # what `Dataset.save_to_disk` leaves beside its shards
SPLITS = "dataset_dict.json"  # what `DatasetDict.save_to_disk` leaves above its splits
# about a dataset, not of it; the hub leaves them in a folder of data files
ABOUT = {STATE, SPLITS, "dataset_info.json", "dataset_infos.json"}


def read_rows(path: str) -> list[Row]:
    """Every row, in the order of the file; files of a folder or pattern are sorted by path.

    InputError: nothing is there.
    ValueError, TypeError: it cannot be read as what its name says.
    OSError: the store cannot be reached, or a file is damaged.
    """
    if is_hub(path):
        return one_a_question(hub_rows(parse_hub(within_roots(path))))
    store, where = resolve(path)
    kind = store.get_file_info(where).type
    if kind == fs.FileType.File:
        return one_a_question(_read_file(path))
    if kind == fs.FileType.Directory and _is_file(store, f"{where}/{STATE}"):
        return one_a_question(_read_saved(path.rstrip("/")))
    if kind == fs.FileType.Directory and _is_file(store, f"{where}/{SPLITS}"):
        path = path.rstrip("/")
        splits = (f"{path}/{split}" for split in _json(f"{path}/{SPLITS}")["splits"])
        raise ValueError(f"has splits; name one: {', '.join(splits)}")
    return one_a_question(_read_files(expand(path)))


def data_files(files: Iterable[InputFile]) -> list[InputFile]:
    """Those of the files of a benchmark whose names say that they hold rows."""
    readable = (f for f in files if _form(f.path) in READERS)
    return [f for f in readable if PurePosixPath(f.path).name not in ABOUT]


def _read_files(files: list[InputFile]) -> list[Row]:
    readable = data_files(files)
    saved = [f.path.removesuffix(f"/{STATE}") for f in files if f.path.endswith(f"/{STATE}")]
    if not readable and saved:
        raise ValueError(f"holds saved datasets; name one: {', '.join(saved)}")
    if not readable:
        raise ValueError(
            f"has no file that ends in {', '.join(READERS)}, and no {STATE};"
            " name a file, or a saved dataset"
        )
    rows: list[Row] = []
    for file in readable:
        try:
            rows += _read_file(file.path)
        except (ValueError, TypeError) as e:
            raise ValueError(f"{file.name}: {e}") from e
    return rows


def _form(path: str) -> str:
    name = PurePosixPath(path)
    return name.with_suffix("").suffix if name.suffix in COMPRESSIONS else name.suffix


def _read_file(path: str) -> list[Row]:
    form = _form(path)
    if form not in READERS:
        raise ValueError(f"cannot tell its format; its name must end in {', '.join(READERS)}")
    compression = COMPRESSIONS.get(PurePosixPath(path).suffix)
    with open_input(path) as file:
        stream = pa.CompressedInputStream(file, compression) if compression else file
        return READERS[form](_whole(stream, file.size()))


def _whole(stream: pa.NativeFile, packed: int) -> bytes:
    """All that a file unpacks to; ExpandsError where that is more than its size allows."""
    data = bytearray()
    while block := stream.read(BLOCK_BYTES):
        data += block
        if len(data) > max(FREE_BYTES, MOST_TIMES * packed):
            raise ExpandsError(
                f"its {packed:,} bytes unpack to over {len(data):,}; unpack it first"
            )
    return bytes(data)


def _made(tables: Iterable[pa.RecordBatch], size: int) -> list[Row]:
    """Rows of tables as Python objects; ExpandsError where `size` bytes may not have so many."""
    rows: list[Row] = []
    made = 0
    for table in tables:
        for part in in_bounds(table, range(table.num_columns)):
            made += part.num_rows * ROW_BYTES + sum(map(made_bytes, part.columns))
            check_expansion(made, size, "a file")
            rows += part.to_pylist()
    return rows


def _read_saved(path: str) -> list[Row]:
    rows: list[Row] = []
    for shard in _json(f"{path}/{STATE}")["_data_files"]:
        with open_input(f"{path}/{shard['filename']}") as file:
            check_stream(file)
            rows += _made(pa.ipc.open_stream(file), file.size())
    return rows


def _is_file(store: fs.FileSystem, where: str) -> bool:
    return bool(store.get_file_info(where).type == fs.FileType.File)


def _json(path: str) -> Any:
    with open_input(path) as file:
        return parse_json(file.read())


def one_a_question(rows: Iterable[Row]) -> list[Row]:
    """Rows of many questions as a row for each, which has what they share too."""
    return [question for row in rows for question in _questions(row)]


def _questions(row: Row) -> Iterator[Row]:
    for key in NESTED:
        parts = _rows_in(row.get(key))
        if not parts or (key == "paragraphs" and "qas" not in parts[0]):
            continue
        shared = {k: v for k, v in row.items() if k != key}
        for part in parts:
            yield from _questions({**shared, **part})
        return
    if not any(row.get(key) == [] for key in NESTED[1:]):  # a passage that nobody asked about
        yield row


def _rows_in(value: Any) -> list[Row]:
    """The rows that a value is a list of; [] if it is anything else."""
    rows: list[Row] = value if isinstance(value, list) else []
    return rows if all(isinstance(row, dict) for row in rows) else []


def read_jsonl(data: bytes) -> list[Row]:
    rows = []
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as e:
            raise ValueError(f"line {number} is not JSON: {e}") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number} is not a JSON object")
        rows.append(row)
    return rows


def read_json(data: bytes) -> list[Row]:
    """A list of objects, an object that holds one, or an item; some such files are JSON Lines."""
    try:
        value = parse_json(data)
    except ValueError as e:
        if str(e).startswith("Extra data"):
            return read_jsonl(data)
        raise ValueError(f"not JSON: {e}") from None
    if isinstance(value, dict):
        return _object(value)
    rows = _rows_in(value)
    if value != rows:
        raise ValueError("is JSON but no list of objects, nor an object that holds one")
    return rows


def _object(value: dict[str, Any]) -> list[Row]:
    parts = list(value.values())
    lists = [part for part in map(_rows_in, parts) if part]
    if len(lists) == 1:
        return lists[0]
    if all(isinstance(part, dict) and "qa_pairs" in part for part in parts):
        return parts
    if not lists and any(isinstance(part, str) for part in parts):
        return [value]
    if parts and not lists and all(isinstance(part, list | dict) for part in parts):
        raise ValueError(
            "is written by columns; write it by rows, in pandas to_json(orient='records')"
        )
    raise ValueError(f"holds {len(lists)} lists of objects; it must hold one list of objects")


def read_parquet(data: bytes) -> list[Row]:
    return _made(whole_tables(pa.BufferReader(data), "it"), len(data))


def read_csv(data: bytes) -> list[Row]:
    mmlu = _headless_mmlu(data)
    if mmlu is not None:
        return mmlu
    delimiter = delimiter_of(data.split(b"\n", 1)[0].decode(errors="replace"), "csv")
    return _cells(data, pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True))


def read_tsv(data: bytes) -> list[Row]:
    quoted = uses_quotes(iter([[data]]), len(data))
    quote = '"' if quoted else False
    return _cells(
        data, pacsv.ParseOptions(delimiter="\t", quote_char=quote, newlines_in_values=quoted)
    )


def _cells(data: bytes, how: pacsv.ParseOptions) -> list[Row]:
    """The rows of a file with a header, or with none if its first line is a row.

    That is where a cell of it is a number and another no name, for it is long or has a space.
    Several numbers that count on, as 1, 2, 3, are names of columns.
    """
    if not data.strip():
        return []

    def read(headless: bool) -> pa.Table:
        named = pacsv.ReadOptions(autogenerate_column_names=headless)
        return pacsv.read_csv(pa.BufferReader(data), parse_options=how, read_options=named)

    table = read(headless=False)
    names = table.column_names
    no_name = any(len(name) > LONGEST_NAME or " " in name for name in names)
    numbers = [int(name) if name.isdecimal() else None for name in names if _NUMBER.fullmatch(name)]
    counts_on = len(numbers) > 1 and numbers == [(numbers[0] or 0) + i for i in range(len(numbers))]
    if no_name and numbers and not counts_on:
        table = read(headless=True)
    return _made(table.to_batches(), len(data))


def _headless_mmlu(data: bytes) -> list[Row] | None:
    """Rows of a CSV as MMLU publishes it, known by its sixth and last column of A to D."""
    rows = []
    try:
        for cells in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")):
            if len(cells) != len(MMLU_COLUMNS) or cells[-1] not in {"A", "B", "C", "D"}:
                return None
            if max(map(len, cells)) > MOST_CELL_CHARS:
                return None
            rows.append(dict(zip(MMLU_COLUMNS, cells, strict=True)))
            check_expansion(len(rows) * ROW_BYTES, len(data), "a file")
    except csv.Error:  # a field over what the process allows
        return None
    return rows


READERS: dict[str, Callable[[bytes], list[Row]]] = {
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".tab": read_tsv,
    ".parquet": read_parquet,
}


def files_of(benchmark: Benchmark) -> list[InputFile]:
    """The files of a benchmark; none of a set on the hub, whose items an index keeps the digest of.

    ConfigError: nothing is there, it may not be read, or the store does not answer.
    """
    if is_hub(benchmark.path):
        return []
    return _files(benchmark.path, f"benchmark {benchmark.name!r}: ")


def check_outside(benchmarks: Iterable[Benchmark], corpus: Iterable[Input]) -> None:
    """Refuse a benchmark that has files in the corpus.

    ConfigError: one has; or a benchmark or a path of the corpus does not exist, or its store
        does not answer.
    """
    read = {
        _real(f.path): f.path
        for given in corpus
        for f in without(_files(given.path), given.exclude, given.path)
    }
    by_benchmark = [(b, [read.get(_real(f.path)) for f in files_of(b)]) for b in benchmarks]
    for benchmark, paths in by_benchmark:
        if inside := [path for path in paths if path is not None]:
            more = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
            raise ConfigError(
                f"benchmark {benchmark.name!r}: {inside[0]}{more} is also read as corpus, which"
                " would find every item; move it out of the corpus, exclude it, or narrow the"
                " corpus to a pattern such as FOLDER/*.parquet"
            )


def _files(path: str, of: str = "") -> list[InputFile]:
    try:
        return expand(path)
    except (InputError, OSError) as e:
        raise ConfigError(f"{of}{e}") from None


def _real(path: str) -> str:
    return path if "://" in path else os.path.realpath(path)
