"""The first rows of a run's dataset, as they are stored, wherever the run directory lies."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tokenmill.pipelines import mirror
from tokenmill.pipelines.store import open_input


def split_folders(out: Path) -> dict[str, Path]:
    """Where the files of each split lie: `dataset/` itself where there is one split."""
    dataset = out / "dataset"
    try:
        names = json.loads(mirror.read_text(dataset / "dataset_dict.json"))["splits"]
    except FileNotFoundError:
        return {"train": dataset}
    return {name: dataset / name for name in names}


def first_rows(out: Path, limit: int) -> Iterator[tuple[str, pa.Table]]:
    """Of each split its name and its first rows; of files no more is read than that takes.

    out: a run directory, or the folder that mirrors one.

    Raises:
        FileNotFoundError: there is no dataset.
        InputError: a file of it is gone.
    """
    for split, folder in split_folders(out).items():
        state = json.loads(mirror.read_text(folder / "state.json"))
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
