"""The documents of a finished run as text: those that it kept, or its ids decoded.

    text/data-*         ── as they are ──────────────────────────────┐
    dataset/*.arrow     ── decode, encode again ── same_ids ─────────┴─► train-00000.parquet, …

Ids say what a tokenizer made of a text, not the text. Where it is a byte-level one without a
normalizer, and ids come out the same again, both are the same byte for byte; else nobody knows.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.core.schema import COLUMN_TYPES, DOCUMENT
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import COMPLETE, RUNNING, held, open_run, write_manifest
from tokenmill.pipelines.storage.atomic import write_json
from tokenmill.pipelines.storage.mirror import present, viewed
from tokenmill.pipelines.tokens.export.exported import File, check_outside
from tokenmill.pipelines.tokens.export.rows import batches, ids_of, open_tokens
from tokenmill.pipelines.tokens.options import Output, Tokenizer
from tokenmill.pipelines.tokens.reference import TokenizersReference
from tokenmill.pipelines.tokens.text import COPIES, rows_of, text_file
from tokenmill.pipelines.tokens.tokenize import Engine, load_engine

TextForm = Literal["parquet", "jsonl"]
ENDINGS: Mapping[str, str] = {"parquet": "parquet", "jsonl": "jsonl.zst"}
PACKED_COLUMNS = ("input_ids", "doc_id", "doc_offset")
ROWS = 4096  # that are made at a time
PARTS = ".parts"  # a folder of notes on files that are finished; no loader takes them for data
SHOWN = 10  # ids of documents that did not come out the same
SAME_IDS = pa.field("same_ids", pa.bool_())  # whether the text makes the ids that it was made of
PACKED = pa.schema([DOCUMENT.field("text"), pa.field("doc_id", pa.uint64()), SAME_IDS])
Progress: TypeAlias = Callable[[int, int], None]


class TextReport(TypedDict):
    """What an export of text has.

    exact: the text is byte for byte what went to the tokenizer; None where that is not known.
    other_ids: documents whose text makes other ids; the first of them by id.
    """

    format: str
    path: str
    made_of: Literal["text", "ids"]
    exact: bool | None
    docs: int
    text_bytes: int
    other_ids: int
    first_other_ids: list[str]
    files: list[File]
    bytes: int


def export_text(run: Place, out: Path, form: TextForm, progress: Progress) -> TextReport:
    """Write the documents of a run as text; files that are there already stay.

    ConfigError: the run has not finished, its ids cannot be decoded, or `out` holds something
        else or cannot be written.
    """
    check_outside(run, out)
    with viewed(run) as folder:
        manifest = prepared_run(folder)
        if manifest["status"] == RUNNING:
            raise ConfigError(f"{run}: the run has not finished; run prepare again to continue it")
        source = _kept(folder, manifest) if manifest["report"].get("text") else _ids(folder)
        with held(out) as target:
            identity = {"export": {"format": form, "text": True}, "dataset": source.told}
            open_run(target, identity, {"export.format": "--format"})
            report = _write(source, target, form, progress)
            write_manifest(
                target, {"status": COMPLETE, "identity": identity, "report": dict(report)}
            )
    return {**report, "path": str(out)}


class _Source:
    """Files of documents. told: what they are, for resume.  schema: of the rows."""

    made_of: Literal["text", "ids"]
    lossless = True

    def __init__(self, told: Any, schema: pa.Schema, files: Mapping[str, list[Path]]) -> None:
        self.told, self.schema, self.files = told, schema, files

    def rows(self, path: Path) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class _Kept(_Source):
    made_of = "text"

    def rows(self, path: Path) -> Iterator[pa.RecordBatch]:
        if path.suffix == ".parquet":
            with pq.ParquetFile(str(present(path))) as file:
                yield from file.iter_batches(batch_size=ROWS)
            return
        times = [f.name for f in self.schema if pa.types.is_timestamp(f.type)]
        stored = rows_of(present(path))
        while rows := list(islice(stored, ROWS)):
            read = [
                row | {n: row[n] and datetime.fromisoformat(row[n]) for n in times} for row in rows
            ]
            yield pa.RecordBatch.from_pylist(read, self.schema)


class _Ids(_Source):
    made_of = "ids"

    def __init__(self, engine: Engine, *args: Any) -> None:
        super().__init__(*args)
        self._engine = engine
        self.lossless = is_lossless(engine)

    def rows(self, path: Path) -> Iterator[pa.RecordBatch]:
        names = [f.name for f in self.schema if f.name not in ("text", SAME_IDS.name)]
        for whole in batches([path], ["input_ids", *names], 0, lambda: None):
            for first in range(0, whole.num_rows, ROWS):
                batch = whole.slice(first, ROWS)
                texts, same = decoded(self._engine, batch)
                made = {n: batch[n] for n in names} | {"text": texts, SAME_IDS.name: same}
                columns = [made[n] for n in self.schema.names]
                yield pa.record_batch(columns, schema=self.schema)


class _Packed(_Ids):
    """Documents of packed sequences, parted behind each eos, those that begin in a file.

    Which one it is, is told of documents in which a sequence begins; of others nothing does.
    """

    def __init__(self, seq_len: int, *args: Any) -> None:
        super().__init__(*args)
        self._seq_len = seq_len

    def rows(self, path: Path) -> Iterator[pa.RecordBatch]:
        files = next(files for files in self.files.values() if path in files)
        found = self._documents(files[files.index(path) :])
        while some := list(islice(found, ROWS)):
            ends = np.cumsum([0, *(len(part.ids) for part in some)])
            ids = pa.array(np.concatenate([part.ids for part in some]))
            lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), ids)
            texts, same = decoded(self._engine, pa.record_batch({"input_ids": lists}))
            doc_ids = pa.array([part.doc_id for part in some], pa.uint64())
            yield pa.record_batch([texts, doc_ids, same], schema=self.schema)

    def _documents(self, files: Sequence[Path]) -> Iterator["_Document"]:
        """The documents that begin in the first of some files, which follow one another."""
        parts: list[Any] = []
        doc_id, skips, first = None, False, True
        for path in files:
            if not first and not parts:
                return
            for number, batch in enumerate(batches([path], PACKED_COLUMNS, 0, lambda: None)):
                skips = skips or (first and not number and batch["doc_offset"][0].as_py() > 0)
                for piece in self._pieces(batch):
                    if not skips:
                        parts.append(piece.ids)
                        doc_id = piece.doc_id
                    if piece.is_whole and not skips:
                        yield _Document(np.concatenate(parts), doc_id)
                    if piece.is_whole:
                        parts, doc_id, skips = [], None, False
                        if not first:
                            return
            first = False
        if parts:
            yield _Document(np.concatenate(parts), doc_id, is_whole=False)  # the tail has its end

    def _pieces(self, batch: pa.RecordBatch) -> Iterator["_Document"]:
        """Stretches of a batch of sequences up to each eos, and behind the last."""
        ids, owners = ids_of(batch).values, batch["doc_id"].to_pylist()
        ends = (np.flatnonzero(ids == self._engine.eos_id) + 1).tolist()
        for start, end in pairwise([0, *ends, len(ids)]):
            if end > start:
                sequence = -(-start // self._seq_len)  # the first that begins in it, if one does
                known = owners[sequence] if sequence * self._seq_len < end else None
                yield _Document(ids[start:end], known, is_whole=end in ends[-1:] or end < len(ids))


class _Document(NamedTuple):
    """A document of packed sequences, or a part of one. is_whole: its end is there."""

    ids: Any
    doc_id: int | None
    is_whole: bool = True


def _kept(folder: Path, manifest: Mapping[str, Any]) -> _Source:
    of = manifest["report"]["text"]
    files: dict[str, list[Path]] = {}
    for name in sorted(of["files"]):
        _, *above, _ = name.split("/")
        files.setdefault(above[0] if above else "train", []).append(folder / name)
    kinds = {n: COLUMN_TYPES[kind] for n, kind in of["columns"].items()}
    own = [DOCUMENT.field(n) for n in ("id", "text", "url")]
    ends = [DOCUMENT.field("doc_id")]
    ends += [COPIES] if manifest["identity"]["recipe"]["output"]["shuffle"] else []
    schema = pa.schema([*own, *(pa.field(n, kind) for n, kind in kinds.items()), *ends])
    first = next(iter(files.values()))[0]
    if first.suffix == ".parquet":
        schema = pq.read_schema(str(present(first)))
    return _Kept(of["files"], schema, files)


def _ids(folder: Path) -> _Source:
    tokens = open_tokens(folder)
    if "images" in tokens.schema.names:
        raise ConfigError(
            f"{folder}: ids do not tell where in a text its images stood; run it with output.text"
        )
    recipe = prepared_run(folder)["identity"]["recipe"]
    output = Output.model_validate(recipe["output"])
    tokenizer = Tokenizer.model_validate(recipe["tokenizer"])
    engine = load_engine(tokenizer, output.dtype, None)
    files = {split: list(paths) for split, paths in tokens.splits.items()}
    if tokens.seq_len is not None:
        if not _ends_alone(engine):
            raise ConfigError(
                f"{folder}: packed sequences do not tell where a document ends without an eos that"
                " stands for that alone; run it with output.text"
            )
        return _Packed(tokens.seq_len, engine, dict(tokens.fingerprints), PACKED, files)
    names = [n for n in tokens.schema.names if n not in ("input_ids", "doc_id", "id")]
    fields = [DOCUMENT.field("id"), DOCUMENT.field("text"), *map(tokens.schema.field, names)]
    schema = pa.schema([*fields, DOCUMENT.field("doc_id"), SAME_IDS])
    return _Ids(engine, dict(tokens.fingerprints), schema, files)


def _ends_alone(engine: Engine) -> bool:
    """Whether eos stands behind documents and nowhere else: no text makes it, and it is not bos."""
    reference, eos = engine.reference, engine.eos_id
    text = next((t for t in reference.added_tokens() if reference.token_to_id(t) == eos), None)
    return text is not None and eos != engine.bos_id and eos not in reference.encode([text])[0]


def decoded(engine: Engine, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    """(n_docs,) the text of each document's ids, and whether it makes those ids again."""
    ids = ids_of(batch)
    texts = pa.array(
        [
            text_of(engine, ids.values[a:b].tolist())
            for a, b in zip(ids.ends[:-1], ids.ends[1:], strict=True)
        ],
        pa.large_string(),
    )
    again = engine.encode(texts)
    same = np.diff(again.offsets) == np.diff(ids.ends)
    for row in np.flatnonzero(same):
        there = ids.values[ids.ends[row] : ids.ends[row + 1]]
        same[row] = np.array_equal(there, again.ids[again.offsets[row] : again.offsets[row + 1]])
    return texts, pa.array(same)


def text_of(engine: Engine, ids: list[int]) -> str:
    """What ids stand for, less the ends of the document and its images."""
    first, last = ids[:1] == [engine.bos_id], ids[-1:] == [engine.eos_id]
    within = ids[int(first) : len(ids) - int(last)]
    return engine.reference.decode([i for i in within if i != engine.image_id])


def is_lossless(engine: Engine) -> bool:
    """Whether ids of a tokenizer, decoded, are what was encoded, byte for byte, as far as is known:
    one of bytes, that neither normalizes nor puts a space before the text, nor has added tokens
    that take the spaces around them.
    """
    if not isinstance(engine.reference, TokenizersReference):
        return False
    told = json.loads(engine.reference.tokenizer.to_str())
    decoder = (told.get("decoder") or {}).get("type")
    adds = '"add_prefix_space": true' in json.dumps(told.get("pre_tokenizer"))
    takes = any(
        (token["lstrip"] or token["rstrip"]) and not (token["special"] and engine.reference.plain)
        for token in told["added_tokens"]
    )
    return told.get("normalizer") is None and decoder == "ByteLevel" and not (adds or takes)


def _write(source: _Source, target: Path, form: TextForm, progress: Progress) -> TextReport:
    docs = text_bytes = done = 0
    others: list[str] = []
    files: list[File] = []
    total = sum(map(len, source.files.values()))
    (target / PARTS).mkdir(exist_ok=True)
    progress(0, total)
    for split, paths in source.files.items():
        for number, path in enumerate(paths):
            made = target / f"{split}-{number:05d}.{ENDINGS[form]}"
            note = target / PARTS / f"{made.name}.json"
            if not (made.is_file() and note.is_file()):
                write_json(note, _write_file(source, path, made))
            told = json.loads(note.read_text(encoding="utf-8"))
            docs, text_bytes = docs + told["docs"], text_bytes + told["text_bytes"]
            others += told["others"]
            files.append(File(made.name, made.stat().st_size, ""))
            done += 1
            progress(done, total)
    exact = not others if source.lossless else None
    return {
        "format": form,
        "path": str(target),
        "made_of": source.made_of,
        "exact": exact,
        "docs": docs,
        "text_bytes": text_bytes,
        "other_ids": len(others),
        "first_other_ids": others[:SHOWN],
        "files": files,
        "bytes": sum(file.bytes for file in files),
    }


def _write_file(source: _Source, path: Path, made: Path) -> dict[str, Any]:
    """Write the documents of a file; return what is to be told of them."""
    docs = text_bytes = 0
    others: list[str] = []
    with text_file(made, source.schema) as write:
        for batch in source.rows(path):
            if not batch.num_rows:
                continue
            write(batch)
            docs += batch.num_rows
            text_bytes += pc.sum(pc.binary_length(batch["text"])).as_py()
            if SAME_IDS.name in batch.schema.names:
                odd = batch.filter(pa.array(~np.asarray(batch[SAME_IDS.name], np.bool_)))
                name = "id" if "id" in odd.schema.names else "doc_id"
                others += odd[name].cast(pa.string()).fill_null("unknown").to_pylist()
    return {"docs": docs, "text_bytes": text_bytes, "others": others}
