"""The sheet holds the right figures, each traceable to what it was computed from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.load_plan import parse_plan
from sizing.plan import Plan
from sizing.requirement import leaves
from sizing.sheet import requirement_sheet
from tests.sizing.corpora import measured

LLAMA_405B = """
corpus: {tokens: 15.6T}
cluster: {accelerator: H100 SXM, count: 16384, mfu: 0.4}
model: {params: 405B, seq_len: 8192}
training: {read_amplification: 1.0}
checkpoints: {keep_last: 2, keep_forever: 1, interval_s: 1800, stall_frac: 0.05}
storage: {fill_frac: 0.8, redundancy: 8+2}
"""


def rows(measurement, plan):
    return {r.name: r for r in requirement_sheet(measurement, plan)}


def test_a_buyer_reads_capacity_then_bandwidth_then_the_parts():
    names = [r.name for r in requirement_sheet(measured(), Plan())]
    assert names == [
        "raw capacity",
        "usable capacity",
        "read bandwidth, whole job",
        "checkpoint write bandwidth, whole job",
        "read bandwidth, one node",
        "read requests, whole job",
        "one checkpoint",
        "training time",
        "tokens trained on",
        "training rate",
        "stored in all",
        "stored: checkpoints",
        "stored: dataset",
        "stored: 10-docs",
        "stored: inputs",
    ]


def test_the_405b_from_an_assumed_corpus():
    sheet = rows(None, parse_plan(LLAMA_405B, where="plan"))
    tokens_per_s = 16_384 * 989e12 * 0.4 / (6 * 405e9)
    expected = {
        "training rate": tokens_per_s,
        "training time": 15.6e12 / tokens_per_s / 86_400,
        "read bandwidth, whole job": 4 * tokens_per_s,
        "read bandwidth, one node": 4 * tokens_per_s / 2048,
        "read requests, whole job": tokens_per_s / 8192,
        "one checkpoint": 5.67e12,
        "checkpoint write bandwidth, whole job": 5.67e12 / 90,
        "stored: text": 62.4e12,
        "stored: dataset": 62.4e12,
        "stored: checkpoints": 17.01e12,
        "stored in all": 141.81e12,
        "usable capacity": 177.2625e12,
        "raw capacity": 221.578125e12,
        "tokens trained on": 15.6e12,
    }
    assert {name: row.value for name, row in sheet.items()} == pytest.approx(expected)
    assert not any(row.measured for row in sheet.values())


def test_a_corpus_measured_whole_is_exact_and_measured():
    sheet = rows(measured(), Plan())
    for stage, n_bytes in measured().stored_bytes.items():
        row = sheet[f"stored: {stage}"]
        assert (row.value, row.measured, row.se) == (n_bytes, True, None)
    assert sheet["raw capacity"].se is None
    assert sheet["stored in all"].value == 16_400_000 + sheet["stored: checkpoints"].value
    assert not sheet["stored in all"].measured


def test_a_larger_corpus_scales_every_stage_and_carries_the_error_of_bytes_per_token():
    sheet = rows(measured(), parse_plan("corpus: {tokens: 2T}", where="plan"))
    dataset = sheet["stored: dataset"]
    assert dataset.value == pytest.approx(4.4e12)
    assert dataset.interval == pytest.approx((4.4e12 - 1.96 * 0.02e12, 4.4e12 + 1.96 * 0.02e12))
    assert sheet["stored: inputs"].value == pytest.approx(9e12)
    assert not sheet["stored: inputs"].measured
    assert sheet["raw capacity"].se == pytest.approx(0.02e12 / 0.8 * 1.25)


def test_reads_carry_the_error_of_bytes_per_token():
    sheet = rows(measured(), Plan())
    read, rate = sheet["read bandwidth, whole job"], sheet["training rate"].value
    assert read.value == pytest.approx(rate * 2.2 * 1.3)
    low, high = read.interval
    assert (low, high) == pytest.approx((rate * (2.2 - 0.0196) * 1.3, rate * (2.2 + 0.0196) * 1.3))
    assert sheet["read bandwidth, one node"].se == pytest.approx(read.se / 128)


def test_tokens_of_training():
    assert rows(measured(), Plan())["tokens trained on"].value == 2e6
    assert rows(measured(), parse_plan("training: {epochs: 3}", where="p"))[
        "tokens trained on"
    ].value == pytest.approx(6e6)
    stated = rows(measured(), parse_plan("training: {tokens: 1T}", where="p"))
    assert "tokens trained on" not in stated
    assert stated["training time"].inputs[0].value == 1e12


def test_without_any_corpus_20_tokens_a_parameter_are_assumed():
    sheet = rows(None, Plan())
    assert sheet["tokens in the corpus"].value == 160e9
    assert sheet["stored: text"].value == 640e9


def test_only_active_parameters_compute_and_all_are_checkpointed():
    plan = parse_plan("model: {params: 80B, active_params: 8B}", where="p")
    dense, sparse = rows(None, Plan()), rows(None, plan)
    assert sparse["training rate"].value == dense["training rate"].value
    assert sparse["one checkpoint"].value == 10 * dense["one checkpoint"].value


def test_figures_of_an_accelerator_come_from_the_table_unless_stated():
    plan = parse_plan("cluster: {accelerator: GB200, per_node: 72}", where="p")
    sheet = rows(None, plan)
    flops = sheet["training rate"].inputs[1]
    assert flops.value == 2.5e15
    assert flops.source.startswith("stated: cluster.accelerator GB200; GB200: stas00")
    per_node = sheet["read bandwidth, one node"].inputs[2]
    assert (per_node.value, per_node.source) == (72, "stated: cluster.per_node")


def test_an_unverified_figure_is_flagged_where_it_is_used():
    sheet = rows(None, parse_plan("cluster: {accelerator: H100 PCIe}", where="p"))
    assert sheet["read bandwidth, one node"].inputs[2].source.endswith("(unverified)")
    assert not sheet["training rate"].inputs[1].source.endswith("(unverified)")


@given(
    st.one_of(st.none(), st.booleans().map(lambda m: measured(measured=m))),
    st.sampled_from([Plan(), parse_plan(LLAMA_405B, where="p")]),
)
def test_every_row_can_be_recomputed_and_traced(measurement, plan):
    sheet = requirement_sheet(measurement, plan)
    by_name = {r.name: r for r in sheet}
    assert len(by_name) == len(sheet)
    for row in sheet:
        assert row.value > 0
        assert row.formula
        assert row.source
        for used in row.inputs:
            if used.computed_by is not None:
                assert by_name[used.computed_by].value == used.value
        assert leaves(row, sheet)
        if measurement is None or not measurement.measured:
            assert not row.measured


def test_a_stage_cannot_hide_behind_the_name_of_another():
    """The sum would lose one of the two."""
    corpus = measured(stored_bytes={"checkpoints": 1, "dataset": 2})
    with pytest.raises(ValueError, match="two inputs share a name"):
        requirement_sheet(corpus, Plan())
