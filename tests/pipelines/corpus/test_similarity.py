"""How similar a removed document is to the one that is kept, as its receipt tells."""

import json

import pytest

from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import make_recipe

WORDS = [f"word{n}" for n in range(124)]  # 120 shingles of 5


def changed(n):
    """So many words that are others, of five shingles each."""
    return " ".join("other" if i % 20 == 10 and i < 20 * n else w for i, w in enumerate(WORDS))


@pytest.mark.parametrize("cluster", ["stars", "components"])
def test_the_exact_similarity_of_each_is_that_of_its_shingles(cluster, tmp_path):
    docs = [changed(0), "nothing of the sort", changed(2), changed(1)]
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(docs)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    data = {
        "inputs": [str(tmp_path / "a.jsonl")],
        "steps": [{"near": {"cluster": cluster}}],
        "tokenizer": None,
        "output": {"text": "parquet"},
    }
    prepare(make_recipe(data, where="test"), tmp_path / "run", one_by_one)
    rows = removals(tmp_path / "run").to_pylist()
    told = {row["id"]: row["similarity"] for row in rows}
    assert told == {"2": pytest.approx(110 / 130), "3": pytest.approx(115 / 125)}
