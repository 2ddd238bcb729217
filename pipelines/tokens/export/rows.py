"""The dataset of a finished run as an export reads it: splits, columns, rows by batch."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.collected import run_names
from tokenmill.pipelines.runs.finished import prepared_run
from tokenmill.pipelines.runs.manifest import RUNNING
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.tokens.dataset import split_folders


class Tokens(NamedTuple):
    """The dataset of a finished run.

    splits: the files of each split, in order.  fingerprints: of each split, as `datasets` has it.
    features: columns as `datasets` describes them.
    seq_len: of packed sequences; None where a row is a document.
    failed: shards that failed, so that their documents are missing.
    """

    splits: Mapping[str, tuple[Path, ...]]
    fingerprints: Mapping[str, str]
    schema: pa.Schema
    features: Mapping[str, Any]
    seq_len: int | None
    failed: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a token id: uint16 or uint32."""
        ids = self.schema.field("input_ids").type
        dtype: np.dtype[Any] = np.dtype(ids.value_type.to_pandas_dtype())
        return dtype

    def ids_alone(self) -> "Tokens":
        """The same dataset with the column of the ids alone."""
        schema = pa.schema([self.schema.field("input_ids")])
        return self._replace(schema=schema, features={n: self.features[n] for n in schema.names})


class Ids(NamedTuple):
    """Token ids, row i at values[ends[i]:ends[i + 1]], from 0; a view of the Arrow buffer."""

    values: npt.NDArray[Any]
    ends: I64


def open_tokens(out: Path) -> Tokens:
    """Describe the dataset of a run; no rows are read.

    out: a run directory, a collection, or the folder that mirrors one.
    ConfigError: it is no run of prepare, or has not finished.
    """
    failed = _failed_shards(out)
    states = {s: (f, mirror.read_json(f / "state.json")) for s, f in split_folders(out).items()}
    splits = {
        split: tuple(
            Path(os.path.normpath(folder / entry["filename"])) for entry in state["_data_files"]
        )
        for split, (folder, state) in states.items()
    }
    with _opened(next(iter(splits.values()))[0]) as reader:
        schema = reader.schema
    first = next(iter(states.values()))[0]
    ids = schema.field("input_ids").type
    return Tokens(
        splits,
        {split: state["_fingerprint"] for split, (_, state) in states.items()},
        schema,
        mirror.read_json(first / "dataset_info.json")["features"],
        ids.list_size if pa.types.is_fixed_size_list(ids) else None,
        failed,
    )


def _failed_shards(out: Path) -> int:
    """How many shards of a run failed; of a collection only whole runs are in the dataset."""
    if run_names(out) is not None:
        if not mirror.exists(out / "report.json"):
            raise ConfigError(f"{out}: no run of the collection has finished; ingest again")
        return 0
    manifest = prepared_run(out)
    if manifest["status"] == RUNNING:
        raise ConfigError(f"{out}: the run has not finished; run prepare again to continue it")
    if manifest["identity"]["recipe"]["tokenizer"] is None:
        raise ConfigError(f"{out}: the run made no tokens; its documents lie as text in {out}/text")
    return len(manifest["report"]["failed_shards"])


def batches(
    files: Sequence[Path], columns: Sequence[str], skip: int, advance: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    """Read some columns of a split from row `skip` on, in the batches that are stored.

    advance: called when a file is done.
    FileNotFoundError: a file is gone.
    """
    for path in files:
        with _opened(path) as reader:
            for batch in reader:
                passed = min(skip, batch.num_rows)
                skip -= passed
                if passed < batch.num_rows:
                    yield batch.select(columns).slice(passed)
        advance()


def ids_of(batch: pa.RecordBatch) -> Ids:
    """The column input_ids without its Arrow wrapping."""
    column = batch["input_ids"]
    values = column.flatten().to_numpy()
    if pa.types.is_fixed_size_list(column.type):
        n = column.type.list_size
        return Ids(values, np.arange(0, (len(column) + 1) * n, n, dtype=np.int64))
    ends = np.asarray(column.offsets).astype(np.int64)
    return Ids(values, ends - ends[0])


@contextmanager
def _opened(path: Path) -> Iterator[pa.ipc.RecordBatchStreamReader]:
    """Map a file of the dataset; batches stay valid when it is closed."""
    with pa.memory_map(str(mirror.present(path))) as mapped, pa.ipc.open_stream(mapped) as reader:
        yield reader
