"""Small runs that stand against one another."""

import json

import pyarrow as pa
from datasets import DatasetDict, load_from_disk

from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.storage.files import open_arrow

STEPS = ["normalize", "exact", "near"]


class Runs:
    """Runs of one folder: `make` writes documents to NAME.jsonl and runs them into NAME, or `into`.

    All documents are of one source.
    """

    def __init__(self, folder):
        self.folder = folder
        self.tokenizer = train(folder)

    def write(self, name, docs):
        lines = [
            json.dumps(doc if isinstance(doc, dict) else {"id": f"{name}-{i}", "text": doc})
            for i, doc in enumerate(docs)
        ]
        path = self.folder / f"{name}.jsonl"
        text = "".join(line + "\n" for line in lines)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        return path

    def recipe(self, *names, against=(), keep_index=True, steps=STEPS, run=None, **settings):
        inputs = [{"path": str(self.folder / f"{n}.jsonl"), "source": "docs"} for n in names]
        data = {
            "name": names[0],
            "inputs": inputs,
            "steps": steps,
            "tokenizer": {"path": str(self.tokenizer)},
            "shard_bytes": 1500,
            "run": {"keep_index": keep_index, **(run or {})},
            **({"against": [str(self.folder / a) for a in against]} if against else {}),
            **settings,
        }
        return make_recipe(data, where="test")

    def make(self, name, docs, execute=one_by_one, into=None, **settings):
        self.write(name, docs)
        out = self.folder / (into or name)
        prepare(self.recipe(name, **settings), out, execute)
        return out

    def make_of(self, into, names, execute=one_by_one, **settings):
        """One run over the documents of several."""
        prepare(self.recipe(*names, **settings), self.folder / into, execute)
        return self.folder / into


def words(of, n=120):
    return " ".join(f"{of}{i}" for i in range(n))


def rows(out):
    """Rows of a run's dataset: (id, ids of tokens), in order."""
    loaded = load_from_disk(str(out / "dataset"))
    parts = loaded.values() if isinstance(loaded, DatasetDict) else [loaded]
    return [(row["id"], row["input_ids"]) for part in parts for row in part]


def doc_ids(out):
    loaded = load_from_disk(str(out / "dataset"))
    parts = loaded.values() if isinstance(loaded, DatasetDict) else [loaded]
    return [doc_id for part in parts for doc_id in part["doc_id"]]


def index(out, number=0):
    """The kept keys of a run, as one table."""
    paths = sorted((out / "index").glob(f"part-*.{number}.arrow"))
    return pa.concat_tables(pa.Table.from_batches(*open_arrow(path)) for path in paths)
