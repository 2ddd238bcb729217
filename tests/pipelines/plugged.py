"""Plug-ins for tests: a module that the environment names, until the test ends."""

import sys
from pathlib import Path

from tests.apart import Ended, apart
from tests.e2e import killed
from tokenmill.flows.pools.pool import Pool
from tokenmill.pipelines.core.plugins import VARIABLE, Registry
from tokenmill.pipelines.runs.work import Execute


def plug(monkeypatch, module: str, registry: Registry) -> None:
    """Name a module in the environment; what it registers is forgotten with the test."""
    names = list(registry)
    monkeypatch.setattr(registry, "_things", {name: registry[name] for name in names})
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setenv(VARIABLE, module)


def started(module: str, recipe: Path, out: Path, moment: str = "never", number: int = 1) -> Ended:
    """A run in a process of its own that has the plug-in, killed at a moment."""
    assert moment in {*killed.MOMENTS, "never"}
    return apart(killed.main, str(recipe), str(out), moment, str(number), env={VARIABLE: module})


def in_pool(pool: Pool) -> Execute:
    """What has each work of a run done by a pool."""
    return lambda job, phase: [
        outcome for work in phase.works for outcome in pool.submit(job, [work]).result()
    ]
