"""Run a recipe, and be killed at a chosen moment. Started by test_kill.py as its own process.

    python -m tests.e2e.killed RECIPE OUT MOMENT N

kills itself with SIGKILL the N-th time MOMENT comes; with MOMENT "never" it finishes.
The moments are places in the real code, wrapped from outside: nothing in it knows of this.
"""

import os
import signal
import sys
from pathlib import Path

import pyarrow as pa

from pipelines import atomic, dataset, duplicates, edges, job
from pipelines.drive import one_by_one
from pipelines.prepare import prepare
from pipelines.recipe import load_recipe


def main(recipe: str, out: str, moment: str, number: str) -> None:
    left = [int(number)]

    def fatal(function, *, when=lambda *_: True, after=False):
        """`function`, with death before it (or after it) the N-th time `when` holds."""

        def wrapped(*args, **kwargs):
            if not when(*args):
                return function(*args, **kwargs)
            left[0] -= 1
            if left[0] > 0:
                return function(*args, **kwargs)
            if after:
                function(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        return wrapped

    def in_folder(part):
        return lambda _, target: part in str(target)

    def named(name):
        return lambda path, *_: name in str(path)

    moments = {
        "never": None,
        # bytes lie under a temporary name, not yet fsynced or renamed
        "partial": (atomic, "_fsync", {"when": named(".partial-")}),
        # the file has its name, its receipt is not written
        "renamed": (job, "save_receipt", {}),
        "banding": (edges, "buckets", {"after": True}),
        "clustering": (duplicates, "Forest", {"after": True}),
        # some files of the dataset are in place, others are not
        "dataset": (atomic.os, "replace", {"when": in_folder("dataset/data-")}),
        # between dataset_info.json and state.json
        "state": (dataset, "write_json", {"when": named("state.json")}),
    }
    if moments[moment] is not None:
        module, name, how = moments[moment]
        setattr(module, name, fatal(getattr(module, name), **how))
    pa.set_cpu_count(1)
    prepare(load_recipe(Path(recipe)), Path(out), one_by_one)


if __name__ == "__main__":
    main(*sys.argv[1:])
