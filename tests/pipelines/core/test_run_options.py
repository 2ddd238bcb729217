"""How a run is to be done, as a recipe says it."""

import pytest
import yaml

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions, Slurm
from tokenmill.pipelines.prepare.recipe import make_recipe


def options(text):
    """The `run` section of a recipe, from YAML."""
    data = {"inputs": ["a"], "tokenizer": {"path": "t.json"}, "run": yaml.safe_load(text)}
    return make_recipe(data, where="r.yaml").run


@pytest.mark.parametrize(
    ("written", "walltime"),
    [("'08:00:00'", "08:00:00"), ("10:00:00", "10:00:00"), ("1-00:00", "1-00:00"),
     ("26:30:01", "26:30:01")],
)  # fmt: skip
def test_a_walltime_is_what_was_written_also_where_yaml_makes_seconds_of_it(written, walltime):
    run = options(f"{{runner: slurm, slurm: {{walltime: {written}}}}}")
    assert run.slurm.walltime == walltime


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurm: {walltime: 1h}", "'1h' is no time; write HH:MM:SS, as 04:00:00"),
        ("slurm: {walltime: -5}", "-5 is no time; write HH:MM:SS, as 04:00:00"),
        ("slurm: {minimum: 3, maximum: 2}", "minimum 3 jobs are more than maximum 2"),
        ("slurm: {que: cpu}", "unknown key 'que'; did you mean 'queue'?"),
        ("{runner: slurm, address: 'tcp://a:1'}", "address tcp://a:1 is of a Dask scheduler"),
        ("runner: ray", "'processes', 'dask', 'slurm' or 'array', got 'ray'"),
    ],
)
def test_a_mistake_is_told_in_a_line(text, message):
    with pytest.raises(ConfigError) as mistake:
        options(text)
    assert str(mistake.value).startswith("r.yaml: run")
    assert message.split("expected ")[-1] in str(mistake.value)
    assert "\n" not in str(mistake.value)


@pytest.mark.parametrize("runner", ["slurm", "array"])
def test_a_job_has_memory_for_its_processes(runner):
    least = "slurm: {memory: 325MB}"
    assert options(f"{{runner: {runner}, {least}}}").budget_bytes == 25_000_000
    assert options("slurm: {memory: 128}").slurm.memory == 128  # whose runner has no jobs
    stated = RunOptions(runner=runner).model_dump()  # as a form fills it in
    assert RunOptions.model_validate(stated).memory_budget is None
    budget = "memory_budget: 1GB, slurm: {cores: 2, memory: 1299MB}"
    default = "memory_budget: 4GiB, slurm: {memory: 4GiB}"
    for text in ("slurm: {memory: 128}", "slurm: {memory: 324999999}", budget, default):
        with pytest.raises(ConfigError, match=r"^r.yaml: run: slurm.memory of a job is [^\n]*$"):
            options(f"{{runner: {runner}, {text}}}")
    text = f"{{runner: {runner}, memory_budget: 1GB, slurm: {{cores: 2, memory: 1300MB}}}}"
    if runner == "array":  # threads of one process
        assert options(text).slurm.workers == 2
        return
    with pytest.raises(ConfigError) as mistake:
        options(text)
    assert str(mistake.value) == (
        "r.yaml: run: slurm.memory of a job is 1.3 GB, and its 2 processes may take 2.6 GB:"
        " 300 MB each and memory_budget; state so much, or a smaller memory_budget"
    )


@pytest.mark.parametrize(("runner", "least"), [("slurm", 4 * 325), ("array", 300 + 4 * 25)])
def test_a_job_leaves_each_worker_memory_where_no_budget_is_stated(runner, least):
    text = f"{{runner: {runner}, slurm: {{cores: 4, memory: %dMB}}}}"
    assert options(text % least).budget_told.startswith("run.slurm.memory leaves ")
    with pytest.raises(ConfigError, match="300 MB each and 25 MB a worker; state more"):
        options(text % (least - 1))


def test_a_budget_that_is_not_stated_is_what_a_job_has():
    def budget(**given):
        return RunOptions(slurm=Slurm(cores=4, memory=8 * 10**9), **given).budget_bytes

    assert budget(runner="slurm") == 2 * 10**9 - 300_000_000
    assert budget(runner="slurm", memory_budget="1GB") == 10**9
    assert budget(runner="array") == budget() == 4 * 1024**3
    assert RunOptions(runner="array").budget_bytes == 4 * 1024**3 - 300_000_000


def test_a_process_of_a_cluster_does_one_work_at_a_time():
    assert RunOptions(workers=8).works_at_once == 8
    assert RunOptions().works_at_once is None
    assert RunOptions(runner="dask", workers=8).works_at_once == 1


def test_a_job_has_a_worker_for_each_core_unless_told():
    assert Slurm(cores=32).workers == 32
    assert Slurm(cores=32, processes=4).workers == 4
