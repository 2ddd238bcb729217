"""Stores that no run can be made in: told in a line, before anything is written but a probe."""

import uuid

import pytest

from tests.cluster.faulty_proxy import CONDITION, DELETE, DENIED, IGNORED
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs.manifest import held
from tokenmill.pipelines.storage.lock import PROBE

BUCKET = "lacking"


@pytest.fixture
def s3(reached_s3):
    reached_s3.client().create_bucket(Bucket=BUCKET)
    return reached_s3


@pytest.fixture
def out():
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


def left(s3, out):
    return s3.keys(BUCKET, out.partition(BUCKET)[2][1:])


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ({CONDITION: 501}, r"refuses If-None-Match or If-Match of PUT \(not implemented\), which"),
        ({CONDITION: 403}, r"refuses If-None-Match or If-Match of PUT \(access denied\), which"),
        ({CONDITION: 400}, r"refuses If-None-Match or If-Match of PUT \(invalid argument\), which"),
        ({CONDITION: IGNORED}, "ignores If-None-Match of PUT, which keeps two runs apart$"),
    ],
)
def test_a_store_without_conditions(s3, out, tmp_path, lacks, said):
    s3.proxy.lacks = lacks
    with (
        pytest.raises(ConfigError, match=f"^{out}: no run can be made here, the store {said}") as e,
        held(out, scratch=str(tmp_path)),
    ):
        pass
    assert "\n" not in str(e.value)
    assert "is left" not in str(e.value)
    assert left(s3, out) == []


@pytest.mark.parametrize("how", [501, 403, DENIED, IGNORED])
def test_a_store_that_deletes_nothing(s3, out, tmp_path, how):
    s3.proxy.lacks = {DELETE: how}
    said = f"^{out}: no run can be made here, the store deletes nothing.*allow s3:DeleteObject"
    with pytest.raises(ConfigError, match=said) as e, held(out, scratch=str(tmp_path)):
        pass
    assert "\n" not in str(e.value)
    (key,) = left(s3, out)
    assert PROBE in key
    assert f"(s3://{BUCKET}/{key} is left)" in str(e.value)
    s3.proxy.lacks = {}
    with held(out, scratch=str(tmp_path)):  # nothing that is left is in the way later
        pass
    assert left(s3, out) == [key]


def test_a_store_that_lacks_both_leaves_the_probe(s3, out, tmp_path):
    s3.proxy.lacks = {DELETE: 403, CONDITION: 501}
    said = r"the store refuses If-None-Match .* is left\)$"
    with pytest.raises(ConfigError, match=said), held(out, scratch=str(tmp_path)):
        pass


def test_a_store_that_fails_lacks_nothing(s3, out, tmp_path):
    s3.proxy.rates = {"truncate": 0.2, "reset": 0.2, "slow_down": 0.1}
    for _ in range(2):
        with held(out, scratch=str(tmp_path)):
            pass
    assert s3.proxy.faults.total() > 2
    s3.proxy.forget()
    # a lock whose deleting failed each time expires
    assert [key for key in left(s3, out) if not key.endswith("/.lock")] == []


def test_a_bucket_that_is_not_there_is_told_as_such(s3, tmp_path):
    holding = held("s3://no-such-bucket/run", scratch=str(tmp_path))
    with pytest.raises(ConfigError, match="no such bucket; create it"), holding:
        pass
