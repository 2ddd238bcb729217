"""Small datasets as `prepare` lays them out."""

import json

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.tokens.dataset import dataset_schema
from tokenmill.sizing.requirements import size

SEQ_LEN = 64


def write_shards(folder, batches, *, seq_len=None, per_file=2, dtype=np.uint16, **options):
    """Record batches of rows of ids, some a file, with the columns of a real dataset."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = dataset_schema(pa.from_numpy_dtype(dtype), seq_len)
    groups = [batches[i : i + per_file] for i in range(0, len(batches), per_file)]
    names = [f"data-{i:05d}-of-{len(groups):05d}.arrow" for i in range(len(groups))]
    for name, group in zip(names, groups, strict=True):
        with (
            pa.OSFile(str(folder / name), "wb") as sink,
            pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as out,
        ):
            for rows in group:
                out.write_batch(record_batch(rows, schema))
    state = {"_data_files": [{"filename": name} for name in names], "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    return folder


def record_batch(rows, schema):
    columns = {
        "input_ids": rows,
        "doc_id": range(len(rows)),
        "id": [f"doc-{i}" for i in range(len(rows))],
        "source": ["web"] * len(rows),
        "doc_offset": [0] * len(rows),
    }
    return pa.record_batch([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


def packed(folder, *, batches=6, rows=32, seq_len=SEQ_LEN, per_file=2):
    """Every id occurs once, in order, modulo 65,536."""
    ids = np.arange(batches * rows * seq_len).astype(np.uint16).reshape(batches, rows, seq_len)
    made = [list(batch) for batch in ids]
    return write_shards(folder, made, seq_len=seq_len, per_file=per_file)


def documents(folder, lengths, *, rows=8, per_file=2):
    """One row a document of so many ids, empty ones among them."""
    ends = np.cumsum(lengths)
    rows_of = np.split(np.arange(sum(lengths)).astype(np.uint16), ends[:-1])
    groups = [rows_of[i : i + rows] for i in range(0, len(rows_of), rows)]
    return write_shards(folder, groups, per_file=per_file)


def sheet(*, step_s=0.02, **changes):
    """A plan of one accelerator whose step is short."""
    rate = size(changes=_PLAN)["training rate, one accelerator"].value
    batch = {"training.batch_tokens": step_s * rate * changes.get("cluster.count", 1)}
    return size(changes={**_PLAN, **batch, **changes})


_PLAN = {
    "model.params": "8B",
    "model.seq_len": SEQ_LEN,
    "cluster.accelerator": "H100 SXM",
    "cluster.count": 1,
}
