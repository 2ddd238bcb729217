"""What of a mixture can be asked for, and what the weights then are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.tokens.mix.weights import weights
from tokenmill.pipelines.tokens.options import MOST_COPIES, Bucket, Mix

TWO = [{"path": "crawl.jsonl"}, {"path": "books.jsonl"}]
SHUFFLED = {"shuffle": True}


def recipe(inputs=TWO, output=SHUFFLED, **settings):
    data = {"inputs": inputs, "tokenizer": {"path": "gpt2.json"}, "output": output, **settings}
    return make_recipe(data, where="test")


REFUSED = {
    "a source that is none": (
        {"mix": {"shares": {"crawl": 0.6, "book": 0.4}}},
        "test: mix.shares: no source is called 'book'; did you mean 'books'?",
    ),
    "a name like no other": (
        {"mix": {"shares": {"crawl": 0.6, "books": 0.3, "wikipedia": 0.1}}},
        "test: mix.shares: no source is called 'wikipedia'; sources: books, crawl",
    ),
    "a source without a share": (
        {"mix": {"shares": {"crawl": 1}}},
        "test: mix.shares: source 'books' has no share; give it one, or leave its input out",
    ),
    "shares and weights": (
        {
            "inputs": [TWO[0], {**TWO[1], "weight": 2}],
            "mix": {"shares": {"crawl": 1, "books": 1}},
        },
        "test: inputs.1.weight and mix.shares both say how much of it; leave one of them out",
    ),
    "a weight of nothing": (
        {"inputs": [{**TWO[0], "weight": 0}]},
        "test: inputs.0.weight: a weight of 0 takes nothing; leave the input out",
    ),
    "a weight below nothing": (
        {"inputs": [{**TWO[0], "weight": -2}]},
        "test: inputs.0.weight: a weight is from 1e-06 to 1000, got -2",
    ),
    "a weight without an order": (
        {"inputs": [{**TWO[0], "weight": 0.5}], "output": {}},
        "test: inputs.0.weight: a mixture has no order of its own; add output.shuffle: true",
    ),
    "epochs without an order": (
        {"output": {"epochs": 2}},
        "test: output.epochs: a mixture has no order of its own; add output.shuffle: true",
    ),
    "images": (
        {"images": {}},
        "test: documents with images are not shuffled yet; leave out output.shuffle or 'images'",
    ),
    "an unknown key": (
        {"mix": {"shares": {"crawl": 1, "books": 1}, "token": 1}},
        "test: mix: unknown key 'token'; did you mean 'tokens'?",
    ),
}


@pytest.mark.parametrize(("settings", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_mixed_is_refused_in_one_line(settings, message):
    with pytest.raises(ConfigError) as caught:
        recipe(**settings)
    assert str(caught.value) == message


def test_a_recipe_is_known_by_its_mixture():
    identity = recipe(output={}).identity()
    assert identity["mix"] is None
    assert (identity["output"]["epochs"], identity["output"]["shuffle"]) == (1, False)
    assert [i["weight"] for i in identity["inputs"]] == [1.0, 1.0]
    mixed = recipe(mix={"shares": {"crawl": 1, "books": 2}, "tokens": "3M"}).identity()
    assert mixed["mix"] == {"shares": {"crawl": 1.0, "books": 2.0}, "tokens": 3e6}
    assert mixed["output"]["shuffle"]


def test_weights_are_those_of_gpt_3():
    """Brown et al. 2020, table 2.2: tokens, weight in the mix, epochs of 300 billion tokens."""
    table = {
        "Common Crawl": (410, 0.60, 0.44),
        "WebText2": (19, 0.22, 2.9),
        "Books1": (12, 0.08, 1.9),
        "Books2": (55, 0.08, 0.43),
        "Wikipedia": (3, 0.03, 3.4),
    }
    mix = Mix(shares={name: row[1] for name, row in table.items()}, tokens="300B")
    found = weights(mix, {name: row[0] * 10**9 for name, row in table.items()})
    for name, (_, _, epochs) in table.items():
        # theirs are off the shares that they print by up to a fifth: WebText2, 3.4
        assert found[name] == pytest.approx(epochs, rel=0.2), name


shared = st.dictionaries(st.sampled_from("abcd"), st.floats(0.01, 1), min_size=1)


@given(shared, st.lists(st.integers(1, 10**12), min_size=4, max_size=4))
def test_without_tokens_nothing_is_repeated_and_one_source_is_taken_whole(shares, counts):
    tokens = dict(zip("abcd", counts, strict=True))
    found = weights(Mix(shares=shares), {name: tokens[name] for name in shares})
    assert max(found.values()) == pytest.approx(1.0)
    total = sum(found[name] * tokens[name] for name in shares)
    for name, share in shares.items():
        assert found[name] * tokens[name] / total == pytest.approx(share / sum(shares.values()))


def test_a_source_of_which_nothing_is_left_leaves_its_share_to_the_others():
    mix = Mix(shares={"a": 0.5, "b": 0.25, "c": 0.25}, tokens=100)
    assert weights(mix, {"a": 0, "b": 100, "c": 25}) == {"a": 1.0, "b": 0.5, "c": 2.0}
    assert weights(mix, {"a": 0, "b": 0, "c": 0}) == {"a": 1.0, "b": 1.0, "c": 1.0}


@pytest.mark.parametrize("epochs", [1, 4])
def test_a_document_may_stand_in_all_epochs_as_often_as_the_limit_says(epochs):
    most = MOST_COPIES / epochs
    assert weights(Mix(shares={"a": 1}, tokens=10 * most), {"a": 10}, epochs=epochs) == {"a": most}
    with pytest.raises(ConfigError, match="'a' has 10 tokens, and would be repeated 1,000,00"):
        weights(Mix(shares={"a": 1}, tokens=10 * (most + 1)), {"a": 10}, epochs=epochs)


def test_a_source_too_small_for_its_share_is_named():
    mix = Mix(shares={"crawl": 0.5, "books": 0.5}, tokens="300B")
    with pytest.raises(ConfigError) as caught:
        weights(mix, {"crawl": 10**12, "books": 10})
    assert str(caught.value) == (
        "mix: source 'books' has 10 tokens, and would be repeated 15,000,000,000 times;"
        " lower its share, or mix.tokens"
    )


def test_buckets_without_names_are_numbered_from_the_lowest():
    assert Bucket(of="score", cuts=[0.5, 0.9]).called == ("1", "2", "3")
    assert Bucket(of="score", cuts=[0.5], names=["low", "high"]).called == ("low", "high")
