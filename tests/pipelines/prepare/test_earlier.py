"""Which runs a run can stand against, told before anything is read."""

import json
import shutil

import pytest

from tests.pipelines.chains import Runs, index, words
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.against import earlier_runs, first_ordinal, holder, remarks
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import Recipe

DOCS = {name: [words(f"{name}{i}") for i in range(5)] for name in "abc"}
PARAGRAPHS = {"repeated_paragraphs": {"within": "corpus"}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs a, b against a, and c alone; d has no dataset yet."""
    runs = Runs(tmp_path_factory.mktemp("chain"))
    runs.make("a", DOCS["a"])
    runs.make("b", DOCS["b"], against=["a"])
    runs.make("c", DOCS["c"])
    runs.make("bare", DOCS["a"], keep_index=False)
    runs.write("d", DOCS["a"])
    return runs


def refusal(runs, *against, **settings):
    with pytest.raises(ConfigError) as e:
        plan_run(runs.recipe("d", against=against, **settings))
    return str(e.value).replace(f"{runs.folder}/", "")


def test_shards_go_on_where_those_of_earlier_runs_end(runs):
    alone = plan_run(runs.recipe("d"))
    a, b = earlier_runs(runs.recipe("d", against=["a", "b"]))
    plan = plan_run(runs.recipe("d", against=["a", "b"]))
    assert (a.docs, b.docs) == (index(a.out).num_rows, index(b.out).num_rows) == (5, 5)
    assert a.index_bytes == sum(p.stat().st_size for p in (a.out / "index").iterdir())
    assert [s.ordinal for s in plan.shards] == [
        s.ordinal + a.shards + b.shards for s in alone.shards
    ]
    assert [s.key for s in plan.shards] == [s.key for s in alone.shards]
    assert [first_ordinal(r.out) for r in (a, b)] == [0, a.shards]
    manifest = json.loads((b.out / "manifest.json").read_text())
    assert holder(manifest, (a.shards << 32) - 1) == a.out
    assert holder(manifest, a.shards << 32) is None


def test_what_a_run_holds_decides_and_not_where_it_lies(runs, tmp_path):
    recipe = runs.recipe("d", against=["a"])
    moved = recipe.model_copy(update={"against": (str(tmp_path / "moved"),)})
    shutil.copytree(runs.folder / "a", tmp_path / "moved")
    assert plan_run(moved).identity() == plan_run(recipe).identity()
    assert moved.identity() == recipe.identity() == runs.recipe("d").identity()
    other = plan_run(runs.recipe("d", against=["c"])).identity()
    assert other["against"] != plan_run(recipe).identity()["against"]
    assert plan_run(runs.recipe("d")).identity()["against"] == []


def test_a_run_is_not_continued_against_others(runs, tmp_path):
    out = runs.make("e", DOCS["a"], against=["a"])
    digests = [
        plan_run(runs.recipe("e", against=[a])).identity()["against"][0]["index"][:8] for a in "ac"
    ]
    for against, now in (((), "none"), (("c",), f"earlier runs of index {digests[1]}")):
        with pytest.raises(ConfigError) as e:
            prepare(runs.recipe("e", against=against), out, one_by_one)
        assert str(e.value) == (
            f"{out}: made by another run: it stood against earlier runs of index {digests[0]}, now"
            f" against {now}; choose another --out, or delete this one"
        )


REFUSALS = {
    ("nowhere",): "against.0: nowhere: no run here (no manifest.json);"
    " name a directory that prepare made",
    ("bare",): "against.0: bare: keeps no index of what it holds; run it again into a new --out"
    " with run.keep_index: true",
    ("b",): "against.0: b: was itself made against a, and before it stands none here;"
    " list all of a chain, oldest first, as they were then",
    ("c", "b"): "against.1: b: was itself made against a, and before it stands c here;"
    " list all of a chain, oldest first, as they were then",
    ("a", "c"): "against.1: c: was not made against a, so both number their documents alike and may"
    " hold the same ones; make it again with against: [a]",
}


@pytest.mark.parametrize(("against", "message"), REFUSALS.items(), ids=map(str, REFUSALS))
def test_a_run_that_cannot_be_stood_against_is_refused(runs, against, message):
    assert refusal(runs, *against) == message


OTHER_KEYS = {
    "exact": (
        ["normalize", {"exact": {"digest": "xxh3"}}, "near"],
        'makes other keys: exact.digest is "md5" there, "xxh3" here; give this recipe the same'
        " settings",
    ),
    "near": (
        ["exact", {"near": {"bands": 7, "rows": 10, "ngram": 3}}],
        "makes other keys: near.bands is 14 there, 7 here; near.ngram is 5 there, 3 here;"
        " near.rows is 5 there, 10 here; give this recipe the same settings",
    ),
    "samples": (
        ["exact", {"near": {"samples": "captions"}}],
        'makes other keys: near.samples is not set there, "captions" here; give this recipe the'
        " same settings",
    ),
    "steps": (
        ["exact"],
        "finds duplicates by exact, near there, by exact here; give this recipe the same steps",
    ),
    "between": (
        ["exact", "normalize", "near"],
        "finds duplicates by exact, near there, by exact, near here, with other steps between;"
        " give this recipe the same steps",
    ),
}


@pytest.mark.parametrize(("steps", "message"), OTHER_KEYS.values(), ids=OTHER_KEYS)
def test_keys_that_cannot_be_compared_are_named(runs, steps, message):
    assert refusal(runs, "a", steps=steps) == f"against.0: a: {message}"


def test_an_index_without_sets_of_shingles_is_refused(runs):
    """As a version kept it that had signatures alone: its settings tell of no similarity."""
    shutil.copytree(runs.folder / "a", runs.folder / "old")
    told = b'"similarity": "exact", '
    for path in (runs.folder / "old" / "index").iterdir():
        data = path.read_bytes()
        assert told in data
        path.write_bytes(data.replace(told, b" " * len(told)))
    assert refusal(runs, "old") == (
        "against.0: old: its index was made by another version of tokenmill, and lacks keys that"
        " exact, near needs; run it again into a new --out with run.keep_index: true, or give near"
        " similarity: estimate, as it was then"
    )


def test_what_does_not_touch_keys_may_differ(runs):
    steps = [{"gopher_quality": {}}, "exact", {"near": {"verify": 0.9}}, {"fineweb": {}}]
    recipe = runs.recipe("d", against=["a"], steps=steps)
    assert remarks(recipe, plan_run(recipe).against) == [
        f"{runs.folder}/a was made with other steps or settings before its last keys: where these"
        " edit, the same document has other keys"
    ]


def test_what_counts_in_one_run_alone_is_told(runs):
    recipe = runs.recipe("d", against=["a"], steps=["normalize", "exact", "near", PARAGRAPHS])
    assert remarks(recipe, plan_run(recipe).against) == [
        "repeated_paragraphs counts in this run alone: what earlier runs hold adds nothing"
    ]
    alone = runs.recipe("d", steps=["exact", PARAGRAPHS])
    assert remarks(alone, plan_run(alone).against) == []


def test_what_earlier_runs_hold_cannot_give_way(runs):
    out = runs.make("urls", DOCS["a"], steps=["same_url"])
    assert refusal(runs, out.name, steps=["same_url"]) == (
        "d: same_url keeps the last of equal documents, and what earlier runs hold stays;"
        " give it keep: first"
    )
    first = runs.recipe("d", against=[out.name], steps=[{"same_url": {"keep": "first"}}])
    assert plan_run(first).against[0].out == out


def test_documents_without_keys_can_stand_against_none(runs):
    assert refusal(runs, "a", steps=["normalize"], keep_index=False) == (
        "d: against: no step of the recipe finds duplicates, so documents have no keys;"
        " add one, as exact or near, or leave it out"
    )


@pytest.fixture
def copied(runs):
    """A copy of run a, to be spoilt."""
    shutil.copytree(runs.folder / "a", runs.folder / "spoilt")
    yield runs.folder / "spoilt"
    shutil.rmtree(runs.folder / "spoilt")


AGAIN = "run it again into a new --out with run.keep_index: true"


def test_an_index_that_is_not_whole_is_refused(runs, copied):
    path = sorted((copied / "index").iterdir())[1]
    told = f"against.0: spoilt: index/{path.name} is gone, or not whole; {AGAIN}"
    path.write_bytes(path.read_bytes()[:-1])
    assert refusal(runs, "spoilt") == told
    path.unlink()
    assert refusal(runs, "spoilt") == told


STATUSES = {
    "running": "has not finished; run prepare again to continue it",
    "partial": "some of its shards failed; run it again, or without the files that fail",
}


@pytest.mark.parametrize(("status", "message"), STATUSES.items())
def test_a_run_that_has_not_finished_is_refused(runs, copied, status, message):
    path = copied / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "status": status}))
    assert refusal(runs, "spoilt") == f"against.0: spoilt: {message}"


def test_what_is_no_run_of_prepare_is_refused(runs, copied):
    (copied / "manifest.json").write_text(json.dumps({"identity": {"check": {}}}))
    assert refusal(runs, "spoilt") == (
        "against.0: spoilt: made by contamination, not by prepare; see spoilt/contamination.html"
    )


def test_a_run_does_not_stand_against_itself(runs):
    with pytest.raises(ConfigError) as e:
        prepare(runs.recipe("d", against=["a"]), runs.folder / "a", one_by_one)
    assert str(e.value) == (
        f"against.0: {runs.folder}/a is the run directory itself; choose another --out"
    )


def test_earlier_runs_lie_on_disk(runs):
    recipe = runs.recipe("d").model_copy(update={"against": ("s3://bucket/run",)})
    with pytest.raises(ConfigError) as e:
        earlier_runs(recipe)
    assert str(e.value) == (
        "against.0: s3://bucket/run: earlier runs are read from disk; copy its manifest.json and"
        " index/ to a folder, and name that"
    )


def test_a_recipe_names_each_run_once_by_where_it_lies(runs):
    data = runs.recipe("d").model_dump(mode="json")
    assert Recipe.model_validate({**data, "against": "/x/a"}).against == ("/x/a",)
    with pytest.raises(ValueError, match="/x/a stands twice; name each run once"):
        Recipe.model_validate({**data, "against": ["/x/a", "/x/b", "/x/a"]})


def test_a_dry_run_shows_what_is_held(runs, tmp_path):
    planned = dry_run(runs.recipe("d", against=["a", "b"]), tmp_path / "run")
    assert [run["docs"] for run in planned["against"]["runs"]] == [5, 5]
    assert planned["against"]["remarks"] == []
    assert planned["disk_needed_bytes"]["index"] > 0
    alone = dry_run(runs.recipe("d", keep_index=False), tmp_path / "run")
    assert "against" not in alone
    assert "index" not in alone["disk_needed_bytes"]


def test_measure_predicts_no_run_that_stands_against_others(runs, tmp_path):
    recipe = runs.recipe("d", against=["a"])
    with pytest.raises(ConfigError) as e:
        measure_corpus(Measuring(recipe=recipe), tmp_path / "estimate.json", one_by_one)
    assert str(e.value) == (
        "against: what inputs have in common with earlier runs is not predicted;"
        " --set against=[] measures the inputs alone, of which a run keeps no more"
    )
    assert recipe.digest() != runs.recipe("d").digest()  # no estimate is taken for it
