"""What drives a run never has all that the works told in memory at once."""

import tracemalloc
from dataclasses import replace

from tests.bench.many_shards import Simulated, receipts_of_two, recipe_in
from tokenmill.pipelines.core.shard import numbered
from tokenmill.pipelines.prepare import prepare
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.prepare.report import summary

FEW, MANY = 50, 450


def test_the_report_is_made_of_one_shard_at_a_time(tmp_path, monkeypatch):
    recipe = load_recipe(recipe_in(tmp_path, 2))
    plan, peaks = prepare.plan_run(recipe), []
    made = receipts_of_two(recipe, tmp_path / "two", plan)
    summarize = summary.summarize

    def traced(*args):
        tracemalloc.start()
        report = summarize(*args)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        return report

    monkeypatch.setattr(summary, "summarize", traced)
    for n in (FEW, FEW, MANY):  # once to load what it takes
        shards = numbered([plan.shards[0]] * n, first=0)
        many = replace(plan, shards=shards)
        prepare.run_recipe(recipe, tmp_path / f"{len(peaks)}", Simulated(made), many)
    # bytes a shard: 0.5 kB of counts; what it tells is 3 kB
    assert (peaks[-1] - peaks[-2]) / (MANY - FEW) < 1_000
