"""A filter from outside (`vowels`), registered by one call, goes through all that ours do."""

import json
import pickle
import re
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from tests.e2e.corpus import prose, write_corpus
from tests.e2e.test_kill import contents
from tests.pipelines.plugged import in_pool, plug
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.flows.pools.processes import ProcessPool
from tokenmill.pipelines.core.errors import ConfigError, LedgerError
from tokenmill.pipelines.core.step import STEPS, Step, keep_where, register
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.bundle import do_bundle

MODULE = "tests.pipelines.filters.vowels"
N = 12  # documents without a vowel


@pytest.fixture(scope="module")
def plugged():
    with pytest.MonkeyPatch.context() as patch:
        plug(patch, MODULE, STEPS)
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A recipe with the filter between two of ours."""
    folder = tmp_path_factory.mktemp("corpus")
    docs = [*prose()[:150], *(re.sub("[aeiou]", "", doc) for doc in prose()[:N])]
    lines = [json.dumps({"id": str(i), "text": doc}) + "\n" for i, doc in enumerate(docs)]
    (folder / "some.jsonl").write_text("".join(lines))
    steps = ["normalize", {"vowels": {"min_frac": 0.2}}, "exact"]
    inputs = [{"path": str(folder / "some.jsonl")}]
    return write_corpus(folder, inputs=inputs, steps=steps, shard_bytes="60kB")


@pytest.fixture(scope="module")
def out(plugged, path):
    """A run of it."""
    prepare(load_recipe(path), path.parent / "run", one_by_one)
    return path.parent / "run"


def test_the_ledger_and_the_report_count_what_it_removes(out):
    report = json.loads((out / "report.json").read_text())
    _, before, row, behind, _ = report["ledger"]
    assert (row["stage"], row["removed"]) == ("vowels", {"few_vowels": N})
    assert row["docs_in"] == before["docs_out"]
    assert row["docs_out"] == behind["docs_in"]
    assert "few_vowels" in (out / "report.md").read_text()


def test_its_settings_are_part_of_what_a_run_is(out, path):
    recipe = load_recipe(path)
    assert recipe.identity()["steps"][1] == {"vowels": {"min_frac": 0.2}}
    other = load_recipe(path, {"steps": [{"vowels": {"min_frac": 0.3}}]})
    with pytest.raises(ConfigError, match="made by another run: recipe.steps is"):
        prepare(other, out, one_by_one)


def test_inspect_lists_what_it_removed(out, capsys):
    assert main(["inspect", str(out), "--reason", "few_vowels", "--limit", "99", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["stage"] for row in rows} == {"vowels"}
    assert len(rows) == N
    assert all(0 <= row["value"] < 0.2 for row in rows)


def test_workers_in_other_processes_run_it_too(out, path):
    with closing(ProcessPool(1)) as pool:
        prepare(load_recipe(path), path.parent / "elsewhere", in_pool(pool))
    assert contents(path.parent / "elsewhere") == contents(out)


def test_it_is_measured_and_planned(plugged, path, tmp_path, capsys):
    measuring = Measuring(recipe=load_recipe(path), sample=1.0)
    measured = measure_corpus(measuring, tmp_path / "estimate.json", one_by_one)
    assert measured.estimate.corpus.docs.value <= 150
    command = ["prepare", str(path), "--out", str(tmp_path / "run"), "--dry-run"]
    assert main(command) == 0
    assert "vowels" in capsys.readouterr().out


def test_steps_shows_it(plugged, capsys):
    assert main(["steps", "vowels"]) == 0
    assert "min_frac" in capsys.readouterr().out


def test_without_the_plugin_it_is_no_step(path, monkeypatch):
    monkeypatch.delenv("TOKENMILL_PLUGINS", raising=False)
    monkeypatch.setattr(STEPS, "_things", {n: s for n, s in STEPS.items() if n != "vowels"})
    with pytest.raises(
        ConfigError, match="steps.1: unknown step 'vowels'; steps are normalize,"
    ) as e:
        load_recipe(path)
    assert str(e.value).endswith("; one of your own: TOKENMILL_PLUGINS names its module")


RAISES = """
import numpy as np
from tokenmill.pipelines.core.step import Step, keep_where, register

class OwnError(Exception):
    def __reduce__(self):
        raise TypeError("not to be pickled")

@register
class MyRaise(Step):
    name = "my_raise"
    def __call__(self, batch):
        if "0" in batch["id"].to_pylist():
            {line}
        return keep_where(self.name, batch, np.zeros(batch.num_rows, np.uint8), [])
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('"text".isuper()', "AttributeError: 'str' object has no attribute 'isuper'"),
        ("keep_where(self.name, batch, 1, [])", "TypeError: object of type 'int' has no len()"),
        ('raise OwnError("odd")', "tokenmill.pipelines.core.errors.ShardError: OwnError: odd"),
    ],
)
def test_what_it_raises_is_told_with_step_and_place(line, told, tmp_path, path, monkeypatch):
    """Also where it comes from another process, as bytes that tell no traceback."""
    (tmp_path / "raising.py").write_text(RAISES.format(line=line))
    monkeypatch.syspath_prepend(tmp_path)
    plug(monkeypatch, "raising", STEPS)
    recipe = load_recipe(path, {"steps": ["my_raise"]})
    report = prepare(
        recipe,
        tmp_path / "run",
        lambda job, phase: pickle.loads(pickle.dumps(do_bundle(job, phase.works))),
    )
    (failed,) = report["failed_shards"]
    assert failed["error"] == f"{told} in step my_raise (raising.py:14)"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("return", "NoneType"),
        ("return batch", "RecordBatch"),
        (
            "import pyarrow as pa; r = keep_where('', batch, np.zeros(batch.num_rows, 'u1'), []);"
            " return r._replace(kept=pa.Table.from_batches([batch]))",
            "StageResult",
        ),
        *(
            (
                "r = keep_where('', batch, np.zeros(batch.num_rows, 'u1'), []);"
                f" return r._replace({name}=None)",
                "StageResult",
            )
            for name in ("stats", "removed")
        ),
    ],
)
def test_what_it_returns_is_told_where_it_is_no_result(line, kind, tmp_path, path, monkeypatch):
    (tmp_path / "raising.py").write_text(RAISES.format(line=line))
    monkeypatch.syspath_prepend(tmp_path)
    plug(monkeypatch, "raising", STEPS)
    recipe = load_recipe(path, {"steps": ["my_raise"]})
    told = (
        f"TypeError: step my_raise of raising returned {kind}, and must return a StageResult of"
        " two RecordBatches and StageStats, as decide and keep_where make it"
    )
    (failed,) = prepare(recipe, tmp_path / "run", one_by_one)["failed_shards"]
    assert failed["error"] == told
    measuring = Measuring(recipe=recipe, sample=1.0)
    measured = measure_corpus(measuring, tmp_path / "estimate.json", one_by_one)
    assert {f.error for f in measured.finished.failures} == {told}


UNTOLD = """
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenmill.pipelines.core.schema import with_column
from tokenmill.pipelines.core.step import Step, keep_where, register

@register
class MyRaise(Step):
    name = "my_raise"
    def __call__(self, batch):
        n = batch.num_rows
        result = keep_where(self.name, batch, np.zeros(n, np.uint8), [])
        one = keep_where(self.name, batch, (np.arange(n) < 1).astype(np.uint8), ["first"])
        return result._replace(kept={kept})
"""


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ("batch.slice(1)", "and removes 0, by its account"),
        ("pa.concat_batches([batch, batch])", "and removes 0, by its account"),
        ("batch.take(pa.array(range(n))[::-1])", "each one stays, in order, or has a row"),
        (
            'with_column(batch, "text", pc.utf8_slice_codeunits(batch["text"], 0, 9))',
            "edited text is put in by with_text",
        ),
        (
            'batch.append_column("mine", batch["id"])',
            "columns doc_id, id, url, text, mine, not doc",
        ),
        (
            "one.kept, stats=one.stats, removed=pa.concat_batches([one.removed] * 2)",
            "and removes 2, by its account",
        ),
        (
            'batch, removed=with_column(one.removed, "doc_id",'
            ' pc.add(one.removed["doc_id"], pa.scalar(10**9, pa.uint64())))',
            "and removes 1, by its account",
        ),
        (
            'batch.drop_columns(["url"])',
            "passes on columns doc_id, id, text, not doc_id, id, url,",
        ),
    ],
)
def test_what_it_passes_on_untold_ends_the_run(kept, told, tmp_path, path, monkeypatch):
    """Or as many documents as came in come out by the report, and fewer lie in the dataset."""
    (tmp_path / "raising.py").write_text(UNTOLD.format(kept=kept))
    monkeypatch.syspath_prepend(tmp_path)
    plug(monkeypatch, "raising", STEPS)
    recipe = load_recipe(path, {"steps": ["my_raise"]})
    with pytest.raises(LedgerError, match=f"^step my_raise of raising .*{re.escape(told)}"):
        prepare(recipe, tmp_path / "run", one_by_one)
    assert not (tmp_path / "run/dataset").exists()


def test_a_step_without_a_name_is_told_how_it_gets_one():
    class Mine(Step):
        name: str = "mine"  # a setting, without ClassVar

    with pytest.raises(
        ConfigError, match=r'^Mine has no name; give it name: ClassVar\[str\] = "mine"$'
    ):
        register(Mine)


def test_each_document_has_a_verdict():
    documents = pa.record_batch({"text": ["a", "b"]})
    with pytest.raises(ValueError, match="^mine: 1 verdicts on 2 documents$"):
        keep_where("mine", documents, np.zeros(1, np.uint8), ())
