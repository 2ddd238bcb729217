"""The table of accelerators can be read, traced and searched, and takes rows of users."""

import pytest
from pydantic import ValidationError

from tokenmill.sizing.errors import PlanError, explain
from tokenmill.sizing.tables import ACCELERATORS, AcceleratorRow

COMPUTE = (
    "Bekman, Machine Learning Engineering (744d01e), compute/accelerator,"
    " whose tables link the makers' pages"
)


def own(**cells):
    return {"name": "X1", "dense_flops_per_s": "1 PFLOP/s", "hbm_bytes": "64 GB", "per_node": 4} | (
        cells
    )


def complaint(**cells):
    with pytest.raises(ValidationError) as e:
        AcceleratorRow.model_validate(own(**cells))
    return explain(e.value, AcceleratorRow)


def test_every_name_means_one_row():
    names = [n.lower() for row in ACCELERATORS.rows for n in (row.name, *row.aliases)]
    assert len(set(names)) == len(names)
    assert len(ACCELERATORS.rows) == 24


def test_peaks_relate_as_published():
    """125, 312, 989 and 2,250 TFLOP/s: 1, 2.5, 8 and 18."""
    peaks = [ACCELERATORS.find(n).dense_flops_per_s for n in ("V100", "A100", "H100", "B200")]
    assert [round(p / peaks[0], 3) for p in peaks] == [1.0, 2.496, 7.912, 18.0]


def test_fp8_is_none_where_a_chip_has_none():
    """What TPUs print beside BF16 is INT8, and so is the FP8 of an A100 in one table."""
    without = {row.name for row in ACCELERATORS.rows if row.fp8_flops_per_s is None}
    assert without == {
        *("V100 SXM2", "A100 SXM 40GB", "A100 SXM 80GB", "MI250X", "TPU v4", "TPU v5e")
    }


def test_fp8_is_no_slower_than_bf16_and_at_most_about_twice_as_fast():
    """4 x BF16 would be a figure with sparsity; Trn3's MXFP8 is printed dense at 3.75 x."""
    for row in ACCELERATORS.rows:
        if row.fp8_flops_per_s is not None and row.name != "Trn3":
            assert 1 <= row.fp8_flops_per_s / row.dense_flops_per_s < 2.01


def test_ports_of_gaudi_are_counted_once():
    """21 of its 24 ports go to its node, 3 to others: 8 x 21 x 100 GbE are 2.1 TB/s."""
    row = ACCELERATORS.find("Gaudi2")
    assert row.scale_up_bytes_per_s * 8 + row.scale_out_bits_per_s == 24 * 100e9
    assert row.per_node * row.scale_up_bytes_per_s == 2.1e12


@pytest.mark.parametrize("name", ["H100 SXM", "h100", "H100-SXM", "h100_sxm5"])
def test_case_and_punctuation_do_not_matter(name):
    assert ACCELERATORS.find(name).name == "H100 SXM"


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(PlanError) as e:
        ACCELERATORS.find("MI350X")
    assert str(e.value) == (
        "unknown accelerator 'MI350X'; did you mean 'MI355X' or 'MI325X' or 'MI300X'?"
        " (or give cluster.dense_flops_per_s and cluster.per_node)"
    )
    with pytest.raises(PlanError, match=r"unknown accelerator '\?'; known: V100 SXM2, A100 SXM 40"):
        ACCELERATORS.find("?")


def test_every_cell_has_a_source_and_a_mark():
    for row in ACCELERATORS.rows:
        for column in row.columns():
            assert row.source_of(column).startswith(f"{row.name}: ")
            assert row.verified(column) is not row.source_of(column).endswith("(unverified)")
            assert row.verified(column) is ("from memory" not in row.source_of(column))


def test_cells_that_were_read_elsewhere_say_where():
    gb300 = ACCELERATORS.find("GB300")
    assert gb300.source_of("hbm_bytes") == "GB300: a data sheet, from memory (unverified)"
    assert gb300.source_of("dense_flops_per_s") == f"GB300: {COMPUTE}"
    with pytest.raises(KeyError, match="'price' is no column of AcceleratorRow"):
        gb300.source_of("price")


def test_a_users_row_comes_first_and_says_it_is_the_plans():
    row = AcceleratorRow.model_validate(
        own(aliases=["h100"], scale_out_bits_per_s="25 GB/s", unverified=["hbm_bytes"])
    )
    assert ACCELERATORS.find("H100", [row]) is row
    assert ACCELERATORS.find("H200", [row]).name == "H200"
    assert row.scale_out_bits_per_s == 200e9
    assert row.source_of("per_node") == "X1: stated in the plan"
    assert row.source_of("hbm_bytes") == "X1: stated in the plan (unverified)"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"hbm_bytes": "64 G"},
            "hbm_bytes: '64 G' does not say whether it means bytes (B) or bits (b);"
            " accepted: 256kB, 15TB, 7.3TiB",
        ),
        (
            {"dense_flops_per_s": 989},
            "dense_flops_per_s: 989 has no unit; write the unit, as 989 TFLOP/s",
        ),
        ({"per_node": 0}, "per_node: input should be greater than or equal to 1, got 0"),
        ({"matmul_frac": 80}, "matmul_frac: input should be less than or equal to 1, got 80"),
        ({"hbm": "64 GB"}, "unknown key 'hbm'; did you mean 'hbm_bytes'?"),
        ({"unverified": ["fp8_flops_per_s"]}, "X1: fp8_flops_per_s is marked but has no value"),
    ],
)
def test_a_users_mistake_is_told_in_one_line(cells, message):
    assert complaint(**cells) == message


def test_a_mark_on_no_column_names_the_columns():
    assert complaint(sources={"hbm": "x"}).startswith(
        "X1: no column 'hbm'; columns: dense_flops_per_s, fp8_flops_per_s, hbm_bytes, "
    )
