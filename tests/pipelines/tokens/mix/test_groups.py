"""Mixtures by annotations: groups of several columns, buckets by quantile, weights of a column."""

import csv
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from hypothesis import example, given
from hypothesis import strategies as st

from tests.e2e.corpus import prose
from tests.pipelines.conftest import train
from tests.running import KilledError, killed_in, one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.tokens.mix.groups import Grouping, own_weights
from tokenmill.pipelines.tokens.options import MOST_COPIES, Mix

TOPICS = ("law", "art", "sport")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of two files with a topic, a quality and a weight each, and a tokenizer."""
    folder = tmp_path_factory.mktemp("groups")
    train(folder)
    draw = np.random.default_rng(7)
    docs = prose()[:160]
    for name, some in (("web", docs[:100]), ("books", docs[100:])):
        with (folder / f"{name}.csv").open("w", newline="") as f:
            write = csv.writer(f).writerow
            write(["id", "text", "topic", "quality", "times"])
            for i, text in enumerate(some):
                topic = "" if i % 20 == 7 else TOPICS[int(draw.integers(3))]
                write([f"{name}-{i}", text, topic, round(draw.random(), 4), i % 3])
    return folder


COLUMNS = {"topic": "string", "quality": "float64", "times": "int64"}


def recipe(corpus, mix, **output):
    return make_recipe(
        {
            "inputs": [
                {"path": str(corpus / f"{n}.csv"), "columns": COLUMNS} for n in ("web", "books")
            ],
            "tokenizer": {"path": str(corpus / "tokenizer.json")},
            "output": {"shuffle": True, **output},
            "mix": mix,
        },
        where="recipe.yaml",
    )


def rows(corpus):
    found = {}
    for name in ("web", "books"):
        with (corpus / f"{name}.csv").open(newline="") as f:
            found |= {row["id"]: {**row, "source": name} for row in csv.DictReader(f)}
    return found


BY_BOTH = {
    "by": ["topic", "quality_bucket"],
    "buckets": {
        "quality_bucket": {"of": "quality", "cuts": [0.5, 0.9], "names": ["low", "mid", "top"]}
    },
    "shares": {"law": {"low": 1, "*": 3}, "art": 2, "null": 1},
}


def bucket(rows, row):
    values = sorted(float(r["quality"]) for r in rows.values())
    cuts = [values[int(share * len(values))] for share in (0.5, 0.9)]
    return ("low", "mid", "top")[sum(float(row["quality"]) >= cut for cut in cuts)]


def group(rows, row):
    """By the obvious rule; None for what has no share."""
    if row["topic"] == "law":
        return "law / low" if bucket(rows, row) == "low" else "law / *"
    return {"art": "art", "": "null"}.get(row["topic"])


def test_groups_come_to_their_shares_and_what_has_none_says_so(corpus, tmp_path):
    report = prepare(recipe(corpus, BY_BOTH, text="parquet"), tmp_path / "run", one_by_one)
    known, dataset = rows(corpus), load_from_disk(str(tmp_path / "run" / "dataset"))
    tokens = Counter()
    for row in dataset:
        tokens[group(known, known[row["id"]])] += len(row["input_ids"])
    mixture = report["mixture"]
    assert mixture["by"] == ["topic", "quality_bucket"]
    told = {name: of["dataset_tokens"] for name, of in mixture["sources"].items()}
    assert told.pop("(no share)") == 0
    assert told == dict(tokens)
    longest = max(len(row["input_ids"]) for row in dataset)
    for name, share in {"law / low": 1, "law / *": 3, "art": 2, "null": 1}.items():
        whole = sum(tokens.values())
        # one group is taken whole; of the others chance decides, document by document
        assert abs(tokens[name] - whole * share / 7) < 4 * longest, name
        assert mixture["sources"][name]["epochs"] <= 1.0 + 1e-9
    removed = pq.read_table(tmp_path / "run" / "removed").to_pylist()
    reasons = {row["id"]: row["reason"] for row in removed}
    assert {i for i, r in reasons.items() if r == "no_share"} == {
        i for i, row in known.items() if group(known, row) is None
    }
    assert len(reasons) + len(set(dataset["id"])) == len(known)
    text = pq.read_table(tmp_path / "run" / "text")
    assert text["id"].to_pylist() == dataset["id"]
    assert set(text["topic"].to_pylist()) <= {None, "law", "art"}


def test_a_column_weighs_documents(corpus, tmp_path):
    made = recipe(corpus, {"weights": "times", "by": ["source", "topic"]}, validation_frac=0.1)
    report = prepare(made, tmp_path / "run", one_by_one)
    known, dataset = rows(corpus), load_from_disk(str(tmp_path / "run" / "dataset"))
    counted = Counter(dataset["train"]["id"])
    once = set(dataset["validation"]["id"])
    for i, row in known.items():
        assert counted[i] == (0 if i in once else int(row["times"]))
    docs = Counter()
    for i, n in counted.items():
        docs[f"{known[i]['source']} / {known[i]['topic'] or 'null'}"] += n
    told = {name: of["dataset_docs"] for name, of in report["mixture"]["sources"].items()}
    assert {name: n for name, n in told.items() if n} == dict(docs)
    assert "topic" not in dataset["train"].column_names


def test_the_run_before_does_not_decide_and_workers_neither(corpus, tmp_path):
    for name, shard_bytes in (("one", 1 << 28), ("two", 1 << 14)):
        made = recipe(corpus, BY_BOTH).model_copy(update={"shard_bytes": shard_bytes})
        prepare(made, tmp_path / name, one_by_one)
    one, two = (load_from_disk(str(tmp_path / name / "dataset")) for name in ("one", "two"))
    assert one["id"] == two["id"]
    planned = dry_run(recipe(corpus, BY_BOTH), tmp_path / "three")
    assert "law / *: 42.86 % of the tokens" in planned["mixture"]


def test_a_run_killed_while_it_counts_groups_is_continued(corpus, tmp_path):
    made = recipe(corpus, BY_BOTH, text="parquet").model_copy(update={"shard_bytes": 1 << 14})
    for name in ("mix-cuts", "mix groups", "mix"):
        with pytest.raises(KilledError):
            prepare(made, tmp_path / "run", killed_in(name))
    prepare(made, tmp_path / "run", one_by_one)
    prepare(made, tmp_path / "whole", one_by_one)
    for name in ("dataset", "text"):
        files = [p for p in sorted((tmp_path / "whole" / name).rglob("*")) if p.is_file()]
        assert files
        for path in files:
            other = tmp_path / "run" / path.relative_to(tmp_path / "whole")
            assert other.read_bytes() == path.read_bytes(), path.name


@example([("law", 0.25), ("law", 0.75), ("law", None)])
@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from(["law", "art", "x"]),
            st.none() | st.floats(0, 1, allow_nan=False),
        ),
        max_size=20,
    )
)
def test_groups_are_those_that_one_document_at_a_time_gets(documents):
    mix = Mix.model_validate(BY_BOTH)
    batch = pa.record_batch(
        [
            pa.array([topic for topic, _ in documents], pa.string()),
            pa.array([quality for _, quality in documents], pa.float64()),
        ],
        ["topic", "quality"],
    )
    cuts = {"quality_bucket": [0.25, 0.75]}
    weights = {name: i + 1.0 for i, name in enumerate(mix.named)}
    grouping = Grouping(mix=mix, cuts=cuts, weights=weights)
    which, names = grouping.of(batch)
    for at, (topic, quality) in zip(which.tolist(), documents, strict=True):
        place = (
            None
            if quality is None
            else ("low", "mid", "top")[(quality >= 0.25) + (quality >= 0.75)]
        )
        if topic == "law":
            expected = "law / low" if place == "low" else "law / *"
        else:
            expected = {"art": "art", None: "null"}.get(topic, "")
        assert names[at] == expected
    assert grouping.weights_of(batch).tolist() == [weights.get(names[at], 0.0) for at in which]


def test_numbers_and_words_that_yaml_reads_are_names_of_groups():
    shares = {4: {2: 0.5, "*": 0.1}, True: 0.2, None: 0.1}
    mix = Mix.model_validate({"by": ["a", "b"], "shares": shares})
    assert mix.named == {"4 / 2": 0.5, "4 / *": 0.1, "true": 0.2, "null": 0.1}
    paths = (["4", "2"], ["4", None], ["true", "x"], [None, "x"], ["2", "2"])
    assert [mix.group(path) for path in paths] == ["4 / 2", "4 / *", "true", "null", ""]


@pytest.mark.parametrize(
    ("mix", "why"),
    [
        ({"by": ["topic"], "shares": {"law": {"x": 1}}}, "shares.law.x: 2 deep, and by names 1"),
        ({"by": ["topic"], "shares": {"law": 0}}, "a share is a number above 0, got 0"),
        ({"by": ["topic"], "shares": {"law": float("nan")}}, "a number above 0, got nan"),
        ({"by": ["topic"], "shares": {"law": float("inf")}}, "a number above 0, got inf"),
        ({"by": ["topic"], "shares": {"law": True}}, "a number above 0, got True"),
        ({"by": ["topic"], "shares": {1: 1, "1": 2}}, "shares: '1' stands twice"),
        ({"by": ["topics"], "shares": {"law": 1}}, "no column 'topics'; there are topic"),
        ({"by": ["quality"], "shares": {"1": 1}}, "cut it into buckets, as buckets: {quality"),
        ({"weights": "topic"}, "column 'topic' is string, not numbers"),
        ({"weights": "times", "shares": {"web": 1}}, "give shares, or weights"),
        ({}, "give shares, or weights"),
        ({"weights": "times", "tokens": 5}, "leave out tokens"),
        (
            {
                "by": ["topic"],
                "shares": {"law": 1},
                "buckets": {"b": {"of": "quality", "cuts": [0.5]}},
            },
            "buckets.b: not in by",
        ),
        (
            {
                "by": ["b"],
                "shares": {"1": 1},
                "buckets": {"b": {"of": "quality", "cuts": [0.5, 0.2]}},
            },
            "are to be ascending",
        ),
        (
            {
                "by": ["b"],
                "shares": {"low": 1},
                "buckets": {"b": {"of": "quality", "cuts": [0.5], "names": ["low", "low", "high"]}},
            },
            "1 cuts make 2 buckets; name each",
        ),
    ],
)
def test_a_mixture_that_does_not_fit_is_refused(corpus, mix, why):
    with pytest.raises(ConfigError) as e:
        recipe(corpus, mix)
    assert why in str(e.value)


def test_shares_that_no_document_has_are_told(corpus, tmp_path):
    mix = {"by": ["topic"], "shares": {"law": 1, "lw": 1}}
    told = prepare(recipe(corpus, mix), tmp_path / "run", one_by_one)["mixture"]["sources"]
    assert (told["lw"]["docs"], told["lw"]["dataset_tokens"]) == (0, 0)
    assert told["law"]["share"] == 1.0
    with pytest.raises(ConfigError, match="none of 160 documents has a share: of topic they have"):
        prepare(recipe(corpus, {"by": ["topic"], "shares": {"lw": 1}}), tmp_path / "r", one_by_one)


@pytest.mark.parametrize(
    ("weight", "fits"),
    [(0, True), (-1e-9, False), (MOST_COPIES, True), (MOST_COPIES + 1, False), (None, True)],
)
def test_a_weight_is_from_0_to_the_limit(weight, fits):
    rows = pa.record_batch({"id": ["a", "b"], "times": pa.array([1.5, weight], pa.float64())})
    if fits:
        assert own_weights(rows, "times").tolist() == [1.5, weight or 0]
    else:
        with pytest.raises(ConfigError, match="document 'b' has times"):
            own_weights(rows, "times")


def test_a_weight_beyond_bounds_names_the_document(corpus, tmp_path):
    lines = [{"id": "a", "text": "t", "times": 1}, {"id": "b", "text": "t", "times": -2}]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made = make_recipe(
        {
            "inputs": [{"path": str(tmp_path / "d.jsonl"), "columns": {"times": "int64"}}],
            "tokenizer": {"path": str(corpus / "tokenizer.json")},
            "output": {"shuffle": True},
            "mix": {"weights": "times"},
        },
        where="r",
    )
    with pytest.raises(ConfigError, match="document 'b' has times -2; weights are from 0"):
        prepare(made, tmp_path / "run", one_by_one)
