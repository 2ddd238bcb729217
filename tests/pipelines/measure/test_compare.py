"""What was predicted beside what a run made of it."""

import json
import shutil

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tests.pipelines.keyed import PUBLISHED
from tests.running import one_by_one
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.compare import compare, find_estimate, load_estimate
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.sizing.figure import Figure


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A recipe, where its estimate is, and the report of its run."""
    folder = tmp_path_factory.mktemp("corpus")
    recipe, out = (
        load_recipe(write_corpus(folder, steps=["normalize", "exact", PUBLISHED])),
        folder / "estimate.json",
    )
    measure_corpus(Measuring(recipe=recipe, sample=0.5), out, one_by_one)
    return recipe, out, run_recipe(recipe, folder / "run", one_by_one)


def test_each_figure_stands_beside_what_the_run_made(run):
    recipe, path, report = run
    estimate = load_estimate(path, recipe)
    rows = {row.name: row for row in compare(estimate, report)}
    total = report.total.to_json()
    assert rows["tokens"].actual == total["tokens"]
    assert rows["documents"].held
    assert rows["unique fraction"].held
    left = next(row for row in report.ledger if row.stage == "exact").docs_in  # by filters
    assert rows["unique fraction"].actual == pytest.approx(total["docs"] / left)
    names = ("documents in", "kept by near", "stored in 11-keys", "stored in dataset")
    assert set(names) <= set(rows)
    assert "CPU hours" not in rows  # which are not known of so few seconds
    assert rows["tokens"].to_json()["low"] < total["tokens"]


@pytest.mark.parametrize(
    ("workers", "cores", "seconds", "is_timed"),
    [
        (4, 4, 60.0, True),
        (4, 4, 59.0, False),  # what starting takes would be told of the work
        (2, 4, 60.0, False),
        (None, 4, 60.0, False),
        (None, None, 60.0, False),
        (4, 4, None, False),
    ],
)
def test_wall_time_is_compared_of_a_long_run_by_as_many_workers(
    run, workers, cores, seconds, is_timed
):
    recipe, path, report = run
    told = {"cores": cores, "wall_hours": Figure(value=1.0)}
    estimate = load_estimate(path, recipe).model_copy(update=told)
    report = report.model_copy(update={"seconds": seconds})
    rows = {row.name: row.actual for row in compare(estimate, report, workers=workers)}
    assert rows.get("wall hours") == (seconds / 3600 if is_timed else None)


def test_what_falls_outside_its_interval_is_flagged(run):
    recipe, path, report = run
    estimate = load_estimate(path, recipe)
    actual = report.total.tokens
    for figure, held in (
        (Figure(value=actual), True),
        (Figure(value=actual + 1), False),
        (Figure(value=actual * 2, low=actual * 0.9, high=actual * 3), True),
        (Figure(value=actual * 2, low=actual * 1.1, high=actual * 3), False),
    ):
        corpus = estimate.corpus.model_copy(update={"tokens": figure})
        changed = estimate.model_copy(update={"corpus": corpus})
        rows = {row.name: row for row in compare(changed, report)}
        assert rows["tokens"].held is held


def test_bytes_of_files_are_told_to_half_a_percent(run):
    recipe, path, report = run
    estimate = load_estimate(path, recipe)
    actual = report.total.stored_bytes_per_token
    for factor, held in ((1.004, True), (0.996, True), (1.006, False), (0.994, False)):
        corpus = estimate.corpus.model_copy(
            update={"stored_bytes_per_token": Figure(value=actual * factor)}
        )
        rows = compare(estimate.model_copy(update={"corpus": corpus}), report)
        assert [r.held for r in rows if r.name == "stored bytes per token"] == [held]


@pytest.mark.parametrize(
    "output", [{"seq_len": 64}, {"shard_bytes": "1MB"}, {"validation_frac": 0.2}], ids=str
)
def test_what_was_counted_is_held_however_files_are_cut(run, tmp_path, output):
    data = yaml.safe_load((run[1].parent / "recipe.yaml").read_text())
    (tmp_path / "in").mkdir()
    shutil.copy(run[1].parent / "docs.jsonl", tmp_path / "in")
    (tmp_path / "in" / "LICENSE").write_text("passed over")
    data["inputs"] = [{**data["inputs"][0], "path": str(tmp_path / "in")}]
    (tmp_path / "recipe.yaml").write_text(
        yaml.safe_dump({**data, "steps": ["exact"], "shard_bytes": "4MB", "output": output})
    )
    recipe = load_recipe(tmp_path / "recipe.yaml")
    measured = measure_corpus(Measuring(recipe=recipe, sample=1.0), tmp_path / "e", one_by_one)
    report = run_recipe(recipe, tmp_path / "run", one_by_one)
    rows = compare(measured.estimate, report)
    assert [row.name for row in rows if not row.held] == []
    assert {f"stored in {folder}" for folder in report.stored_bytes} <= {row.name for row in rows}


def test_the_first_estimate_that_was_made_for_a_recipe_is_found(run, tmp_path):
    recipe, path, _ = run
    places = [tmp_path / name for name in ("none", "other", "no", "here")]
    for folder in places[1:]:
        folder.mkdir()
    data, refused = json.loads(path.read_text()), []
    (places[1] / "estimate.json").write_text(json.dumps({**data, "recipe": "another"}))
    (places[2] / "estimate.json").write_text("[]")
    (places[3] / "estimate.json").write_text(path.read_text())
    found = find_estimate(recipe, places, refused.append)
    assert found == (places[3] / "estimate.json", load_estimate(path, recipe))
    assert find_estimate(recipe, places[:3], refused.append) is None
    assert refused == []


def test_an_estimate_of_another_version_of_a_step_is_passed_over_and_told(
    run, tmp_path, monkeypatch
):
    recipe, path, _ = run
    monkeypatch.setattr(type(recipe.steps[1]), "versions", lambda _: {"exact": "2"})
    told = []
    twice = [path.parent, path.parent / "." / ""]  # --out stands beside the recipe
    assert find_estimate(recipe, twice, told.append) is None
    why = f'{path}: of other versions: versions.exact is null there, "2" here; measure again'
    assert told == [f"warning: passed over: {why}\n"]
    with pytest.raises(ConfigError, match="of other versions"):
        load_estimate(path, recipe)
    measure_corpus(Measuring(recipe=recipe, sample=0.5), tmp_path / "estimate.json", one_by_one)
    assert find_estimate(recipe, [path.parent, tmp_path], told.append) is not None


def test_an_estimate_of_another_recipe_is_refused(run, tmp_path):
    recipe, path, _ = run
    other = recipe.model_copy(update={"steps": ()})
    with pytest.raises(ConfigError, match="made for another recipe or other inputs than 'stdlib'"):
        load_estimate(path, other)
    (tmp_path / "no.json").write_text("[]")
    with pytest.raises(ConfigError, match="not an estimate; tokenmill measure writes one"):
        load_estimate(tmp_path / "no.json", recipe)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_estimate(tmp_path / "none.json", recipe)


def test_a_kept_index_is_said_not_to_be_predicted(run, tmp_path):
    recipe, path, report = run
    keeping = recipe.model_copy(update={"run": recipe.run.model_copy(update={"keep_index": True})})
    outcome = measure_corpus(
        Measuring(recipe=keeping, sample=0.2), tmp_path / "estimate.json", one_by_one
    )
    assert outcome.estimate.not_predicted == ["run.keep_index"]
    assert any("index" in said and "0.35 to 0.5" in said for said in outcome.predicted.remarks)
    estimate = load_estimate(path, recipe)
    stored = sorted({**report.stored_bytes, "index": 9_999}.items())
    kept = report.model_copy(update={"stored_bytes": dict(stored)})
    before, after = (
        {row.name for row in compare(estimate, made) if row.name.startswith("disk after")}
        for made in (report, kept)
    )
    assert before - after == {"disk after removed"}


def test_disk_behind_a_folder_that_is_left_out_is_not_held_to_what_was_told(run, tmp_path):
    """It was OUTSIDE, though the screen had said that folders of the step are left out."""
    benchmarks = [{"name": "b", "path": str(run[1].parent / "docs.jsonl")}]
    report_alone = {"benchmarks": benchmarks, "action": "report"}
    (tmp_path / "in").mkdir()
    recipe = write_corpus(tmp_path / "in", steps=["exact", {"decontaminate": report_alone}])
    recipe = load_recipe(recipe)
    measured = measure_corpus(Measuring(recipe=recipe, sample=1.0), tmp_path / "e", one_by_one)
    report = run_recipe(recipe, tmp_path / "run", one_by_one)
    left_out = {"15-found", "16-ignored", "overlaps", "pieces"}
    assert report.stored_bytes.keys() - measured.estimate.corpus.stored_bytes == left_out
    rows = compare(measured.estimate, report)
    assert [row.name for row in rows if not row.held] == []
    told = {row.name for row in rows}
    assert "disk after 15-copies" in told
    assert not {"disk after 89-copies", "disk after dataset"} & told


def test_copies_of_documents_that_two_steps_keep_may_all_be_of_others(tmp_path):
    """How many are kept by both is not known: next to none, or all that one of them keeps."""
    words = [f"{n} {' '.join(f'w{n * 40 + i}' for i in range(40))}" for n in range(40)]
    equal, alike = words[:8], [f"{text} more" for text in words[8:16]]
    recipe = load_recipe(write_corpus(tmp_path, steps=["exact", PUBLISHED]))
    docs = [json.dumps({"text": text}) for text in [*words, *equal, *alike]]
    (tmp_path / "docs.jsonl").write_text("\n".join(docs))
    estimate = measure_corpus(
        Measuring(recipe=recipe, sample=1.0), tmp_path / "e", one_by_one
    ).estimate
    rows = {
        row.name: row for row in compare(estimate, run_recipe(recipe, tmp_path / "run", one_by_one))
    }
    gathered = rows["stored in 89-copies"]
    assert gathered.held
    assert (gathered.actual - gathered.predicted.value) > 24  # a row that both would share
