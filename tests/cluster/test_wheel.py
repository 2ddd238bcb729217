"""The built wheel, installed outside the checkout, is all that a user needs."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import prefect_home

ROOT = Path(__file__).parent.parent.parent
MADE = ("__pycache__", "*.egg-info", "build", "dist", "demo-run")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy: a build writes beside its sources, which other tests are reading, and
    packs whatever an earlier one left there.
    """
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "checkout"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", *MADE))
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(copy)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    (found,) = folder.glob("tokenmill-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Bin folder of an environment that has the wheel, what it asks for, and nothing else."""
    home = tmp_path_factory.mktemp("home") / "venv"
    venv.create(home)
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    pip += ["--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, timeout=600)
    (packages,) = home.glob("lib/python*/site-packages")
    here = Path(sysconfig.get_path("purelib"))
    for name in asked_for("tokenmill", {"tokenmill"}) - {"tokenmill"}:
        for top in {path.parts[0] for path in distribution(name).files or ()}:
            if top not in ("..", "__pycache__") and not (packages / top).exists():
                (packages / top).symlink_to(here / top)
    return home / "bin"


def asked_for(name, found, extras=()):
    """Names of the installed distributions that one asks for, and those of theirs."""
    for line in distribution(name).requires or ():
        asked = Requirement(line)
        wanted = asked.marker is None or any(
            asked.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted and asked.name not in found:
            found.add(asked.name)
            asked_for(asked.name, found, asked.extras)
    return found


def test_data_is_packaged_and_tests_are_not(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "tokenmill/pipelines/prepare/recipes/demo.yaml",
        "tokenmill/pipelines/prepare/report/schema.json",
        "tokenmill/dedup/text/unicode_tables.npz",
        "tokenmill/sizing/data/accelerators.yaml",
        "tokenmill/sizing/document/page.css",
        "tokenmill/sizing/report/schema.json",
        "tokenmill/sizing/estimate.schema.json",
        "tokenmill/pipelines/contamination/schema.json",
    ):
        assert name in names
    assert not [n for n in names if n.startswith(("tests", "flows/tests"))]
    assert any(n.endswith("licenses/LICENSE") for n in names)


@pytest.mark.timeout(3600)  # a build, an installation and two runs on a machine that does much else
def test_the_installed_wheel_runs_the_demo_and_again_does_nothing(installed, tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT", "PYTHON"))}
    environment["PREFECT_HOME"] = str(prefect_home.filled(tmp_path / "prefect"))
    where = "from tokenmill import pipelines; import sys; sys.stdout.write(pipelines.__file__)"
    found = subprocess.check_output(
        [installed / "python", "-c", where], cwd=tmp_path, env=environment, text=True
    )
    assert not found.startswith(str(ROOT))
    reports = []
    for _ in range(2):
        ended = subprocess.run(
            [installed / "tokenmill", "demo", "--out", "demo", "--json"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=1000,
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
        reports.append(json.loads(ended.stdout))
    assert reports[0]["measurement"]["total"]["docs"] > 1000
    assert reports[1] == reports[0], "the second run found the first one finished"
