"""Runs as tests make them: each work in turn, in this thread, and the report as JSON."""

from collections.abc import Sequence
from typing import Any

from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.work import Execute, Job, Outcome, Phase, attempt


def one_by_one(job: Job, phase: Phase[Any]) -> Sequence[Outcome]:
    """The plainest executor."""
    outcomes = []
    for work in phase.works:
        outcomes.append(attempt(job, work))
        phase.told(outcomes[-1])
    return outcomes


class KilledError(BaseException):
    """A run that ends as if it were killed."""


def killed_in(name: str) -> Execute:
    """The plainest executor, killed when half the works of a phase are done."""

    def execute(job: Job, phase: Phase[Any]) -> Sequence[Outcome]:
        if phase.name == name:
            for work in phase.works[: len(phase.works) // 2]:
                attempt(job, work)
            raise KilledError
        return one_by_one(job, phase)

    return execute


def prepare(
    recipe: Recipe, out: Place, execute: Execute, plan: Plan | None = None
) -> dict[str, Any]:
    """What report.json says of a run."""
    return run_recipe(recipe, out, execute, plan).to_json()
