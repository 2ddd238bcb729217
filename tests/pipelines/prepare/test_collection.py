"""A collection takes each file once, whatever happens to a night, and tells what it does not."""

import fcntl
import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
import yaml
from datasets import load_from_disk

from tests.apart import apart
from tests.pipelines.chains import Runs, rows, words
from tests.pipelines.prepare.ingested import MOMENTS, ingest, killed, night
from tests.running import one_by_one, prepare
from tests.strategies import THOROUGH
from tokenmill.flows.cli import main
from tokenmill.pipelines.contamination.check import Check, check_contamination
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.prepare.collection import Collection, held_collection
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.manifest import flocked
from tokenmill.sizing.corpus import load_corpus

N_NIGHTS = 10 if THOROUGH else 5


class Nights(Runs):
    """Files of a folder, and a collection that they are ingested into."""

    def __init__(self, folder):
        super().__init__(folder)
        (folder / "in").mkdir()
        self.into = folder / "collection"

    def bring(self, name, *docs):
        return self.write(f"in/{name}", [words(doc, 40) for doc in docs])

    def data(self, **settings):
        recipe = self.recipe("in/*", steps=["normalize", "exact"], keep_index=False, **settings)
        return {**recipe.model_dump(mode="json"), "name": "docs"}

    def ingest(self, again=False, **settings):
        return ingest(make_recipe(self.data(**settings), where="t"), str(self.into), again=again)

    def refusal(self, **settings):
        with pytest.raises(ConfigError) as e:
            self.ingest(**settings)
        return str(e.value).removeprefix(f"{self.into}: ")


@pytest.fixture
def nights(tmp_path):
    return Nights(tmp_path)


def kept(folder):
    return [row["id"] for row in load_from_disk(str(folder / "dataset"))]


def test_each_night_takes_what_is_new_and_holds_it_against_the_runs_before(nights):
    nights.bring("a", "x", "y")
    first = nights.ingest()
    nights.bring("b", "y", "z")
    second = nights.ingest()
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert (first["made"], second["made"]) == ([f"{today}-0001"], [f"{today}-0002"])
    assert kept(nights.into) == ["in/a-0", "in/a-1", "in/b-1"]
    assert [r["against"] for r in second["runs"]] == [{}, {"exact": 1}]
    third = nights.ingest()
    assert third == {**second, "made": []}
    page = (nights.into / "report.html").read_text()
    assert first["made"][0] in page
    assert "exact_duplicate" in page


def test_a_file_that_changed_or_went_is_told_and_read_again_only_if_asked(nights):
    a, b = nights.bring("a", "x"), nights.bring("b", "y")
    nights.ingest()
    b.unlink()
    nights.bring("a", "x", "new")
    changed = f"{a} has changed since it was taken: not read again"
    gone = f"{b} is gone since it was taken: its documents stay"
    assert nights.ingest()["told"] == [changed, gone]
    found = nights.ingest(again=True)
    assert found["told"] == [gone]
    assert [len(found["made"]), found["runs"][-1]["docs"]] == [1, 1]
    assert nights.ingest(again=True)["made"] == []
    assert kept(nights.into) == ["in/a-0", "in/b-0", "in/a-1"]


def test_a_file_of_which_nothing_could_be_read_is_taken_once_it_is_mended(nights):
    nights.bring("a", "x")
    (nights.folder / "in" / "bad.parquet").write_bytes(b"no")
    recipe = make_recipe({**nights.data(), "inputs": [str(nights.folder / "in")]}, where="t")
    first = ingest(recipe, str(nights.into))
    assert ingest(recipe, str(nights.into))["made"] == []
    (nights.folder / "in" / "bad.parquet").write_bytes(b"not yet")
    nights.bring("b", "y")
    second = ingest(recipe, str(nights.into))
    assert [r["files"] for r in second["runs"]] == [2, 2]
    assert len(first["made"]) == len(second["made"]) == 1


@pytest.mark.parametrize("moment", ["begun", "worked"])
def test_a_killed_night_is_continued_before_new_files_are_taken(nights, moment):
    nights.bring("a", "x", "y")
    path = nights.folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(nights.data()))
    assert apart(killed, str(path), str(nights.into), moment, "1").returncode == -9
    nights.bring("b", "z")
    found = nights.ingest()
    assert [r["files"] for r in found["runs"]] == ([2] if moment == "begun" else [1, 1])
    assert kept(nights.into) == ["in/a-0", "in/a-1", "in/b-0"]


def test_a_killed_night_whose_files_changed_begins_anew(nights):
    nights.bring("a", "x", "y")
    path = nights.folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(nights.data()))
    assert apart(killed, str(path), str(nights.into), "dataset", "1").returncode == -9
    a = nights.bring("a", "x", "other", "more")
    found = nights.ingest()
    assert found["told"] == [
        f"{found['made'][0]} had not finished and begins anew: {a} has changed since"
    ]
    assert kept(nights.into) == ["in/a-0", "in/a-1", "in/a-2"]


def test_many_nights_take_each_document_once_as_one_run_does(nights):
    """Each night brings a file with new documents and copies. Some are killed; files that were
    taken change and go; and some nights two begin at once.
    """
    draw, path, names = random.Random(5), nights.folder / "recipe.yaml", list(MOMENTS)
    path.write_text(yaml.safe_dump(nights.data()))
    brought, told = {}, []
    for number in range(N_NIGHTS):
        old = [f"d{draw.randrange(max(number, 1) * 2)}" for _ in range(2)]
        name, docs = f"f{number:02d}", [*old, *(f"d{number * 2 + i}" for i in range(2))]
        brought[name] = nights.bring(name, *docs), docs
        if number % 3 != 2:
            moment = names[number % len(names)]
            ended = apart(killed, str(path), str(nights.into), moment, "1")
            assert ended.returncode == -9, ended.stderr
        if number % 4 == 3:
            with ThreadPoolExecutor(2) as both:
                ended = list(both.map(lambda _: apart(night, str(path), str(nights.into)), "ab"))
            assert {e.returncode for e in ended} in ({0}, {0, 2}), ended
            refused = [e.stderr for e in ended if e.returncode]
            assert all("another run is at work in it; wait for it" in line for line in refused)
            nights.bring(name, *docs, "new in what was taken")
            told.append(f"{brought[name][0]} has changed since it was taken: not read again")
        if number == N_NIGHTS - 2:
            brought["f01"][0].unlink()
            told.append(f"{brought['f01'][0]} is gone since it was taken: its documents stay")
    found = nights.ingest()
    assert sorted(found["told"]) == sorted(told)
    for name, (_, docs) in brought.items():
        nights.bring(name, *docs)
    whole = make_recipe({**nights.data(), "name": "whole"}, where="t")
    prepare(whole, nights.folder / "whole", one_by_one)
    assert rows(nights.into) == rows(nights.folder / "whole")
    taken = [p for m in Collection(nights.into, nights.into).finished.values()
             for p in m["identity"]["inputs"]]  # fmt: skip
    assert sorted(taken) == [str(of) for of, _ in brought.values()]
    assert found["measurement"]["total"]["docs"] == len(rows(nights.into)) == 2 * N_NIGHTS


def test_on_an_object_store_it_is_as_here(nights, reached_s3, tmp_path, capsys):
    reached_s3.client().create_bucket(Bucket="nights")
    there = "s3://nights/all of them"
    for name, docs in (("a", "xy"), ("b", "yz")):
        nights.bring(name, *docs)
        here = nights.ingest()
        found = ingest(make_recipe(nights.data(), where="t"), there)
        assert len(found["made"]) == 1
        assert found["runs"] == here["runs"]
    assert ingest(make_recipe(nights.data(), where="t"), there)["made"] == []
    assert main(["inspect", there, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == here["runs"]
    reached_s3.download("nights", "all of them/", tmp_path / "seen")
    assert rows(tmp_path / "seen") == rows(nights.into)
    assert "exact_duplicate" in (tmp_path / "seen" / "report.html").read_text()
    with (
        held_collection(place(there)),
        pytest.raises(ConfigError, match="another run is at work"),
    ):
        ingest(make_recipe(nights.data(), where="t"), there)


def test_a_second_one_at_the_same_time_is_told_in_a_line(nights):
    nights.bring("a", "x")
    with flocked(nights.into, fcntl.LOCK_EX):
        assert nights.refusal().startswith("another run is at work in it; wait for it")
    assert len(nights.ingest()["made"]) == 1


def test_a_collection_has_one_recipe_whose_inputs_may_grow(nights):
    nights.bring("a", "x")
    nights.ingest()
    assert nights.refusal(output={"seq_len": 8}) == (
        "recipe.output.seq_len is null there, 8 here; a collection has one recipe: change it back,"
        " or ingest into a new collection"
    )
    more = nights.data()
    nights.write("b", [words("y", 40)])
    more["inputs"].append({"path": str(nights.folder / "b.jsonl"), "source": "docs"})
    more["name"] = "renamed"
    assert len(ingest(make_recipe(more, where="t"), str(nights.into))["made"]) == 1
    more["inputs"][0]["text"] = "body"
    with pytest.raises(ConfigError, match=r'inputs\.0\.text is null there, "body" here; a coll'):
        ingest(make_recipe(more, where="t"), str(nights.into))


def test_what_no_night_could_go_on_with_is_refused_on_the_first(nights):
    nights.bring("a", "x")
    data = {**nights.data(), "steps": [{"same_url": {}}]}
    with pytest.raises(ConfigError, match="give it keep: first"):
        ingest(make_recipe(data, where="t"), str(nights.into))
    text_alone = {**nights.data(), "tokenizer": None, "output": {"text": "parquet"}}
    with pytest.raises(ConfigError, match="tokenizer: a collection is one dataset"):
        ingest(make_recipe(text_alone, where="t"), str(nights.into))
    nights.into.mkdir(exist_ok=True)
    (nights.into / "other").write_text("")
    assert nights.refusal().startswith("no collection, but holds other")
    (nights.into / "other").unlink()
    (nights.folder / "in" / "a.jsonl").unlink()
    assert "check the inputs" in nights.refusal()
    assert sorted(os.listdir(nights.into)) == [".lock"]


def test_a_collection_is_inspected_and_exported_as_a_run_is(nights, capsys):
    nights.bring("a", "x", "y")
    nights.ingest()
    nights.bring("b", "y", "z")
    found, into = nights.ingest(), str(nights.into)

    def asked(*line):
        code, told = main(list(line)), capsys.readouterr()
        return json.loads(told.out) if code == 0 else told.err

    assert asked("inspect", into, "--json")["runs"] == found["runs"]
    (gone,) = asked("inspect", into, "--json", "--reason", "exact_duplicate")
    pair = asked("inspect", into, "--json", "--doc", str(gone["doc_id"]))
    assert (pair["removed"]["id"], pair["kept"]["id"]) == ("in/b-0", "in/a-1")
    rows = asked("inspect", into, "--json", "--documents", "--limit", "3")
    assert [row["id"] for row in rows] == kept(nights.into)
    assert "no document left for the reason 'other'" in asked("inspect", into, "--reason", "other")
    out = str(nights.folder / "exported")
    made = asked("export", into, "--json", "--format", "parquet", "--out", out)
    assert made["splits"]["train"]["rows"] == 3
    told = asked(
        "contamination", into, "--out", out, "--benchmark", f"b={nights.folder}/in/a.jsonl"
    )
    assert "a collection of 2 runs, holds tokens, not text" in told


def test_a_collection_is_sized_as_a_run_is(nights):
    nights.bring("a", "x", "y")
    nights.ingest()
    nights.bring("b", "z")
    found = nights.ingest()
    sized, total = load_corpus(nights.into), found["measurement"]["total"]
    assert (sized.docs.value, sized.tokens.value) == (3, total["tokens"])
    (nights.into / "collection.json").write_text(json.dumps({"runs": ["../out"]}))
    with (
        pytest.raises(ConfigError, match="not of a collection of this version"),
        held_collection(nights.into),
    ):
        pass


def test_the_text_of_a_collection_is_an_input_run_by_run(nights):
    text = {"output": {"text": "parquet"}}
    nights.bring("a", "x", "y")
    nights.ingest(**text)
    nights.bring("b", "y", "x")  # nothing is new in it
    nights.ingest(**text)
    nights.bring("c", "y", "z")
    nights.ingest(**text)
    nights.bring("d", "w")
    with held_collection(nights.into) as held:  # begun, and not finished
        assert held.next_run(make_recipe(nights.data(**text), where="t"), again=False)
    inputs = [{"path": str(nights.into), "from": "run"}]
    recipe = make_recipe({**nights.data(), "inputs": inputs, "steps": []}, where="t")
    assert recipe.inputs[0].columns["copies_exact"] == "int64"
    assert [f.name.partition("/")[0][-4:] for f in recipe.plan().files] == ["0001", "0002", "0003"]
    prepare(recipe, nights.folder / "all", one_by_one)
    assert kept(nights.folder / "all") == kept(nights.into) == ["in/a-0", "in/a-1", "in/c-1"]
    sources = load_from_disk(str(nights.folder / "all" / "dataset"))["source"]
    assert set(sources) == set(load_from_disk(str(nights.into / "dataset"))["source"])


def test_a_collection_without_text_is_no_input(nights):
    nights.bring("a", "x")
    recipe = make_recipe(nights.data(), where="t")
    inputs = {"inputs": [{"path": str(nights.into), "from": "run"}]}
    with held_collection(nights.into) as held:
        held.next_run(recipe, again=False)
    with pytest.raises(ConfigError, match="no run of the collection has finished; ingest again"):
        make_recipe({**nights.data(), **inputs}, where="t")
    nights.ingest()
    with pytest.raises(ConfigError, match=r"-0001: the run kept no text; run it with output\.text"):
        make_recipe({**nights.data(), **inputs}, where="t")


def test_benchmarks_are_looked_for_in_the_text_of_a_collection(nights):
    for name, docs in (("a", "xy"), ("b", "yz")):
        nights.bring(name, *docs)
        nights.ingest(output={"text": "jsonl.zst"})
    items = nights.folder / "quiz.jsonl"
    items.write_text(json.dumps({"question": words("z", 40)}))
    given = {"inputs": [{"path": str(nights.into)}]}
    benchmarks = [{"name": "quiz", "path": str(items)}]
    check = Check(**given, matching={"benchmarks": benchmarks})
    report = check_contamination(check, nights.folder / "check", one_by_one)
    assert (report.documents.read, report.total("dirty")) == (3, 1)


def test_of_a_collection_without_text_contamination_tells_where_to_look(nights):
    nights.bring("a", "x")
    nights.ingest()
    benchmarks = [{"name": "quiz", "path": str(nights.folder / "quiz.jsonl")}]
    check = Check(inputs=[{"path": str(nights.into)}], matching={"benchmarks": benchmarks})
    with pytest.raises(ConfigError, match="a collection of 1 runs, holds tokens, not text"):
        check_contamination(check, nights.folder / "again", one_by_one)
