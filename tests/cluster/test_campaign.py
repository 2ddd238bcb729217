"""A few of the campaign's runs: killed at random moments, several times each."""

import random

import pytest

from tests.cluster import runs
from tests.cluster.campaign import EXTERNAL, LOCAL, SLURM, THREADS, Site, files, ordeal


@pytest.fixture
def site(undisturbed, dask_cluster, prefect_server, request):
    """What the runs are run on; SLURM only for the run that asks for it."""
    asked = request.node.callspec.params["runner"] == SLURM
    return Site(
        recipe=undisturbed.recipe,
        wanted=runs.contents(undisturbed.out),
        receipts=undisturbed.receipts,
        files=files(undisturbed.out),
        dask=dask_cluster,
        prefect=prefect_server,
        slurm=request.getfixturevalue("slurm") if asked else None,
    )


@pytest.mark.parametrize("runner", [THREADS, LOCAL, EXTERNAL, SLURM])
def test_killed_at_random_a_run_ends_equal_and_balanced(site, runner, tmp_path):
    made = ordeal(site, runner, 2, random.Random(runner), tmp_path)
    assert made.kills
    assert made.wrong == ""
    assert made.again == 0, "finished work was done again"
