"""Run a recipe, and be killed at a chosen moment. Started by test_kill.py as its own process.

    python -m tests.e2e.killed RECIPE OUT MOMENT N

kills itself with SIGKILL the N-th time MOMENT comes; with MOMENT "never" it finishes.
"""

import signal
import sys
from pathlib import Path

import pyarrow as pa

from tests.e2e.fatal import arm, named
from tests.running import one_by_one, prepare
from tokenmill.pipelines.contamination import decontaminate
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.corpus import buckets, edges, stars
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs import work as job
from tokenmill.pipelines.storage import atomic
from tokenmill.pipelines.tokens import dataset

MOMENTS = {
    # bytes lie under a temporary name, not yet fsynced or renamed
    "partial": (atomic, "_fsync", {"when": named(".partial-")}),
    # the file has its name, its receipt is not written
    "renamed": (job, "save_receipt", {}),
    "banding": (buckets, "buckets", {"after": True}),
    # some pairs of a band are compared, others are not
    "comparing": (edges, "shared", {"after": True}),
    # who leaves is written, its receipt is not
    "clustering": (stars, "cluster_facts", {"after": True}),
    # of a crowded bucket some of those that stay lead
    "leading": (stars, "_Leading", {"after": True}),
    # which n-grams count for nothing is written, what was found is not
    "ignored": (decontaminate, "write_ignored", {"after": True}),
    # a shard's images have their name, its receipt is not written
    "spooled": (
        atomic.os,
        "replace",
        {"when": lambda _, to: "17-images/" in str(to), "after": True},
    ),
    # an exported tar lies under its temporary name
    "exported": (atomic, "_fsync", {"when": lambda path: ".tar.partial-" in str(path)}),
    # some files of the dataset are in place, others are not
    "dataset": (atomic.os, "replace", {"when": lambda _, to: "dataset/data-" in str(to)}),
    # some files of the index are in place, others are not
    "indexed": (atomic.os, "replace", {"when": lambda _, to: "/index/part-" in str(to)}),
    # between dataset_info.json and state.json
    "state": (dataset, "write_json", {"when": named("state.json")}),
}


def after(recipe: str, out: str, seconds: str) -> None:
    """Run a recipe, and be killed after so many seconds."""
    pa.set_cpu_count(1)
    signal.setitimer(signal.ITIMER_REAL, float(seconds))  # SIGALRM ends a process as SIGKILL does
    prepare(load_recipe(Path(recipe)), place(out), one_by_one)


def main(recipe: str, out: str, moment: str, number: str) -> None:
    if moment != "never":
        module, name, how = MOMENTS[moment]
        arm(module, name, int(number), **how)
    pa.set_cpu_count(1)
    prepare(load_recipe(Path(recipe)), Path(out), one_by_one)


if __name__ == "__main__":
    main(*sys.argv[1:])
