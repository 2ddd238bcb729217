"""A recipe is read in half a second: reading it loads nothing that compiles.

But for what kernels check: the words and n-grams of a language model that perplexity takes, hosts
that url_filter lists, and stop words with other letters than a to z.
"""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from tests.pipelines.train.quality import models as quality
from tokenmill.pipelines.prepare.recipe import STEPS

CHECKED_BY_KERNELS = {"perplexity"}
HEAVY = ("numba", "scipy", "datasets")
READ = """
import sys
from pathlib import Path
from tokenmill.pipelines.prepare.recipe import load_recipe
for path in sys.argv[1:]:
    recipe = load_recipe(Path(path))
    print(*(step.name for step in recipe.steps))
print(*(name for name in {heavy!r} if name in sys.modules))
"""


def settings(folder):
    """Of the steps that have no defaults for all they take."""
    words = folder / "words.txt"
    words.write_text("bad\n")
    scores = folder / "scores.parquet"
    pq.write_table(pa.table({"url": ["a"], "id": ["a"], "nsfw": [0.5]}), scores)
    return {
        "bad_words": {"words": {"file": str(words)}},
        "url_filter": {"words": ["bad"]},
        "quality": {"model": str(quality.saved(folder))},
        "image_scores": {"file": str(scores), "by": "url", "most": {"nsfw": 0.5}},
        "document_scores": {"file": str(scores), "by": "id", "most": {"nsfw": 0.5}},
        "decontaminate": {"benchmarks": [{"name": "gsm8k", "path": "gsm8k.jsonl"}]},
    }


def recipe(folder, name, steps, **others):
    path, given = folder / f"{name}.yaml", settings(folder)
    data = {"inputs": ["docs.jsonl"], "tokenizer": {"path": "gpt2"}, **others}
    data["steps"] = [{step: given.get(step, {})} for step in steps]
    path.write_text(json.dumps(data))
    return str(path)


def test_reading_a_recipe_of_every_step_loads_nothing_that_compiles(tmp_path):
    of_images = [name for name, step in STEPS.items() if step.needs_images]
    of_text = [name for name in STEPS if name not in {*of_images, *CHECKED_BY_KERNELS}]
    paths = [recipe(tmp_path, "text", of_text), recipe(tmp_path, "images", of_images, images={})]
    read = [sys.executable, "-c", READ.format(heavy=HEAVY), *paths]
    done = subprocess.run(read, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    texts, images, heavy = done.stdout.split("\n")[:3]
    assert {*texts.split(), *images.split()} == STEPS.keys() - CHECKED_BY_KERNELS
    assert heavy == ""
