"""A few of the campaign's runs: killed at random moments, several times each."""

import random

import pytest

from tests.cluster import runs
from tests.cluster.campaign import ARRAY, BUCKET, SLURM, STORE, TURNS, Site, files, ordeal


@pytest.fixture
def site(undisturbed, dask_cluster, prefect_server, request):
    """What the runs are run on; SLURM and S3 only for the run that asks for it."""
    runner, s3 = request.node.callspec.params["runner"], None
    if runner == STORE:
        s3 = request.getfixturevalue("s3")
        s3.client().create_bucket(Bucket=BUCKET)
    return Site(
        recipe=undisturbed.recipe,
        wanted=runs.contents(undisturbed.out),
        receipts=undisturbed.receipts,
        files=files(undisturbed.out),
        dask=dask_cluster,
        prefect=prefect_server,
        slurm=request.getfixturevalue("slurm") if runner in (SLURM, ARRAY) else None,
        s3=s3,
    )


@pytest.mark.parametrize("runner", sorted(TURNS))
def test_killed_at_random_a_run_ends_equal_and_balanced(site, runner, tmp_path):
    made = ordeal(site, runner, 2, random.Random(runner), tmp_path)
    assert made.kills
    assert made.wrong == ""
    assert made.again == 0, "finished work was done again"
