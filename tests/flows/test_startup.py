"""What a command imports before it tells: packages that take longer than all else it does."""

import json
import os
import subprocess
import sys

import pytest

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.prepare.steps import OWN_STEPS

HEAVY = ["prefect", "datasets", "pandas", "numba", "scipy", "sklearn", "sqlalchemy", "gigatoken"]
MODULES = sorted({where.partition(":")[0] for where in OWN_STEPS.values()})
RECIPE = "inputs: [docs.jsonl]\ntokenizer: null\noutput: {text: parquet}\n"
# in this order in one process: those of recipes first, before any other has imported a step
MISTAKES = {
    "an unknown step": "prepare step.yaml --out run",
    "an unknown key": "prepare key.yaml --out run",
    "no such recipe": "ingest nothere.yaml --into collection",
    "a setting without a value": "prepare fine.yaml --out run --set x",
    "a share that is none": "measure fine.yaml --out estimate.json --sample x",
    "no such step": "steps nothere",
    "no such plan": "size nothere.yaml",
    "nothing to inspect": "inspect nothere",
    "no status": "status nothere",
    "nothing to export": "export nothere --format megatron --out tokens",
    "nothing to probe": "probe nothere",
    "no such corpus": "contamination nothere --benchmark a=b.jsonl --out found",
    "one side": "train-quality --good nothere --bad nothere --out quality.npz",
    "no such text": "train-lm --text nothere --out lm.npz",
}


def asked(commands, folder):
    """Of each command, called in turn in a process of its own: exit code, modules, environment."""
    code = (
        "import json, os, sys\n"
        "from tokenmill.flows.cli import main\n"
        "told = sys.stdout\n"
        "sys.stdout = sys.stderr\n"
        "for line in json.load(sys.stdin):\n"
        "    code = main(line.split())\n"
        "    modules = [n for n in sys.modules if n.startswith('tokenmill.') or '.' not in n]\n"
        "    print(json.dumps([code, modules, os.environ['OPENBLAS_NUM_THREADS']]), file=told)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(commands),
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "docs.jsonl").write_text('{"text": "a"}\n')
    (folder / "fine.yaml").write_text(RECIPE)
    (folder / "step.yaml").write_text(RECIPE + "steps: [gopher_qualty]\n")
    (folder / "key.yaml").write_text(RECIPE + "setps: []\n")
    return dict(zip(MISTAKES, asked(list(MISTAKES.values()), folder), strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_before_anything_heavy_is_imported(mistake, mistakes):
    code, modules, _ = mistakes[mistake]
    assert code == 2
    assert sorted({*HEAVY} & {*modules}) == []


@pytest.mark.parametrize("mistake", list(MISTAKES)[:6])
def test_no_step_is_imported_that_is_not_named(mistake, mistakes):
    assert sorted({*MODULES} & {*mistakes[mistake][1]}) == []


def test_a_recipe_imports_the_steps_that_it_names(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "recipe.yaml").write_text(RECIPE + "steps: [{c4: {nothere: 1}}]\n")
    ((code, modules, _),) = asked(["prepare recipe.yaml --out run"], tmp_path)
    assert code == 2
    assert sorted({*MODULES} & {*modules}) == ["tokenmill.pipelines.filters.c4"]


def test_numpy_starts_no_threads_for_itself(mistakes, monkeypatch, capsys):
    assert {threads for _, _, threads in mistakes.values()} == {"1"}
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    main(["status", "nothere"])
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"


def test_a_finished_run_is_told_and_looked_at_without_anything_heavy(tmp_path):
    steps = ["normalize", {"c4": {"min_sentences": 1}}, "exact"]
    path, out = write_corpus(tmp_path, steps=steps), tmp_path / "run"
    prepare(load_recipe(path), out, one_by_one)
    commands = [f"inspect {out}", f"status {out}", f"prepare {path} --out {out}"]
    searching = "tokenmill.pipelines.contamination.rows"
    for (code, modules, _), unused in zip(
        asked(commands, tmp_path), [[searching], [searching], []], strict=True
    ):
        assert code == 0
        assert sorted({*HEAVY, *unused} & {*modules}) == []


def test_arrow_finds_pandas_when_it_is_asked_for():
    code = (
        "import sys\n"
        "import tokenmill.dedup.arrays\n"
        "import pyarrow as pa\n"
        "made = pa.array(['a', None]), pa.table({'a': [1]}), pa.scalar(1)\n"
        "assert 'pandas' not in sys.modules\n"
        "assert made[1].to_pandas().shape == (1, 1)\n"
        "import pandas as pd\n"
        "assert pa.array(pd.Series([1, None])).null_count == 1\n"
        "assert not [f for f in sys.meta_path if 'tokenmill' in type(f).__module__]\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr == ""


@pytest.mark.parametrize("name", OWN_STEPS)
def test_a_step_is_offered_under_its_own_name(name):
    assert STEPS[name].__name__ == OWN_STEPS[name].partition(":")[2]
    assert STEPS[name].name == name


def test_a_demo_that_cannot_be_written_is_a_mistake(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")  # else it starts one
    (tmp_path / "file").touch()
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "file: cannot write there (File exists); choose another" in capsys.readouterr().err
