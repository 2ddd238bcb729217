"""What tests of pools share."""

import pytest

from tokenmill.pipelines.runs.work import Job
from tokenmill.pipelines.storage.atomic import write_json


@pytest.fixture
def job(tmp_path):
    """Of a run that has begun."""
    job = Job(out=tmp_path / "run", identity="x")
    write_json(job.manifest, {})
    return job
