"""A folder on a disk whose reads this process can count."""

import pytest

from tokenmill.pipelines.probe.cache import mount_of, sight


@pytest.fixture(autouse=True)
def waits(disk_waited_for):
    """Files are evicted once they are on the disk."""


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "trial").write_bytes(bytes(4096))
    if not sight([tmp_path / "trial"], mount_of(tmp_path.resolve())).seen:
        pytest.skip("the temporary folder is on no disk whose reads can be counted")
    return tmp_path
