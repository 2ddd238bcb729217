"""Files to read, in every format, and what reading them gave."""

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED
from tokenmill.pipelines.core.shard import Input, Plan, SourceShard
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard


class Read(NamedTuple):
    plan: Plan
    texts: list[str]
    ids: list[str]
    doc_ids: list[int]
    failures: list[dict]

    @property
    def reasons(self):
        return [f["reason"] for f in self.failures]


def read_plan(plan, limits=None):
    """Read all shards, through JSON as a worker would get them, and check every batch."""
    texts, ids, doc_ids, failures = [], [], [], []
    for shard in plan.shards:
        shard = SourceShard.from_json(json.loads(json.dumps(shard.to_json())))
        for batch in read_shard(shard, limits=limits or Limits()):
            assert batch.documents.schema.equals(DOCUMENT, check_metadata=True)
            assert batch.failed.schema.equals(REMOVED, check_metadata=True)
            batch.documents.validate(full=True)
            batch.failed.validate(full=True)
            assert set(batch.failed["outcome"].to_pylist()) <= {"failed"}
            assert batch.documents.num_rows + batch.failed.num_rows > 0
            assert batch.documents.num_rows <= 8192
            texts += batch.documents["text"].to_pylist()
            ids += batch.documents["id"].to_pylist()
            doc_ids += batch.documents["doc_id"].to_pylist()
            failures += batch.failed.to_pylist()
    every = doc_ids + [f["doc_id"] for f in failures]
    assert len(set(every)) == len(every)
    assert doc_ids == sorted(doc_ids)
    return Read(plan, texts, ids, doc_ids, failures)


def read_all(path, *, shard_bytes=1 << 28, limits=None, **fields):
    plan = plan_inputs([Input(path=str(path), **fields)], shard_bytes, limits=limits)
    return read_plan(plan, limits)


def as_jsonl(texts, *, ascii_only=False):
    lines = (json.dumps({"text": t}, ensure_ascii=ascii_only) for t in texts)
    return "".join(f"{line}\n" for line in lines).encode()


def in_parts(data, n, pack):
    """Pack data as `n` gzip members or zstd frames."""
    size = len(data) // n + 1
    return [pack(data[i : i + size]) for i in range(0, max(len(data), 1), size)]


def write_jsonl(folder, texts):
    (folder / "d.jsonl").write_bytes(as_jsonl(texts))
    return folder / "d.jsonl"


def write_unended_jsonl(folder, texts):
    (folder / "d.jsonl").write_bytes(as_jsonl(texts, ascii_only=True)[:-1])
    return folder / "d.jsonl"


def write_gzip(folder, texts):
    (folder / "d.jsonl.gz").write_bytes(b"".join(in_parts(as_jsonl(texts), 3, gzip.compress)))
    return folder / "d.jsonl.gz"


def write_zstd(folder, texts):
    (folder / "d.ndjson.zst").write_bytes(
        b"".join(in_parts(as_jsonl(texts), 3, zstandard.compress))
    )
    return folder / "d.ndjson.zst"


def table(texts):
    return pa.table({"n": list(range(len(texts))), "text": pa.array(texts, pa.string())})


def write_parquet(folder, texts):
    pq.write_table(table(texts), folder / "d.parquet", row_group_size=2)
    return folder / "d.parquet"


def write_arrow_file(folder, texts):
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(folder / "d.arrow", table(texts).schema, options=options) as writer:
        writer.write_table(table(texts), max_chunksize=2)
    return folder / "d.arrow"


def write_arrow_stream(folder, texts):
    with pa.ipc.new_stream(folder / "d.arrow", table(texts).schema) as writer:
        writer.write_table(table(texts), max_chunksize=3)
    return folder / "d.arrow"


def write_dictionaries(folder, texts):
    coded = pa.table({"text": pa.array(texts, pa.string()).dictionary_encode()})
    with pa.ipc.new_file(folder / "d.arrow", coded.schema) as writer:
        writer.write_table(coded)
    return folder / "d.arrow"


def write_saved(folder: Path, texts):
    kept = datasets.Dataset.from_dict(
        {"text": texts}, features=datasets.Features(text=datasets.Value("string"))
    )
    kept.save_to_disk(str(folder / "saved"), num_shards=max(1, min(2, len(texts))))
    return folder / "saved"


def write_texts(folder, texts):
    (folder / "texts").mkdir()
    for i, text in enumerate(texts):
        (folder / "texts" / f"{i:04}.txt").write_bytes(text.encode())
    return folder / "texts"


WRITERS = [
    write_jsonl,
    write_unended_jsonl,
    write_gzip,
    write_zstd,
    write_parquet,
    write_arrow_file,
    write_arrow_stream,
    write_dictionaries,
]
