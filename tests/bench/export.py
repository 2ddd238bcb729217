"""Export against each loader's own writer, on the dataset of a run.

    VENV-peers-readers/bin/python -m tests.bench.export RUN [TIMES]

MB of token ids per CPU second of the process, medians of 3 in turn; TIMES: the files of the
dataset stand in the folder that is exported so many times over. Reading the dataset is in both.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.tokens.export.exported import asked
from tokenmill.pipelines.tokens.export.rows import batches, open_tokens
from tokenmill.pipelines.tokens.export.run import export

ROUNDS = 3
COLUMNS = ("input_ids", "doc_id", "id", "source")


def repeated(run: Path, out: Path, times: int) -> Path:
    """A run whose train split is that of `run`, over and over."""
    tokens = open_tokens(run)
    (out / "dataset").mkdir(parents=True)
    files = [path for path in tokens.splits["train"]] * times
    for i, path in enumerate(files):
        (out / "dataset" / f"{i}.arrow").symlink_to(path.absolute())
    state = {"_data_files": [{"filename": f"{i}.arrow"} for i in range(len(files))]}
    (out / "dataset" / "state.json").write_text(json.dumps({**state, "_fingerprint": str(times)}))
    (out / "dataset" / "dataset_info.json").write_text(json.dumps({"features": tokens.features}))
    manifest = json.loads((run / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest))
    return out


def rows(run: Path) -> Iterator[pa.RecordBatch]:
    return batches(open_tokens(run).splits["train"], COLUMNS, 0, lambda: None)


def of_ours(format: str) -> Callable[[Path, Path], None]:
    return lambda run, out: export(run, out, asked(format), lambda done, total: None)


def of_megatron(run: Path, out: Path) -> None:
    """As tools/preprocess_data.py calls it, but with a tensor, which saves it a conversion."""
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    out.mkdir()
    builder = IndexedDatasetBuilder(str(out / "train.bin"), dtype=np.uint16)
    for batch in rows(run):
        for ids in batch["input_ids"]:
            builder.add_item(torch.from_numpy(ids.values.to_numpy().astype(np.int32)))
            builder.end_document()
    builder.finalize(str(out / "train.idx"))


def of_mds(run: Path, out: Path) -> None:
    sys.modules.setdefault("streaming.vision", types.ModuleType("streaming.vision"))
    from streaming import MDSWriter

    columns = {"tokens": "ndarray:uint16", "doc_id": "uint64", "id": "str", "source": "str"}
    with MDSWriter(out=str(out), columns=columns, hashes=["xxh3_128"]) as writer:
        for batch in rows(run):
            others = [batch[name].to_pylist() for name in ("doc_id", "id", "source")]
            for ids, doc_id, name, source in zip(batch["input_ids"], *others, strict=True):
                writer.write(
                    {
                        "tokens": ids.values.to_numpy(),
                        "doc_id": doc_id,
                        "id": name,
                        "source": source,
                    }
                )


def of_datasets(run: Path, out: Path) -> None:
    """`Dataset.to_parquet`, as it is set by default."""
    from datasets import Dataset, concatenate_datasets

    out.mkdir()
    parts = [Dataset.from_file(str(path)) for path in open_tokens(run).splits["train"]]
    concatenate_datasets(parts).to_parquet(str(out / "train.parquet"))


PEERS = {
    "megatron": ("IndexedDatasetBuilder", of_megatron),
    "mds": ("MDSWriter", of_mds),
    "parquet": ("Dataset.to_parquet", of_datasets),
}


def main(run: Path, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        many = repeated(run, Path(folder) / "run", times)
        size = sum(b["input_ids"].flatten().nbytes for b in rows(many)) / 1e6
        print(f"{size:,.0f} MB of ids")
        for format, (name, theirs) in PEERS.items():
            rates: dict[str, list[float]] = {"tokenmill": [], name: []}
            bytes_: dict[str, int] = {}
            for _ in range(ROUNDS + 1):  # the first is to warm up
                for who, write in (("tokenmill", of_ours(format)), (name, theirs)):
                    out = Path(folder) / "out"
                    began = time.process_time()
                    write(many, out)
                    rates[who].append(size / (time.process_time() - began))
                    bytes_[who] = sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
                    shutil.rmtree(out)
            found = {who: statistics.median(measured[1:]) for who, measured in rates.items()}
            times_as_fast = found["tokenmill"] / found[name]
            told = ", ".join(
                f"{who} {rate:,.0f} MB/s, {bytes_[who] / size / 1e6:.3f} bytes a byte of ids"
                for who, rate in found.items()
            )
            print(f"{format}: {told} ({times_as_fast:.1f}x)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
