"""Copying data to node-local drives: the slower of the link and the storage decides."""

import pytest

from tokenmill.sizing.formulas.network import transfer_hours
from tokenmill.sizing.formulas.staging import node_link_bits_per_s, shared_staging_hours


def test_p5_48xlarge_has_3200_gigabits_and_400_gigabytes_a_second():
    link = node_link_bits_per_s(scale_out_bits_per_s=400e9, per_node=8)
    assert link == 3200e9
    assert link / 8 == 400e9


def test_storage_as_fast_as_all_links_takes_as_long_as_one_of_them():
    one = transfer_hours(transfer_bytes=3.6e12, link_bits_per_s=10e9, efficiency=1.0)
    assert one == pytest.approx(0.8)
    shared = shared_staging_hours(staged_bytes=3.6e12, nodes=16, storage_bytes_per_s=16 * 10e9 / 8)
    assert shared == pytest.approx(one)
