"""Recipes of every step: what reading one loads, and by what a run of it is known."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.train.quality import models as quality
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import STEPS, Recipe, find_recipe, load_recipe, make_recipe

# Reading needs kernels for what they check: the words and n-grams of a language model, hosts that
# url_filter lists, and stop words with other letters than a to z. A condition is tried on no rows,
# for which Arrow loads pandas, if it is there, to make a constant.
CHECKED_BY_KERNELS = {"perplexity", "select"}
HEAVY = ("numba", "scipy", "datasets", "pandas")
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
        "fineweb2": {"language": "url"},
        "url_filter": {"words": ["bad"]},
        "quality": {"model": str(quality.saved(folder))},
        "image_scores": {"file": str(scores), "by": "url", "most": {"nsfw": 0.5}},
        "document_scores": {"file": str(scores), "by": "id", "most": {"nsfw": 0.5}},
        "decontaminate": {"benchmarks": [{"name": "gsm8k", "path": "gsm8k.jsonl"}]},
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"text": "a"}\n{"text": "b"}\n', "not YAML: "),
        ('[{"text": "a"}]', "a recipe is a mapping of settings, got list; "),
    ],
)
def test_documents_in_place_of_a_recipe_are_told_how_they_are_read(text, told, tmp_path):
    path = tmp_path / "docs.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as e:
        load_recipe(find_recipe(str(path)))
    assert str(e.value).startswith(f"{path}: {told}")
    assert str(e.value).endswith(f"; to read it, name a recipe, as plain, and --set inputs={path}")


def recipes(folder):
    """As data: all steps but those that kernels check, in one recipe of text and one of images."""
    given = settings(folder)
    for of_images in (False, True):
        names = [n for n, s in STEPS.items() if s.needs_images == of_images]
        steps = [{n: given.get(n, {})} for n in names if n not in CHECKED_BY_KERNELS]
        data = {
            "inputs": ["docs.jsonl"],
            "tokenizer": {"path": "a/b"},
            "steps": steps,
        }
        yield {**data, "images": {}} if of_images else data


def test_reading_a_recipe_of_every_step_loads_nothing_that_compiles(tmp_path):
    paths = [tmp_path / f"{i}.yaml" for i in range(2)]
    for path, recipe in zip(paths, recipes(tmp_path), strict=True):
        path.write_text(json.dumps(recipe))
    read = [sys.executable, "-c", READ.format(heavy=HEAVY), *map(str, paths)]
    done = subprocess.run(read, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    texts, images, heavy = done.stdout.split("\n")[:3]
    assert {*texts.split(), *images.split()} == STEPS.keys() - CHECKED_BY_KERNELS
    assert heavy == ""


# told of inputs that have them alone; failed_frac decides nothing that is written
UNSAID = {"join", "columns", "quote", "header", "roots", "exclude", "failed_frac"}


def test_a_run_is_known_by_all_settings_and_they_make_the_same_recipe_again(tmp_path):
    of_text, of_images = recipes(tmp_path)
    for data in (of_text, of_images):
        recipe = make_recipe(data, where="test")
        identity = recipe.identity()
        assert identity.keys() == Recipe.model_fields.keys() - {"run", "against"}
        for step in identity["steps"]:
            ((name, said),) = step.items()
            unsaid = STEPS[name].model_fields.keys() - said.keys()
            assert unsaid <= {"action", "column", "columns"}  # of what does not annotate
        for part in ("inputs", "output", "tokenizer", "limits"):
            one = getattr(recipe, part)
            told = identity[part][0] if part == "inputs" else identity[part]
            fields = type(one[0] if part == "inputs" else one).model_fields.keys()
            assert told.keys() == fields - UNSAID
        assert make_recipe(json.loads(json.dumps(identity)), where="test") == recipe


def test_a_column_of_several_inputs_has_one_kind():
    def columns(*kinds):
        inputs = [{"path": f"{k}.jsonl", "columns": {"score": k}} for k in kinds]
        made = make_recipe(
            {"inputs": inputs, "tokenizer": None, "output": {"text": "parquet"}}, where="test"
        )
        return [field.name for field in made.annotations]

    assert columns("int64") == columns("float64", "float64") == ["score"]
    with pytest.raises(ConfigError, match="1.columns: 'score' is int64 here, and float64 in"):
        columns("float64", "int64")
