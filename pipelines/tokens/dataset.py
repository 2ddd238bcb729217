"""The dataset that training reads: token shards laid out in order, in files of a stated size.

Where a run keeps text, the work that writes a file of the dataset writes its documents too
(`tokens.text`); without a tokenizer that is all it writes.

Every file is one piece of work: which documents (or packed sequences) it holds follows
from the sizes of the shards alone, so files can be written in any order.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import OF_PAGES, REMOVED
from tokenmill.pipelines.core.step import removed_rows
from tokenmill.pipelines.read.images.blobs import Spool
from tokenmill.pipelines.read.images.stored import (
    STORED,
    describe,
    features_of,
    in_dataset,
    with_bytes,
)
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import SPOOL
from tokenmill.pipelines.runs.manifest import TEXT
from tokenmill.pipelines.runs.receipt import WorkFacts
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import write_json
from tokenmill.pipelines.storage.files import arrow_stream, parquet_file
from tokenmill.pipelines.storage.inputs import open_input
from tokenmill.pipelines.tokens.mix.buckets import Buckets, Mixed
from tokenmill.pipelines.tokens.run import TOKENS, TokenRun
from tokenmill.pipelines.tokens.shards import (
    TokenFiles,
    TokenShard,
    TokenSpan,
    copies_fields,
    document_fields,
    splits,
    token_span,
)
from tokenmill.pipelines.tokens.text import as_kept, text_file, text_schema


class Layout(NamedTuple):
    """How one split is cut into files.

    tokens: of the whole split.  size: of its stream, in what `TokenShard.size` counts.
    files: how many.  file_size: of the stream, that a file begins after the one before; a
    document belongs to the file in which it begins.
    dtype: of token ids; None without a tokenizer.
    mixed: where the documents lie if they were mixed; the shards are buckets then.
    """

    split: str
    shards: tuple[TokenShard, ...]
    tokens: int
    size: int
    files: int
    file_size: int
    dtype: np.dtype[np.generic] | None
    mixed: Mixed | None = None


def layout(
    job: TokenRun, split: str, shards: Sequence[TokenShard], mixed: Mixed | None = None
) -> Layout:
    """Cut a split into files of about `output.shard_bytes`."""
    out, dtype = job.tokenizing.output, job.tokenizing.dtype
    tokens, size = sum(s.tokens for s in shards), sum(s.size for s in shards)
    # tokens, of a whole sequence if they are packed; or bytes, where documents have images or are
    # text alone
    in_tokens = dtype is not None and job.tokenizing.images is None
    width, step = (job.tokenizing.id_bytes if in_tokens else 1), out.seq_len or 1
    file_size = max(out.shard_bytes // (width * step), 1) * step
    files = max(-(-(size // step * step) // file_size), 1)
    if not shards and dtype is not None:
        dtype = np.dtype(np.uint16)
    return Layout(split, tuple(shards), tokens, size, files, file_size, dtype, mixed)


def file_name(number: int, files: int) -> str:
    return f"data-{number:05d}-of-{files:05d}.arrow"


def split_folder(job: TokenRun, split: str) -> Path:
    """`dataset/` itself where there is one split, else a folder for each."""
    return job.dataset if len(splits(job)) == 1 else job.dataset / split


@dataclass(frozen=True, kw_only=True)
class FileFacts(WorkFacts):
    """Of a file of the dataset. rows: documents, or sequences.  texts: documents kept as text.

    absent: images without bytes, where the dataset is to have them.
    """

    rows: int
    texts: int = 0
    absent: int = 0


def write_file(job: TokenRun, plan: Layout, number: int) -> Done[FileFacts]:
    """Write one file of the dataset, and its documents as text where the run keeps that."""
    start, output = number * plan.file_size, job.tokenizing.output
    stop = plan.size if number == plan.files - 1 else start + plan.file_size
    span = _span(job, plan, start, stop)
    path = split_folder(job, plan.split) / file_name(number, plan.files)
    paths: list[Path] = []
    n_rows = n_texts = absent = 0
    with contextlib.ExitStack() as files:
        write, keep = None, None
        if plan.dtype is not None:
            schema = _schema(job, plan)
            paths.append(path)
            write = files.enter_context(arrow_stream(path, schema)).write_batch
        if output.text is not None:
            kept = kept_schema(job)
            below = path.relative_to(job.dataset).with_suffix(f".{output.text}")
            paths.append(job.out / TEXT / below)
            keep = files.enter_context(text_file(paths[-1], kept))
        for columns, documents in _rows(job, span, texts=keep is not None):
            if columns is not None and write is not None:
                batch = pa.record_batch([columns[n] for n in schema.names], schema=schema)
                write(batch)
                n_rows += batch.num_rows
                if "images" in columns and columns["images"].type == pa.list_(STORED):
                    absent += columns["images"].flatten().field("bytes").null_count
            if documents is not None and keep is not None:
                keep(as_kept(documents, kept))
                n_texts += documents.num_rows
    return Done(files=paths, facts=FileFacts(rows=n_rows, texts=n_texts, absent=absent))


def _rows(
    job: TokenRun, span: TokenSpan, *, texts: bool
) -> Iterator[tuple[Mapping[str, pa.Array] | None, pa.RecordBatch | None]]:
    """What a file holds, by batch: columns of the dataset by name, and documents of a token shard.

    Of a packed file the documents come behind the sequences, all but those that begin in no
    sequence; of others they are the same rows.

    texts: whether documents of a packed file are asked for.
    """
    seq_len, images = job.tokenizing.output.seq_len, job.tokenizing.images
    if seq_len is not None:
        for packed in span.sequences(seq_len):
            yield dict(zip(("input_ids", "doc_id", "doc_offset"), packed, strict=True)), None
        if texts:
            whole = span.stop // seq_len * seq_len
            for rows in span._replace(stop=whole, last=False).documents():
                yield None, rows
    elif images is None:
        for rows in span.documents():
            yield columns_of(rows), rows
    else:
        for key, rows in span.illustrated():
            pictures = rows["images"]
            if images.store == "bytes":
                pictures = with_bytes(pictures, Spool(job.path(SPOOL, key=key)))
            yield columns_of(rows) | {"images": pictures}, rows


def columns_of(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def dataset_schema(
    id_type: pa.DataType,
    seq_len: int | None,
    images: Images | None = None,
    *,
    of_pages: bool = False,
    copies: Sequence[str] = (),
) -> pa.Schema:
    """Columns of the dataset.

    One row a document: input_ids, doc_id, id, source; url, date and content_type where a recipe
    reads web archives (`of_pages`), how many documents left for it (`copies`, of
    `shards.copies_fields`), and images where it has them. Packed:
    input_ids of `seq_len`, and where the sequence begins: in document `doc_id`, `doc_offset`
    tokens from its start.
    """
    if seq_len is None:
        fields = document_fields(id_type)
        if of_pages:
            fields += OF_PAGES
        fields += copies_fields(copies)
        if images is not None:
            fields.append(pa.field("images", in_dataset(images)))
        return pa.schema(fields)
    return pa.schema(
        [
            pa.field("input_ids", pa.list_(id_type, seq_len)),
            pa.field("doc_id", pa.uint64()),
            pa.field("doc_offset", pa.int64()),
        ]
    )


def _schema(job: TokenRun, plan: Layout) -> pa.Schema:
    settings = job.tokenizing
    id_type, seq_len = pa.from_numpy_dtype(plan.dtype), settings.output.seq_len
    return dataset_schema(
        id_type, seq_len, settings.images, of_pages=settings.of_pages, copies=settings.copies
    )


def kept_schema(job: TokenRun) -> pa.Schema:
    settings = job.tokenizing
    return text_schema(
        [*copies_fields(settings.copies), *settings.annotations],
        of_pages=settings.of_pages,
        copies=settings.output.shuffle,
    )


def close_dataset(job: TokenRun) -> None:
    """Take away what makes the files a dataset, so that nobody opens it while they change."""
    names = ("dataset_dict.json", "state.json", "dataset_info.json")
    mirror.remove(path for path in mirror.files(job.dataset) if path.name in names)


def write_split(
    folder: Path,
    split: str,
    files: int,
    *,
    fingerprint: str,
    description: str,
    features: dict[str, Any],
) -> list[Path]:
    """Write what makes the files of a folder a dataset of one split, as `datasets` saves it."""
    info = {"citation": "", "description": description, "features": features}
    state: dict[str, Any] = {
        "_data_files": [{"filename": file_name(number, files)} for number in range(files)],
        "_fingerprint": fingerprint,
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": split,
    }
    write_json(folder / "dataset_info.json", {**info, "homepage": "", "license": ""})
    write_json(folder / "state.json", state)
    return [folder / "dataset_info.json", folder / "state.json"]


def write_state(
    job: TokenRun, plans: Sequence[Layout], digests: Sequence[tuple[str, ...]], absent: int
) -> Done:
    """Write what makes the files a dataset; it can be opened from this moment on, not before.

    digests: of the files of each split, in order; they make the dataset's fingerprint.
    absent: images without bytes, of all of them.
    """
    paths: list[Path] = []
    settings = job.tokenizing
    for plan, made in zip(plans, digests, strict=True) if settings.tokenizer else ():
        paths += write_split(
            split_folder(job, plan.split),
            plan.split,
            plan.files,
            fingerprint=digest_of(made)[:16],
            description=describe(settings.engine().image_id, settings.images),
            features=features_of(_schema(job, plan), settings.images, all_there=not absent),
        )
    if len(plans) > 1 and settings.tokenizer is not None:
        write_json(job.dataset / "dataset_dict.json", {"splits": [p.split for p in plans]})
        paths.append(job.dataset / "dataset_dict.json")
    if job.tokenizing.output.seq_len is None:
        return Done(files=paths)
    removed = job.out / "removed" / "packing.parquet"
    with parquet_file(removed, REMOVED) as writer:
        stats = _packed(job, plans, job.tokenizing.output.seq_len, writer.write_table)
    return Done(files=[*paths, removed], stats=[("pack", stats)])


def _packed(
    job: TokenRun, plans: Sequence[Layout], seq_len: int, receipts: Callable[[pa.Table], None]
) -> StageStats:
    """The account of packing: the end of a split, shorter than a sequence, stays out.

    A document that lies wholly in that end is removed for the reason `pack_tail`; where it was
    one of several copies, its receipt tells how many of them are in the dataset.
    """
    total = StageStats()
    for plan in plans:
        docs, text_bytes = sum(s.docs for s in plan.shards), sum(s.text_bytes for s in plan.shards)
        end = plan.tokens // seq_len * seq_len
        tail = _span(job, plan, end, plan.tokens).begun()
        lost, lost_bytes = tail.num_rows, int(np.sum(tail["text_bytes"].to_numpy()))
        others = _others(tail)
        for batch in tail.to_batches():
            sizes = np.asarray(batch["text_bytes"])
            reasons, details = ["pack_tail"] * batch.num_rows, others[: batch.num_rows]
            others = others[batch.num_rows :]
            gone = removed_rows("pack", batch, reasons, text_bytes=sizes, details=details)
            receipts(pa.Table.from_batches([gone]))
        total += StageStats(
            docs_in=docs,
            docs_out=docs - lost,
            removed={"pack_tail": lost} if lost else {},
            bytes_in=text_bytes,
            bytes_out=text_bytes - lost_bytes,
            bytes_removed=lost_bytes,
        )
    return total


def _others(tail: pa.Table) -> pa.Array:
    """(n,) of documents that stay out, what is to be said of their copies that do not."""
    if "copies" not in tail.column_names:
        return pa.nulls(tail.num_rows, pa.string())
    _, which, lost = np.unique(tail["doc_id"], return_inverse=True, return_counts=True)
    told = zip(lost[which].tolist(), tail["copies"].to_pylist(), strict=True)
    return pa.array(
        [f"{of - n} of its {of} copies are in the dataset" if of > n else None for n, of in told],
        pa.string(),
    )


def _span(job: TokenRun, plan: Layout, start: int, stop: int) -> TokenSpan:
    """A stretch of the split's stream, which is its token shards in order."""
    if plan.mixed is not None:
        return token_span(Buckets(job, plan.mixed), plan.shards, start, stop)
    paths = [job.path(TOKENS, split=plan.split, key=shard.key) for shard in plan.shards]
    return token_span(TokenFiles(paths), plan.shards, start, stop)


def split_folders(out: Path) -> dict[str, Path]:
    """Where the files of each split lie: `dataset/` itself where there is one split."""
    dataset = out / "dataset"
    try:
        names = mirror.read_json(dataset / "dataset_dict.json")["splits"]
    except FileNotFoundError:
        return {"train": dataset}
    return {name: dataset / name for name in names}


def first_rows(out: Path, limit: int) -> Iterator[tuple[str, pa.Table]]:
    """Of each split its name and its first rows; of files no more is read than that takes.

    out: a run directory, or the folder that mirrors one.
    FileNotFoundError: there is no dataset.
    InputError: a file of it is gone.
    """
    for split, folder in split_folders(out).items():
        state = mirror.read_json(folder / "state.json")
        files = [folder / found["filename"] for found in state["_data_files"]]
        yield split, _first(files, limit)


def _first(files: list[Path], limit: int) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    for path in files:
        with open_input(mirror.address(path)) as f, pa.ipc.open_stream(f) as reader:
            schema = reader.schema
            for batch in reader:
                batches.append(batch)
                if sum(b.num_rows for b in batches) >= limit:
                    return pa.Table.from_batches(batches, schema).slice(0, limit)
    return pa.Table.from_batches(batches, schema)
