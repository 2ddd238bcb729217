"""A format from outside (`percents`), registered by one call, goes through all that ours do."""

import json
import signal
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.e2e.corpus import prose, write_corpus
from tests.e2e.test_kill import contents
from tests.pipelines.plugged import in_pool, plug, started
from tests.pipelines.read.corpus import read_all
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.flows.pools.dask import dask_pool
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import FORMATS
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import load_recipe

MODULE = "tests.pipelines.read.percents"
BAD = 7  # the record that is not UTF-8


@pytest.fixture
def plugged(monkeypatch):
    plug(monkeypatch, MODULE, FORMATS)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """A recipe of one file of records, one of them bad, cut into several shards."""
    folder = tmp_path_factory.mktemp("corpus")
    records = [doc.encode() for doc in prose()[:200]]
    records[BAD] = b"\xff" + records[BAD]
    (folder / "docs.pct").write_bytes(b"\n%%\n".join(records) + b"\n")
    inputs = [{"path": str(folder / "docs.pct")}]
    return write_corpus(folder, inputs=inputs, steps=["normalize", "exact"], shard_bytes="60kB")


records = st.lists(st.text(alphabet="a%\n é", max_size=9), max_size=6)


@given(records=records, shard_bytes=st.integers(1, 40))
@example(records=["", "%%a", "\n%%\n"], shard_bytes=1)
def test_records_are_shared_out_wherever_a_file_is_cut(tmp_path_factory, records, shard_bytes):
    with pytest.MonkeyPatch.context() as patch:
        plug(patch, MODULE, FORMATS)
        path = tmp_path_factory.mktemp("cut") / "a.pct"
        data = "\n%%\n".join(records)
        path.write_bytes(data.encode())
        whole = [""]
        for line in data.split("\n"):
            whole = [*whole, ""] if line == "%%" else [*whole[:-1], f"{whole[-1]}\n{line}"]
        got = read_all(path, shard_bytes=shard_bytes)
        assert [text.strip() for text in got.texts] == [w.strip() for w in whole if w.strip()]
        begins = [int(name.rpartition("#")[2]) for name in got.ids]
        assert begins == sorted(set(begins))


def test_a_run_accounts_for_every_record(plugged, recipe, tmp_path):
    report = prepare(load_recipe(recipe), tmp_path / "run", one_by_one)
    read, *_ = report["ledger"]
    assert report["inputs"]["shards"] > 2
    assert (read["docs_in"], read["failed"]) == (200, {"invalid_utf8": 1})
    (lost,) = [r for r in removals(tmp_path / "run").to_pylist() if r["outcome"] == "failed"]
    assert (lost["stage"], lost["reason"]) == ("read", "invalid_utf8")
    assert "docs.pct byte " in lost["detail"]
    assert lost["id"].startswith("docs.pct#")


def test_a_run_that_was_killed_is_continued_byte_for_byte(plugged, recipe, tmp_path):
    begin = partial(started, MODULE, recipe)
    killed = begin(tmp_path / "run", "renamed", 2)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "run" / "dataset" / "state.json").exists()
    ended = begin(tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    prepare(load_recipe(recipe), tmp_path / "undisturbed", one_by_one)
    assert contents(tmp_path / "run") == contents(tmp_path / "undisturbed")


@pytest.mark.long  # plugins reach workers as in filters/test_contributed
def test_workers_in_other_processes_read_it_too(plugged, recipe, tmp_path):
    with dask_pool(None, 1) as pool:
        report = prepare(load_recipe(recipe), tmp_path / "run", in_pool(pool))
    assert report["ledger"][0]["docs_in"] == 200
    prepare(load_recipe(recipe), tmp_path / "here", one_by_one)
    assert contents(tmp_path / "run") == contents(tmp_path / "here")


def test_it_is_measured(plugged, recipe, tmp_path):
    measuring = Measuring(recipe=load_recipe(recipe), sample=1.0)
    measured = measure_corpus(measuring, tmp_path / "estimate.json", one_by_one)
    assert measured.estimate.corpus.docs.value <= 199


def test_it_is_planned_by_a_dry_run(plugged, recipe, tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["prepare", str(recipe), "--out", out, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["shards"] > 2
    assert not (tmp_path / "run").exists()


def test_a_recipe_names_it_where_the_name_of_a_file_does_not(plugged, recipe, tmp_path):
    path = tmp_path / "docs.dat"
    path.write_text("one\n%%\ntwo\n")
    assert [t.strip() for t in read_all(path, format="percents").texts] == ["one", "two"]


def test_without_the_plugin_it_is_no_format(recipe, tmp_path):
    assert "percents" not in FORMATS
    with pytest.raises(ConfigError, match=r"'docs\.pct' tells no format"):
        prepare(load_recipe(recipe), tmp_path / "run", one_by_one)
    with pytest.raises(
        ConfigError, match=r"inputs\.0\.format: Input should be 'jsonl'.*'percents'"
    ):
        load_recipe(recipe, {"inputs": [{"path": "a", "format": "percents"}]})
