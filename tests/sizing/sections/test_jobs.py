"""Several jobs on one storage: each as if alone, their sums, and the worst moment."""

import pytest

from tests.sizing.sections.sheets import sheet
from tests.sizing.test_limits import tier
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.report.data import kind
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.requirement import leaves
from tokenmill.sizing.verdict import drives, judge, limits, on_drives

MAIN = """
corpus: {tokens: 15.6T}
model: {params: 405B}
cluster: {count: 16384, mfu: 0.404}
"""
ABLATION = "model: {params: 8B}, cluster: {count: 512}, training: {tokens: 1T}"
JOBS = (
    MAIN
    + f"""
jobs:
  - {{name: ablations, copies: 8, {ABLATION}}}
storage: {{others: [{{name: homes, bytes: 2 PB}}]}}
"""
)
ALONE = """
corpus: {tokens: 15.6T}
model: {params: 8B}
cluster: {count: 512, mfu: 0.404}
training: {tokens: 1T}
"""
SUMMED = (
    "read bandwidth, whole job",
    "read requests, whole job",
    "checkpoint write bandwidth, whole job",
    "checkpoint bytes a day",
    "compute cost",
    "nodes",
)


@pytest.fixture(scope="module")
def three():
    return sheet(JOBS), sheet(MAIN), sheet(ALONE)


@pytest.mark.parametrize("name", SUMMED)
def test_what_jobs_ask_for_at_once_is_summed(name, three):
    made, main, alone = three
    assert made[name].value == pytest.approx(main[name].value + 8 * alone[name].value)


def test_one_restarts_at_a_time_and_one_node_is_of_the_job_that_needs_most(three):
    made, main, alone = three
    for name in ("restart read bandwidth", "read bandwidth, one node", "one checkpoint"):
        assert made[name].value == max(main[name].value, alone[name].value)


def test_the_worst_moment_is_told_apart_from_the_mean(three):
    made, main, alone = three
    reads, writes = made["read bandwidth, whole job"], made["checkpoint write bandwidth, whole job"]
    worst = reads.value + writes.value + made["restart read bandwidth"].value
    assert made["reads and writes, worst moment"].value == pytest.approx(worst)
    daily = main["checkpoint bytes a day"].value + 8 * alone["checkpoint bytes a day"].value
    mean = reads.value + daily / 86_400
    assert made["reads and writes, mean"].value == pytest.approx(mean)


def test_capacity_is_of_what_each_job_keeps_one_dataset_and_what_else_is_stated(three):
    made, main, alone = three
    kept = main["stored: checkpoints"].value + 8 * alone["stored: checkpoints"].value
    stored = {i.name: i.value for i in made["stored in all"].inputs}
    of_jobs = sum(n for name, n in stored.items() if name.startswith("checkpoints"))
    assert of_jobs == pytest.approx(kept)
    assert stored["others, homes"] == 2e15
    assert [name for name in stored if name.startswith("dataset")] == ["dataset"]


def test_every_figure_of_a_job_can_be_traced_and_is_shown(three):
    made = three[0]
    for row in made:
        leaves(row, made.rows)
    told = sheet_markdown(made)
    assert "Checkpoints, ablations" in told
    assert "8 x ablations" in told
    assert {v.requirement for v in judge(made)} >= set(SUMMED[:3])


@pytest.mark.parametrize("name", [*SUMMED, "training time with failures", "cost of waste"])
def test_what_figures_of_all_jobs_rest_on_is_what_those_of_each_rest_on(name, three):
    """What a job took from the rate and the corpus was told as assumed, whatever it was."""
    made, *alone = three
    kinds = {kind(i) for own in alone for i in leaves(own[name], own.rows)}
    assert {kind(i) for i in leaves(made[name], made.rows)} == kinds
    assert not any(i.source.startswith("computed") for i in leaves(made[name], made.rows))


def test_every_row_that_another_is_computed_by_is_told(three):
    made = three[0]
    shown = {row.name for section in made.sections for row in section.rows}
    assert shown == set(made.rows)
    assert shown >= {i.computed_by for row in made for i in row.inputs if i.computed_by}


def test_time_and_cost_of_failures_are_told_of_all_jobs_or_not(three):
    made, main, alone = three
    time, cost = "training time with failures", "cost of waste"
    assert made[time].value == max(main[time].value, alone[time].value)
    assert made[cost].value == pytest.approx(main[cost].value + 8 * alone[cost].value)
    endless = "jobs: [{name: a, model: {params: 405B}, cluster: {count: 900000}}]"
    hopeless = sheet(endless)
    assert time not in hopeless.jobs["a"][1]
    assert time not in hopeless
    assert cost not in hopeless


def test_a_job_of_another_corpus_stores_it_too():
    made = sheet(MAIN + "jobs: [{name: photos, corpus: {tokens: 1T, image_text: {}}}]")
    assert made["stored: dataset, photos"].value == pytest.approx(1e12 * 250_400 / 1124)


@pytest.mark.parametrize("part", ["inputs", "scratch"])
def test_what_comes_in_of_each_corpus_and_what_preparing_it_takes_is_of_all_corpora(part):
    """Of jobs with corpora of their own only the datasets counted."""

    def of_part(plan):
        made = [
            sheet(f"{plan}\nstorage: {{holds: [{p}]}}") for p in ("dataset", f"dataset, {part}")
        ]
        return made[1]["stored in all"].value - made[0]["stored in all"].value

    jobs = "jobs: [{name: a, corpus: {tokens: 2T}}, {name: b, corpus: {tokens: 2T}}]"
    own, of_a = of_part(MAIN), of_part(MAIN.replace("15.6T", "2T"))
    assert 0 < of_a < own
    assert of_part(MAIN + jobs) == pytest.approx(own + of_a)


def test_a_corpus_that_jobs_share_is_stored_once():
    job = "{{name: {}, corpus: {{tokens: {}, image_text: {{}}}}}}"
    jobs = ", ".join([job.format("a", "1T"), job.format("b", "1T"), job.format("c", "2T")])
    made = sheet(f"{MAIN}jobs: [{jobs}]")
    stored = [row.name for row in made if row.name.startswith("stored: dataset,")]
    assert stored == ["stored: dataset, a", "stored: dataset, c"]


def test_what_a_job_warns_of_is_told_under_its_name_and_the_pool_is_of_all():
    made = sheet(
        "jobs: [{name: big, model: {params: 405B}, cluster: {count: 64}}]\n"
        "storage: {hot: {bytes: 1 TB, cold_bytes_per_s: 1 MB/s}}"
    )
    memory = "big: cluster.count 64 is less than the 114 accelerators"
    assert sum(w.startswith(memory) for w in made.warnings) == 1
    assert sum("hot pool" in w for w in made.warnings) == 1


def test_what_is_wrong_with_a_job_names_it():
    with pytest.raises(PlanError, match="job 'a': training.data_parallel 9 is more than") as e:
        sheet("jobs: [{name: a, cluster: {count: 8}, training: {data_parallel: 9}}]")
    assert "\n" not in str(e.value)
    with pytest.raises(PlanError, match="two jobs share a name"):
        sheet("jobs: [{name: a}, {name: a}]")
    with pytest.raises(PlanError, match="job 'this plan': that is the plan's own"):
        sheet("jobs: [{name: this plan}]")


@pytest.mark.parametrize(
    ("plan", "job", "told"),
    [("mfu: 0.4", "precision: fp8", "is of which peak"), ("hfu: 0.4", "mfu: 0.5", "both given")],
)
def test_what_a_job_states_has_to_go_with_what_it_takes_from_the_plan(plan, job, told):
    with pytest.raises(PlanError, match=f"job 'a': .*{told}"):
        sheet(f"cluster: {{{plan}}}\njobs: [{{name: a, cluster: {{{job}}}}}]")


def test_a_job_of_other_params_is_of_another_model_with_the_plans_sequences():
    """A job of 7B took the layers of the plan's 13B, and active_params were more than params."""
    moe = "model: {params: 671B, active_params: 37B, layers: 61, hidden: 7168, seq_len: 4096}"
    made = sheet(
        f"{moe}\njobs: [{{name: a, model: {{params: 1B}}}}, {{name: b, model: {{heads: 64}}}},"
        " {name: c, model: {params: 671B}}]"
    )
    a, b, c = (made.jobs[name][1].plan.model for name in "abc")
    assert c == made.plan.model
    assert a.model_dump(exclude_none=True) == {"params": 1e9, "seq_len": 4096}
    assert (b.params, b.active_params, b.layers, b.heads) == (671e9, 37e9, 61, 64)


@pytest.mark.parametrize(
    ("job", "interval"),
    [
        ("count: 8", (0.3, 0.5)),
        ("mfu: {value: 0.2, low: 0.1, high: 0.3}", (0.1, 0.3)),
        ("mfu: 0.2", None),
    ],
)
def test_a_job_has_the_interval_of_what_it_states_or_takes_from_the_plan(job, interval):
    mfu = "cluster: {mfu: {value: 0.4, low: 0.3, high: 0.5}}"
    made = sheet(f"{mfu}\njobs: [{{name: a, cluster: {{{job}}}}}]")
    assert made.jobs["a"][1].plan.cluster.interval_of("mfu") == interval


@pytest.mark.parametrize(
    ("column", "of_all", "of_node"),
    [
        ("client_read_bytes_per_s", "read bandwidth, whole job", "read bandwidth, one node"),
        ("client_write_bytes_per_s", SUMMED[2], "checkpoint write bandwidth, one node"),
        ("client_read_bytes_per_s", "restart read bandwidth", "restart read bandwidth, one node"),
    ],
)
def test_one_client_is_held_against_a_node_of_the_job_that_needs_most(column, of_all, of_node):
    """Writes of all jobs were divided among the nodes of the plan: 64 MB/s, not 16.3 GB/s."""
    few = "model: {params: 70B}, cluster: {count: 16}, checkpoints: {interval_s: 600}"
    made = sheet(f"model: {{params: 1B}}\ncluster: {{count: 4096}}\njobs: [{{name: few, {few}}}]")
    (limit,) = limits(made, tier(**{column: 1e9}), made[of_all])
    assert limit.needed is made[of_node]
    assert made[of_node].value == max(own[of_node].value for _, own in made.jobs.values())


def test_a_nodes_own_drives_answer_the_requests_of_the_job_that_asks_most_of_a_node():
    made = sheet("cluster: {count: 4096}\njobs: [{name: small, model: {params: 1B}}]")
    cells = {"local": True, "drive_bytes": "1 TB", "drive_read_iops": 1e5}
    (limit,) = limits(made, tier(**cells), made[SUMMED[1]])
    assert limit.needed is made["read requests, one node"]
    assert limit.needed.value == made.jobs["small"][1]["read requests, one node"].value


def test_a_nodes_own_drives_hold_the_dataset_of_the_job_whose_is_largest():
    """They held the plan's: 2 drives in each node for 400 TB; the pool before it likewise."""
    made = sheet(f"{MAIN}storage: {{hot: {{}}}}\njobs: [{{name: a, corpus: {{tokens: 100T}}}}]")
    of_a = made.jobs["a"][1]["stored: dataset"].value
    row = next(i for i in on_drives(made).inputs if i.name == "logical_bytes")
    assert row.value == of_a == 400e12
    share = {i.name: i.value for i in made["share of the dataset that is hot"].inputs}
    assert share["dataset_bytes"] == of_a + made["stored: dataset"].value
    assert next(d for d in drives(made, tier(local=True, drive_bytes="10 TB"))).value == of_a


@pytest.mark.parametrize("job", ["model: {params: 70B}", "training: {tokens: 1.4T}"])
def test_a_corpus_that_nobody_states_is_as_large_as_the_largest_job_takes_it(job):
    """20B tokens were stored for a plan of 1B, and none for a job that sees 1.4T once each."""
    made = sheet(f"model: {{params: 1B}}\njobs: [{{name: a, {job}}}]")
    assert made["stored: dataset, a"].value == 1.4e12 * 4
    smaller = sheet("model: {params: 70B}\njobs: [{name: a, model: {params: 1B}}]")
    assert "stored: dataset, a" not in smaller
