"""Ingest a recipe into a collection, and be killed at a chosen moment; in a process of its own."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.fatal import arm, named
from tests.running import one_by_one
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.prepare import collection, growth
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe, load_recipe
from tokenmill.pipelines.runs import work
from tokenmill.pipelines.storage import atomic

MOMENTS: Mapping[str, tuple[Any, str, dict[str, Any]]] = {
    # the collection knows the run, which has no manifest
    "begun": (os, "replace", {"when": lambda _, to: "collection.json" in str(to), "after": True}),
    "planned": (os, "replace", {"when": lambda _, to: str(to).endswith("manifest.json")}),
    "worked": (work, "save_receipt", {"after": True}),
    "dataset": (os, "replace", {"when": lambda _, to: "dataset/data-" in str(to)}),
    # the run has finished, and the collection does not show it
    "finished": (growth, "write_growth", {}),
    "viewed": (atomic, "_fsync", {"when": named("report.html.partial-")}),
}


def ingest(recipe: Recipe, into: str, *, again: bool = False) -> dict[str, Any]:
    """As the flow does, without it: names of the runs made, what is told, how it grew."""
    made = []
    with collection.held_collection(place(into)) as held:
        while (run := held.next_run(recipe, again=again)) is not None:
            run_recipe(run.recipe, run.out, one_by_one, run.plan)
            made.append(run.name)
            held.look_again(run.name)
        return {**growth.write_growth(held), "made": made, "told": held.told}


def night(recipe: str, into: str) -> None:
    """Ingest as the command does; with 2 and a line where it is refused."""
    try:
        ingest(load_recipe(Path(recipe)), into)
    except ConfigError as e:
        sys.stderr.write(f"{e}\n")
        sys.exit(2)


def killed(recipe: str, into: str, moment: str, number: str) -> None:
    module, name, how = MOMENTS[moment]
    arm(module, name, int(number), **how)
    ingest(load_recipe(Path(recipe)), into)
    sys.exit(7)  # the moment did not come
