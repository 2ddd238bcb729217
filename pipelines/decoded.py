"""A document as the dataset of a finished run has it: decoded from its tokens, no input read."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.manifest import read_manifest
from tokenmill.pipelines.pieces import NUMBERS
from tokenmill.pipelines.recipe import make_recipe
from tokenmill.pipelines.tokenize import Engine


def decoded(out: Path, doc_id: int) -> dict[str, Any] | None:
    """A document with doc_id, id, source and text; of one that was cut, its pieces in order.

    Returns:
        None where that cannot be told: the run or its tokenizer is gone, its documents were packed
        into sequences, or the document is not in its dataset.
    """
    files = sorted((out / "dataset").rglob("*.arrow"))
    by_id = {
        row["doc_id"]: row for path in files for row in _rows(path, doc_id)
    }  # copies are alike
    rows = [by_id[number] for number in sorted(by_id)]
    if not rows:
        return None
    manifest = read_manifest(out) or {"identity": {"recipe": {}}}
    try:
        engine = make_recipe(manifest["identity"]["recipe"], where=str(out)).engine()
    except ConfigError:
        return None
    text = "\n".join(_text(engine, row["input_ids"]) for row in rows)
    return {"doc_id": doc_id, "id": rows[0]["id"], "source": rows[0]["source"], "text": text}


def _text(engine: Engine, ids: list[int]) -> str:
    """What ids stand for, less the ends of the document and its images."""
    first, last = ids[:1] == [engine.bos_id], ids[-1:] == [engine.eos_id]
    within = ids[int(first) : len(ids) - int(last)]
    return engine.reference.decode([i for i in within if i != engine.image_id])


def _rows(path: Path, doc_id: int) -> list[dict[str, Any]]:
    """The rows of a file of the dataset that are the document, or pieces of it."""
    found: list[dict[str, Any]] = []
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as batches:
        if "source" not in batches.schema.names:  # packed: a row is a sequence
            return found
        for batch in batches:
            ids = np.asarray(batch["doc_id"])
            these = (ids == doc_id) | ((ids & ~NUMBERS) == doc_id)
            if these.any():
                columns = batch.select(["input_ids", "doc_id", "id", "source"])
                found += columns.filter(pa.array(these)).to_pylist()
    return found
