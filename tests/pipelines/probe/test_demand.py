"""The step that emulates a plan takes exactly the plan's tokens a second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.probe.demand import MOST_STEP_S, Demand, demand
from tokenmill.sizing.requirements import size


def made(**changes):
    return Demand(
        **{
            "tokens_per_s": 6000.0,
            "step_s": 2.0,
            "seq_len": 8192,
            "accelerators": 1024,
            "per_node": 8,
            "checkpoint_bytes": 1e9,
            "write_bytes_per_s": 1e6,
            "restart_bytes_per_s": 1e6,
            **changes,
        }
    )


@given(
    accelerators=st.integers(1, 5000),
    processes=st.integers(1, 16),
    tokens_per_s=st.floats(1, 1e6),
    step_s=st.floats(0.01, 100),
)
def test_the_rate_is_kept_whatever_is_rounded(accelerators, processes, tokens_per_s, step_s):
    wanted = made(tokens_per_s=tokens_per_s, step_s=step_s)
    step = wanted.step(accelerators, processes)
    rate = step.ranks * step.sequences * wanted.seq_len / step.compute_s
    assert rate == pytest.approx(accelerators * tokens_per_s)
    assert 1 <= step.ranks <= min(processes, accelerators)
    if accelerators >= wanted.least_accelerators(1):
        assert step.compute_s <= 1.6 * min(step_s, MOST_STEP_S)


def test_the_step_of_the_plan_is_batch_tokens_over_the_training_rate():
    sheet = size("llama-8b-1024-h100")
    wanted = demand(sheet)
    rate = 1024 * 989e12 * 0.4 / sheet["train FLOP a token"].value
    assert wanted.step_s == pytest.approx(sheet.plan.training.batch_tokens / rate)
    assert wanted.tokens_per_s == pytest.approx(rate / 1024)
    assert wanted.per_node == 8
    assert wanted.bytes_per_s(1024, 4) == pytest.approx(4 * rate)


def test_a_job_smaller_than_a_node_is_all_of_it():
    assert demand(size(changes={"cluster.count": 3})).per_node == 3
