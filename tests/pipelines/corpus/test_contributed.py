"""A step from outside that needs all documents (`per_host`) goes through all that ours do."""

import json
import signal
from collections import Counter
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from datasets import load_from_disk
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.e2e.corpus import prose, write_corpus
from tests.e2e.test_kill import contents
from tests.pipelines.chains import Runs
from tests.pipelines.keyed import find, job_of, write_shards
from tests.pipelines.plugged import in_pool, plug, started
from tests.receipts import receipts
from tests.running import one_by_one, prepare
from tests.strategies import examples
from tokenmill.flows.cli import main
from tokenmill.flows.pools.dask import dask_pool
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.corpus import rows as corpus_rows
from tokenmill.pipelines.corpus.equal import EqualStep
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.step import document_keys, fixed_size_list, key_schema
from tokenmill.pipelines.corpus.verdicts import verdicts_on
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.inspect import beside, removals
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.storage.files import open_arrow

MODULE = "tests.pipelines.corpus.per_host"
MOST = 4
MIN_CHARS = 400
HOSTS = ("http://a.org", "https://b.org:8080", "HTTP://B.org", "https://c.net", "https://[::1", "x")
STEPS_OF_RUN = ["normalize", "exact", {"per_host": {"most": MOST}}, {"length": {"min_chars": 400}}]


@pytest.fixture(scope="module")
def plugged():
    with pytest.MonkeyPatch.context() as patch:
        plug(patch, MODULE, STEPS)
        yield


@pytest.mark.parametrize(
    "keys",
    [[], [pa.array(["a", "b"])], [fixed_size_list(np.zeros((1, 2), np.uint64))]],
    ids=["none", "of texts", "of one"],
)
def test_keys_that_are_none_are_told_with_their_step(keys):
    class Odd(EqualStep):
        name: ClassVar[str] = "odd"
        reason: ClassVar[str] = "odd"

        def key_columns(self, documents, source):
            return keys

    two = pa.record_batch({"doc_id": pa.array([0, 1], pa.uint64())})
    steps = [Odd()]
    with pytest.raises((ValueError, pa.ArrowException)) as e:
        document_keys(two, steps, key_schema(steps), source="a")
    assert e.value.__notes__ == ["in key_columns of step odd"]


def documents():
    """Pages of some hosts, a few of them twice, and some that have none."""
    made = []
    for i, text in enumerate([*prose()[:160], *prose()[:160:5]]):
        host = [*HOSTS, None][i % 7]
        made.append({"id": str(i), "text": text, "url": host and f"{host}/{i}"})
    return made


def reasons(docs):
    """{id: why it leaves}, by plain loops."""
    texts, seen, found = set(), Counter(), {}
    for doc in docs:
        _, _, host = (doc["url"] or "").partition("//")
        host = host.partition("/")[0].partition(":")[0].lower()
        if doc["text"] in texts:
            found[doc["id"]] = "exact_duplicate"
            continue
        texts.add(doc["text"])
        if host and host != "[":
            seen[host] += 1
            if seen[host] > MOST:
                found[doc["id"]] = "too_many_of_host"
                continue
        if len(doc["text"]) < MIN_CHARS:
            found[doc["id"]] = "too_short"
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A recipe of two passes, with the step between."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "pages.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents()))
    inputs = [{"path": str(folder / "pages.jsonl")}]
    return write_corpus(folder, inputs=inputs, steps=STEPS_OF_RUN, shard_bytes="40kB")


@pytest.fixture(scope="module")
def out(plugged, path):
    """A run of it."""
    recipe = load_recipe(path)
    assert len(passes(recipe.steps)) == 2
    prepare(recipe, path.parent / "run", one_by_one)
    return path.parent / "run"


def test_what_is_left_is_what_plain_loops_leave(out):
    left = [row["id"] for row in load_from_disk(str(out / "dataset")).select_columns("id")]
    expected = reasons(documents())
    assert left == [doc["id"] for doc in documents() if doc["id"] not in expected]
    gone = {row["id"]: row["reason"] for row in removals(out).to_pylist()}
    assert gone == expected
    assert min(Counter(expected.values()).values()) > 5
    assert len(set(expected.values())) == 3


def test_the_ledger_and_the_report_count_what_it_removes(out):
    report = json.loads((out / "report.json").read_text())
    n = Counter(reasons(documents()).values())["too_many_of_host"]
    stages = ["read", "normalize", "exact", "per_host", "length", "tokenize"]
    assert [row["stage"] for row in report["ledger"]] == stages
    before, row, behind = report["ledger"][2:5]
    assert row["removed"] == {"too_many_of_host": n}
    assert row["docs_in"] == before["docs_out"]
    assert row["docs_out"] == row["docs_in"] - n == behind["docs_in"]
    assert report["sections"] == {"hosts": {"hosts": 3, "documents_that_left": n}}
    page = (out / "report.md").read_text()
    assert "\n## Hosts\n" in page
    assert f"| documents that left | {n} |" in page
    assert "too_many_of_host" in page
    assert "Hosts" in (out / "report.html").read_text()
    assert [line for line in page.split("\n") if line.startswith("| per_host-0 ")]
    assert not list(out.glob("[0-9][0-9]-*"))


def test_inspect_lists_what_it_removed_and_no_document_stands_in_its_place(out, capsys):
    command = ["inspect", str(out), "--reason", "too_many_of_host", "--limit", "999", "--json"]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["stage"] for row in rows} == {"per_host"}
    assert [row["duplicate_of"] for row in rows] == [None] * len(rows)
    assert {row["id"]: "too_many_of_host" for row in rows}.items() <= reasons(documents()).items()
    assert beside(out, rows[0]["doc_id"]).kept is None
    assert main(["inspect", str(out), "--doc", str(rows[0]["doc_id"])]) == 0
    assert "too_many_of_host" in capsys.readouterr().out


def test_a_run_that_was_killed_is_continued_byte_for_byte(out, path, tmp_path):
    """In each of the four works of the step: before their receipts are written."""
    n_shards = json.loads((out / "report.json").read_text())["inputs"]["shards"]
    assert n_shards > 2
    begin = partial(started, MODULE, path)
    done = [name for name in ("keys-per_host-0", "per_host-0", "kept-per_host-0", "pass-1")]
    for works in range(4):
        # behind the first pass and the four works of `exact`, the rows of the corpus among them
        killed = begin(tmp_path / "run", "renamed", 2 if works else n_shards + 5)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        before = receipts(tmp_path / "run")
        assert {name.partition("/")[0] for name in before} & {*done} == {*done[:works]}
    ended = begin(tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "run") == contents(out)


@pytest.mark.long  # plugins reach workers as in filters/test_contributed
def test_workers_in_other_processes_run_it_too(out, path):
    with dask_pool(None, 1) as pool:
        prepare(load_recipe(path), path.parent / "elsewhere", in_pool(pool))
    assert contents(path.parent / "elsewhere") == contents(out)


def test_its_settings_are_part_of_what_a_run_is(out, path):
    assert load_recipe(path).identity()["steps"][2] == {"per_host": {"most": MOST}}
    other = load_recipe(path, {"steps": ["normalize", "exact", {"per_host": {"most": 9}}]})
    with pytest.raises(ConfigError, match="made by another run: recipe.steps is"):
        prepare(other, out, one_by_one)


def test_a_dry_run_and_the_list_of_steps_show_it(plugged, path, tmp_path, capsys):
    command = ["prepare", str(path), "--out", str(tmp_path / "run"), "--dry-run"]
    assert main(command) == 0
    assert "per_host" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()
    assert main(["steps", "per_host"]) == 0
    assert "most" in capsys.readouterr().out


def test_what_earlier_runs_hold_of_a_host_counts(plugged, tmp_path):
    runs, steps = Runs(tmp_path), [{"per_host": {"most": 2}}]
    pages = [
        {"id": f"{host}{i}", "text": f"{host} {i}", "url": f"http://{host}/{i}"}
        for i in range(3)
        for host in "ab"
    ]
    runs.make("old", [pages[0], *pages[1::2]], steps=steps)
    out = runs.make("new", pages[2:], against=["old"], steps=steps)
    left = [row["id"] for row in load_from_disk(str(out / "dataset")).select_columns("id")]
    assert left == ["a1"]
    assert json.loads((out / "report.json").read_text())["sections"]["hosts"]["hosts"] == 2


@settings(max_examples=examples(12, 6), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    earlier=st.integers(0, 2),
    group_rows=st.integers(1, 40),
    range_rows=st.integers(1, 60),
    first_row=st.sampled_from([0, 2**32 - 9]),
    seed=st.integers(0, 1_000),
)
def test_any_corpus_in_any_parts_is_that_of_plain_loops(
    plugged, tmp_path_factory, sizes, earlier, group_rows, range_rows, first_row, seed
):
    n, rng, earlier = sum(sizes), np.random.default_rng(seed), min(earlier, len(sizes))
    step = STEPS["per_host"](most=2)
    keys = rng.integers(0, 4, (n, 2), dtype=np.uint64) << np.uint64(61)
    job = job_of(tmp_path_factory.mktemp("run"), (step,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_rows, "GROUP_ROWS", group_rows)
        patch.setattr(corpus_rows, "RANGE_ROWS", range_rows)
        patch.setattr(corpus_rows, "FIRST_ROW", first_row)
        write_shards(job, (step,), sizes, np.zeros((n, 0)), keys, earlier=earlier, batch=5)
        find(job, (step,), sizes, earlier=earlier)
        verdicts = [
            verdict
            for shard in range(earlier, len(sizes))
            for batch in verdicts_on(job, 0, step, f"{shard:05d}")
            for verdict in batch.to_pylist()
        ]
    seen, expected = Counter(), []
    for row, key in enumerate(map(tuple, keys.tolist())):
        seen[key] += any(key)
        if row >= sum(sizes[:earlier]):
            expected.append(seen[key] <= 2)
    assert [verdict["alive"] for verdict in verdicts] == expected
    assert all(v["duplicate_of"] is None and v["similarity"] is None for v in verdicts)


def test_one_host_of_more_documents_than_fit_keeps_its_first(plugged, tmp_path):
    step, n = STEPS["per_host"](most=7), 9_000
    job = job_of(tmp_path, (step,), budget=f"{(1 << 18) + n * 49}B")
    write_shards(job, (step,), (n,), np.zeros((n, 0)), np.ones((n, 2), np.uint64))
    find(job, (step,), (n,))
    (path,) = (job.out / step.verdict_folder().named(0)).iterdir()
    alive = [alive for batch in open_arrow(path)[0] for alive in batch["alive"].to_pylist()]
    assert alive == [row < 7 for row in range(n)]


def test_a_prediction_says_that_it_does_not_tell_what_it_removes(plugged, path, tmp_path, capsys):
    measuring = Measuring(recipe=load_recipe(path), sample=1.0)
    measure_corpus(measuring, tmp_path / "estimate.json", one_by_one)
    estimate = json.loads((tmp_path / "estimate.json").read_text())
    assert estimate["not_predicted"] == ["per_host"]
