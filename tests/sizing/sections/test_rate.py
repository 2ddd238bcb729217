"""The training rate, with attention, with the hardware's utilization, and with a warning."""

import pytest

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.data import assumptions
from tokenmill.sizing.sections import rate
from tokenmill.sizing.sheet import Sheet


def sheet(text):
    made = Sheet(parse_plan(text, where="plan"), {})
    made.begin(rate.TITLE)
    rate.add(made)
    return made


def test_the_405b_of_llama_3_on_16_384_accelerators_at_400_tflops_each():
    made = sheet("model: {params: 405B}\ncluster: {count: 16384, mfu: 0.40445}")
    assert made["training rate"].value == pytest.approx(2.69e6, rel=0.005)
    assert made["training rate, one accelerator"].value == pytest.approx(164.6, rel=0.005)


def test_only_active_parameters_work():
    dense = sheet("model: {params: 8B}")
    sparse = sheet("model: {params: 80B, active_params: 8B}")
    assert sparse["training rate"].value == dense["training rate"].value


def test_attention_is_counted_where_layers_and_width_are_known():
    text = "model: {params: 540.35B, layers: 118, hidden: 12288, seq_len: 2048}"
    palm = sheet(f"{text}\ncluster: {{accelerator: TPU v4, count: 6144, mfu: 0.462}}")
    assert palm["training rate"].value == pytest.approx(238.3e3, rel=0.002)
    assert "attention FLOP a token" not in sheet("model: {layers: 118}")


def test_the_width_of_attention_is_that_of_the_heads_where_these_are_stated():
    """DeepSeek-V3: 128 heads of 192 beside a hidden size of 7,168, which made 3.4 times less."""
    text = "model: {layers: 61, hidden: 7168, heads: 128, head_dim: 192, seq_len: 4096}"
    made = sheet(text)
    flops = 12 * 61 * 128 * 192 * 4096
    assert made["attention FLOP a token"].value == flops
    assert {i.key: i.value for i in assumptions(made)}["model.head_dim"] == 192
    assert sheet(text.replace("hidden: 7168, ", ""))["attention FLOP a token"].value == flops


def test_a_utilization_of_the_hardware_counts_what_is_computed_twice():
    full = sheet("cluster: {hfu: 0.4}\ntraining: {recompute_frac: 1}")
    assert full["MFU"].value == pytest.approx(0.3)
    assert full["training rate"].value == pytest.approx(0.75 * sheet("")["training rate"].value)


def test_fp8_has_its_own_peak_where_there_is_one():
    of_fp8 = sheet("cluster: {precision: fp8, mfu: 0.4, mfu_of: fp8}")["training rate"]
    assert of_fp8.value == pytest.approx(1979 / 989 * sheet("")["training rate"].value)
    of_bf16 = sheet("cluster: {precision: fp8, mfu: 0.4, mfu_of: bf16}")["training rate"]
    assert of_bf16.value == sheet("")["training rate"].value


def test_deepseek_v3_takes_as_long_as_it_did():
    """2.664 million hours of 2,048 H800 are 54.2 days, arXiv:2412.19437."""
    made = sheet(
        "model: {params: 671B, active_params: 37B}\ncluster: {precision: fp8, count: 2048}"
    )
    days = 14.8e12 / made["training rate"].value / 86_400
    assert days == pytest.approx(54.2, rel=0.01)


def test_fp8_is_refused_where_an_accelerator_has_none():
    with pytest.raises(PlanError, match=r"'A100' has no fp8_flops_per_s in the table; give"):
        sheet("cluster: {precision: fp8, accelerator: A100}")


def test_more_than_matrix_products_reach_is_warned_of_with_the_figure():
    made = sheet("cluster: {accelerator: MI300X, mfu: 0.6}")
    assert len(made.warnings) == 1
    assert "MFU 0.6 is above 0.514" in made.warnings[0]
    assert not sheet("cluster: {accelerator: MI300X, mfu: 0.5}").warnings
    of_fp8 = "cluster: {accelerator: MI300X, precision: fp8, mfu: 0.6, mfu_of: fp8}"
    assert not sheet(of_fp8).warnings  # what its products in FP8 reach is not known
    assert not sheet(
        "cluster: {accelerator: ours, dense_flops_per_s: 1e15, per_node: 8, mfu: 0.9}"
    ).warnings


def test_an_accelerator_may_be_given_by_its_figures_alone():
    made = sheet("cluster: {accelerator: ours, dense_flops_per_s: 1e15, per_node: 8}")
    flops = made["training rate"].inputs[1]
    assert (flops.value, flops.source) == (1e15, "stated: cluster.dense_flops_per_s")
    with pytest.raises(PlanError, match="has no hbm_bytes in the table; give cluster.hbm"):
        made.accelerator("hbm_bytes")


def test_what_is_computed_twice_counts_against_what_can_be_reached():
    text = "cluster: {accelerator: H100 SXM, mfu: 0.7}\ntraining: {recompute_frac: %s}"
    assert not sheet(text % 0).warnings
    assert "with recomputation HFU 0.933, is above 0.803" in sheet(text % 1).warnings[0]
    assert sheet("cluster: {hfu: 0.9}").warnings
    with pytest.raises(PlanError, match="HFU 1.05, is more than all of the accelerator's peak"):
        sheet("cluster: {mfu: 0.79}\ntraining: {recompute_frac: 1}")
