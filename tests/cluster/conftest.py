"""Real components, one of each for all tests here; a test that kills one leaves it running."""

import fcntl
import os
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.cluster import runs
from tests.cluster.dask_cluster import dask_cluster_in
from tests.cluster.prefect_server import prefect_server_in
from tests.cluster.real_corpus import write_real_recipe
from tests.cluster.s3 import s3_in
from tests.cluster.slurm import slurm_in, why_not
from tests.e2e.corpus import write_corpus

MOST_S = 1200  # of one test; a machine that does much else needs minutes for a run


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.timeout(MOST_S))
    # the longest one, which compiles all kernels, is not left to the end
    items.sort(key=lambda item: item.path.name != "test_wheel.py")


@pytest.fixture(scope="session")
def one_slurm(tmp_path_factory):
    if reason := why_not():
        pytest.skip(f"needs SLURM: {reason}")
    try:
        with slurm_in(tmp_path_factory.mktemp("slurm")) as slurm:
            yield slurm
    except RuntimeError as e:
        pytest.skip(f"needs SLURM, which does not start here: {e}")


@pytest.fixture
def slurm(one_slurm):
    """A SLURM without jobs: environment, and squeue and scancel as methods."""
    one_slurm.clear()
    yield one_slurm
    one_slurm.clear()


@pytest.fixture(scope="session")
def one_dask_cluster(tmp_path_factory):
    with dask_cluster_in(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


@pytest.fixture
def dask_cluster(one_dask_cluster):
    """A scheduler and two workers of one thread, all alive."""
    one_dask_cluster.restore()
    return one_dask_cluster


@pytest.fixture(scope="session")
def one_prefect_server(tmp_path_factory):
    with prefect_server_in(tmp_path_factory.mktemp("prefect")) as server:
        yield server


@pytest.fixture
def prefect_server(one_prefect_server):
    """A server without authentication; it may be killed and started again."""
    if not one_prefect_server.program.living:
        one_prefect_server.start()
    return one_prefect_server


@pytest.fixture(scope="session")
def locked_prefect_server(tmp_path_factory):
    """A server behind basic authentication."""
    with prefect_server_in(tmp_path_factory.mktemp("locked"), "clerk:a password") as server:
        yield server


@pytest.fixture(scope="session")
def one_s3(tmp_path_factory):
    with s3_in(tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture
def s3(one_s3):
    """A store whose proxy does not fail yet and has counted nothing; buckets of others may be."""
    one_s3.proxy.forget()
    yield one_s3
    one_s3.proxy.forget()


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing happened to, on one thread: what every other one must equal."""

    recipe: Path
    out: Path
    receipts: frozenset[str]


def ran_undisturbed(of_session, name, write, env):
    """The run of what `write` writes into a folder: made by the first of the processes of tests
    that asks, while others that do wait.
    """
    base = of_session.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    made, out = folder / "made", folder / "run"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of another process, which failed
            folder.mkdir()
            recipe = write(folder)
            runs.prepared(recipe, out, "--workers", "1", env=env)
            assert not runs.unbalanced(out)
            made.write_text(str(recipe))
    return Undisturbed(Path(made.read_text()), out, frozenset(runs.receipts(out)))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory, one_prefect_server):
    write, env = partial(write_corpus, **runs.SMALL), one_prefect_server.client_env
    return ran_undisturbed(tmp_path_factory, "undisturbed", write, env)


@pytest.fixture(scope="session")
def undisturbed_real(shared_data, tmp_path_factory, one_prefect_server):
    """Of real text, through filters, both kinds of duplicates and a benchmark."""
    write, env = partial(write_real_recipe, shared_data), one_prefect_server.client_env
    return ran_undisturbed(tmp_path_factory, "undisturbed-real", write, env)


@pytest.fixture
def recipe(undisturbed):
    return undisturbed.recipe


@pytest.fixture
def env(prefect_server):
    """Of a command that reports to a server which runs already: that saves its own 5 s."""
    return prefect_server.client_env
