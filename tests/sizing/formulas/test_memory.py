"""Accelerators that hold a model, by Bekman's rules, by ZeRO's table, by keys and values."""

import pytest

from tokenmill.sizing.formulas.memory import (
    kv_bytes_per_token,
    kv_sequence_bytes,
    least_accelerators,
    model_state_bytes,
    replica_accelerators,
    sequences_that_fit,
    zero_bytes_per_param,
)

KIB, GIB = 2**10, 2**30


@pytest.mark.parametrize(("bytes_per_param", "accelerators"), [(18, 23), (2, 3)])
def test_80_billion_parameters_on_accelerators_of_80_gb(bytes_per_param, accelerators):
    n = least_accelerators(params=80e9, bytes_per_param=bytes_per_param, hbm_bytes=80e9)
    assert n == accelerators


def test_what_just_fits_needs_no_more():
    assert least_accelerators(params=80e9, bytes_per_param=2, hbm_bytes=80e9, overhead=1.0) == 2
    assert least_accelerators(params=80e9, bytes_per_param=2, hbm_bytes=80e9, overhead=1.01) == 3


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_the_first_figure_of_zero_7_5_billion_parameters_on_64_accelerators(stage, gigabytes):
    of_param = zero_bytes_per_param(stage=stage, ranks=64)
    held = model_state_bytes(params=7.5e9, bytes_per_param=of_param)
    assert held / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_each_part_may_be_another_size():
    sizes = {"weight_bytes": 1.0, "gradient_bytes": 10.0, "state_bytes": 100.0}
    by_stage = [zero_bytes_per_param(stage=s, ranks=10, **sizes) for s in range(4)]
    assert by_stage == pytest.approx([111, 21, 12, 11.1])


def test_a_divided_model_leaves_each_a_part():
    divided = replica_accelerators(accelerators=1024, replicas=128)
    held = model_state_bytes(params=8e9, bytes_per_param=16, model_parallel=divided)
    assert held == 16e9


@pytest.mark.parametrize(
    ("layers", "kibibytes"),
    [(32, 128), (80, 320), (126, 504)],  # Llama 3: 8B, 70B, 405B
)
def test_keys_and_values_of_llama_3(layers, kibibytes):
    of_token = kv_bytes_per_token(layers=layers, kv_heads=8, head_dim=128, element_bytes=2)
    assert of_token / KIB == kibibytes
    assert kv_sequence_bytes(kv_bytes_per_token=of_token, seq_len=8192) == of_token * 8192


def test_sequences_beside_the_weights():
    facts = {"hbm_bytes": 80e9, "usable_frac": 0.9, "kv_sequence_bytes": GIB}
    assert sequences_that_fit(accelerators=1, weights_bytes=16e9, **facts) == 52
    assert sequences_that_fit(accelerators=2, weights_bytes=16e9, **facts) == 119
    assert sequences_that_fit(accelerators=1, weights_bytes=140e9, **facts) == 0
    exactly = {"hbm_bytes": 80e9, "usable_frac": 1.0, "kv_sequence_bytes": 32e9}
    assert sequences_that_fit(accelerators=1, weights_bytes=16e9, **exactly) == 2
