"""What a mistake in a recipe reads like: one line with the place, the value and the way out."""

import pytest
from pydantic import ValidationError

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import make_recipe


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"images": {"tokens": {"patches": 14}}},
            "images.tokens: unknown key 'patches'; did you mean 'patch'?",
        ),
        (
            {"images": {"tokens": -1}},
            "images.tokens: Input should be greater than or equal to 0, got -1",
        ),
        (
            {"images": {"tokens": {"patch": 0}}},
            "images.tokens.patch: Input should be greater than or equal to 1, got 0",
        ),
        (
            {"inputs": [{"path": "a", "format": "markdwon"}]},
            "inputs.0.format: Input should be 'jsonl', 'parquet', 'arrow', 'csv', 'tsv', 'text',"
            " 'webdataset', 'markdown' or 'warc', or 'dataset', or 'run', got 'markdwon'",
        ),
        (
            {"steps": [{"gopher_quality": {"stop_words": "the"}}]},
            "steps.0: gopher_quality: stop_words: expected a list, as [A, B], got 'the'",
        ),
        (
            {"steps": [{"images": {"min_size": 100}}]},
            "steps.0: images: unknown key 'min_size'; did you mean 'min_side'?",
        ),
        (
            {"images": None, "steps": ["images"]},
            "step 'images' is about images, and the recipe has no section 'images'; add one,"
            " 'images: {}' will do",
        ),
        (
            {"output": {"seq_len": 8}},
            "output: sequences of 8 tokens would part documents from their images; leave"
            " output.seq_len out in a recipe with images",
        ),
        (
            {"images": {"max_bytes": "4XB"}},
            "images.max_bytes: '4XB' is not a quantity of bytes or bits; accepted: 256kB, 15TB,"
            " 7.3TiB",
        ),
        (
            {"steps": [{"decontaminate": {"benchmark": ["gsm8k"]}}]},
            "steps.0: decontaminate: unknown key 'benchmark'; did you mean 'benchmarks'?",
        ),
        ({"input": ["b"], "inputs": None}, "unknown key 'input'; did you mean 'inputs'?"),
        ({"tokenizer": "t.json"}, "tokenizer: expected settings, as {path: …}, got 't.json'"),
        ({"inputs": []}, "inputs: no input; write inputs: [{path: …}], or --set inputs=PATH"),
    ],
)
def test_what_a_mistake_reads_like(settings, message):
    recipe = {"inputs": ["a"], "tokenizer": {"path": "t.json"}, "images": {}, **settings}
    with pytest.raises(ConfigError) as mistake:
        make_recipe(recipe, where="r.yaml")
    assert str(mistake.value) == f"r.yaml: {message}"


@pytest.mark.parametrize(
    ("step", "key"), [("c4", "words"), ("near", "threshold"), ("length", "min_words")]
)
def test_a_key_that_is_gone_or_of_another_step_is_not_taken_for_one_misspelt(step, key):
    recipe = {"inputs": ["a"], "tokenizer": {"path": "t.json"}, "steps": [{step: {key: 1}}]}
    with pytest.raises(ConfigError, match=f"{step}: unknown key '{key}'; known keys: "):
        make_recipe(recipe, where="r.yaml")


@pytest.mark.parametrize("size", ["7" * 20_000, f"{'7' * 20_000}GB", f"1e{'7' * 20_000}GB"])
def test_a_size_of_20000_digits_is_one_line_that_can_be_read(size):
    data = {"name": "x", "inputs": ["x"], "tokenizer": {"path": "o/t"}}
    with pytest.raises(ConfigError, match="^recipe: limits.max_document_bytes: ") as caught:
        make_recipe({**data, "limits": {"max_document_bytes": size}}, where="recipe")
    assert len(str(caught.value)) < 1200
    assert "\n" not in str(caught.value)


class Limits(Config):
    min_at: int | str | dict[str, int] = 0
    max_at: int | float | str | dict[str, int] | None = None


def test_limits_of_which_none_is_over_the_other_are_no_mistake():
    for low, high in ((3, "2"), ("3", 2), ({"a": 1}, {"a": 0}), (3, 3), ("a", "b"), (3, None)):
        assert Limits(min_at=low, max_at=high).min_at == low
    for low, high in ((3, 2), (3, 2.5), ("b", "a")):
        with pytest.raises(ValidationError, match=f"min_at {low} is over max_at {high}; nothing"):
            Limits(min_at=low, max_at=high)
