"""The same bytes, wherever the work is done."""

import pytest

from tests.cluster import runs

# threads make these bytes from S3 below, processes those of a crawl in test_crawl, and jobs that
# come as they are needed those of the small corpus in test_killed and test_campaign
ELSEWHERE = ("threads-2", "dask-local", "slurm-adaptive")
LONG = [pytest.param(name, marks=pytest.mark.long) for name in ELSEWHERE]


@pytest.fixture(params=[*LONG, "dask-external", "slurm"])
def options(request):
    """Command-line options of a runner, and the environment it needs."""
    if request.param == "threads-2":
        return ("--workers", "2"), {}
    if request.param == "dask-local":
        return ("--runner", "dask", "--workers", "2"), {}
    if request.param == "dask-external":
        return runs.on_dask(request.getfixturevalue("dask_cluster")), {}
    slurm = request.getfixturevalue("slurm")
    least = 2 if request.param == "slurm" else 0
    return runs.on_slurm(slurm, least=least), slurm.env


# the small one is run by every runner in test_killed and test_campaign, whose bytes are these too
@pytest.mark.parametrize(
    "corpus", ["undisturbed_real", pytest.param("undisturbed", marks=pytest.mark.long)]
)
def test_every_runner_makes_the_same_bytes(corpus, options, env, tmp_path, request):
    words, needed = options
    wanted = request.getfixturevalue(corpus)
    runs.prepared(wanted.recipe, tmp_path / "run", *words, env=env | needed)
    assert runs.contents(tmp_path / "run") == runs.contents(wanted.out)
    assert not runs.unbalanced(tmp_path / "run")
    assert set(runs.receipts(tmp_path / "run")) == wanted.receipts


def test_real_text_from_s3_to_s3_makes_the_same_bytes(
    undisturbed_real, shared_data, s3, env, tmp_path
):
    text = shared_data / "text"
    s3.upload(text, "real", "text/")
    recipe = tmp_path / "real-s3.yaml"
    recipe.write_text(undisturbed_real.recipe.read_text().replace(f"{text}/", "s3://real/text/"))
    runs.prepared(recipe, "s3://real/run", "--workers", "2", env={**env, **s3.env})
    out = s3.download("real", "run/", tmp_path / "run")
    assert runs.contents(out) == runs.contents(undisturbed_real.out)
    assert not runs.unbalanced(out)
    assert s3.open_uploads("real") == []
