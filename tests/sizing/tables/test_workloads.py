"""Workloads and their published demand on storage."""

import pytest
from pydantic import ValidationError

from tokenmill.sizing.tables import WORKLOADS, WorkloadRow

MB = 1e6


@pytest.mark.parametrize(
    ("name", "accelerator", "mb_per_s"),
    [
        *(("unet3d", "V100", 431), ("unet3d", "A100", 1614), ("unet3d", "H100", 3177)),
        *(("unet3d", "B200", 6335), ("resnet50", "V100", 37.6), ("resnet50", "A100", 105.4)),
        *(("resnet50", "H100", 204.8), ("cosmoflow", "V100", 302), ("cosmoflow", "A100", 513)),
        *(("cosmoflow", "H100", 808), ("flux", "B200", 77.0), ("retinanet", "B200", 163)),
        ("bert", "V100", 0.124),
    ],
)
def test_demand_of_one_accelerator(name, accelerator, mb_per_s):
    row = WORKLOADS.find(name)
    rate = row.batch[accelerator] * row.sample_bytes / row.computation_s[accelerator]
    assert rate / MB == pytest.approx(mb_per_s, rel=0.003)


@pytest.mark.parametrize(
    ("name", "gib_flop", "mib"),
    [("cosmoflow", 247, 16), ("deepcam", 2887, 27), ("resnet50", 31, 0.14)],
)
def test_constants_of_the_flop_ratio(name, gib_flop, mib):
    row = WORKLOADS.find(name)
    assert row.flop_per_sample == gib_flop * 1024**3
    assert row.decoded_bytes == pytest.approx(mib * 1024**2)


def test_a_step_without_its_time_is_refused():
    with pytest.raises(ValidationError, match="batch and computation_s are of different"):
        WorkloadRow.model_validate({"name": "w", "batch": {"H100": 8}})
