"""A run to export, and the rows that readers must give back."""

import json

import pytest
import yaml
from datasets import load_from_disk

from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.tokens.export.exported import asked
from tokenmill.pipelines.tokens.export.run import export


def made(folder, *, eos=True, **output):
    """A run of two sources with a validation split; without eos it has documents of no tokens."""
    for source, n in (("web", 300), ("my books", 90)):
        docs = [{"id": f"{source}/{i}", "text": f"{source} {i} " * (i % 90)} for i in range(n)]
        lines = "".join(json.dumps(doc) + "\n" for doc in [*docs, {"id": "last", "text": ""}])
        (folder / f"{source}.jsonl").write_text(lines)
    recipe = {
        "inputs": [{"path": str(folder / f"{s}.jsonl"), "source": s} for s in ("web", "my books")],
        "tokenizer": {"path": str(train(folder)), "eos": eos},
        "output": {"shard_bytes": "20kB", "validation_frac": 0.1, **output},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    prepare(load_recipe(folder / "recipe.yaml"), folder / "run", one_by_one)
    return folder / "run"


KINDS = {"documents": {}, "without_eos": {"eos": False}, "packed": {"seq_len": 64}}


@pytest.fixture(scope="module", params=KINDS, ids=str)
def run(request, tmp_path_factory):
    return made(tmp_path_factory.mktemp(request.param), **KINDS[request.param])


def exported(run, out, format, **settings):
    """Where it was exported to."""
    export(run, out, asked(format, **settings), lambda done, total: None)
    return out


def rows_of(run):
    """The rows of each split, as `datasets` reads the run."""
    splits = load_from_disk(str(run / "dataset"))
    return {split: splits[split].to_list() for split in splits}
