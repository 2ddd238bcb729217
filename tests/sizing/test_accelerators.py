"""The table of accelerators can be read, traced and searched."""

import pytest

from sizing.accelerators import TABLES_SOURCE, accelerators, find_accelerator
from sizing.errors import PlanError


def test_every_row_is_whole_and_every_name_means_one_row():
    names = [n.lower() for row in accelerators() for n in (row.name, *row.aliases)]
    assert len(set(names)) == len(names)
    assert len(accelerators()) >= 20
    for row in accelerators():
        assert 1e14 <= row.dense_flops_per_s <= 5e15
        assert 16e9 <= row.hbm_bytes <= 300e9
        assert 1 <= row.per_node <= 16
        assert row.source


def test_peaks_relate_as_published():
    """125, 312, 989 and 2,250 TFLOP/s: 1, 2.5, 8 and 18."""
    peaks = [find_accelerator(n).dense_flops_per_s for n in ("V100", "A100", "H100", "B200")]
    assert [round(p / peaks[0], 3) for p in peaks] == [1.0, 2.496, 7.912, 18.0]


@pytest.mark.parametrize("name", ["H100 SXM", "h100", "H100-SXM", "h100_sxm5"])
def test_case_and_punctuation_do_not_matter(name):
    assert find_accelerator(name).name == "H100 SXM"


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(PlanError) as e:
        find_accelerator("MI350X")
    assert str(e.value) == (
        "unknown accelerator 'MI350X'; did you mean 'MI355X' or 'MI325X' or 'MI300X'?"
        " (or give cluster.dense_flops_per_s and cluster.per_node)"
    )
    with pytest.raises(PlanError, match=r"unknown accelerator '\?'; known: V100 SXM2, A100 SXM 40"):
        find_accelerator("?")


def test_cells_that_were_not_read_in_their_source_say_so():
    gb300 = find_accelerator("GB300")
    assert gb300.source_of("hbm_bytes") == f"GB300: {TABLES_SOURCE} (unverified)"
    assert gb300.source_of("dense_flops_per_s") == f"GB300: {TABLES_SOURCE}"
