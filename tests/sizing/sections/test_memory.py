"""Accelerators for a model, by Bekman's rules, and what each of them then holds."""

import pytest

from tests.sizing.sections.sheets import OF_405B, sheet, values


def test_80_billion_parameters_train_on_23_and_are_served_by_3():
    made = sheet("model: {params: 80B}")
    names = ("accelerators to train, at least", "accelerators to serve, at least")
    assert values(made, *names) == [23, 3]


def test_what_each_holds_by_stage_of_zero():
    made = sheet("model: {params: 7.5B}\ncluster: {count: 64}\ntraining: {data_parallel: 64}")
    names = [f"model states of one accelerator, ZeRO {stage}" for stage in range(4)]
    assert values(made, *names) == pytest.approx([120e9, 31.4e9, 16.6e9, 1.875e9], abs=0.05e9)
    divided = sheet("model: {params: 7.5B}\ncluster: {count: 64}\ntraining: {data_parallel: 8}")
    assert divided[names[0]].value == 15e9


def test_a_model_that_one_accelerator_holds_is_divided_by_zero_alone():
    """3B on a node of 8 was 6 GB each in every stage, as if always divided by 8."""
    made = sheet("model: {params: 3B}\ncluster: {count: 8}")
    names = [f"model states of one accelerator, ZeRO {stage}" for stage in range(4)]
    assert values(made, *names) == pytest.approx([48e9, 16.5e9, 11.25e9, 6e9])
    assert "accelerators of a replica" not in made


def test_keys_and_values_of_llama_3_8b():
    made = sheet("model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8}")
    assert values(made, "KV cache of a token", "KV cache of a sequence") == [2**17, 2**30]
    assert made["weights to serve"].value == 16e9
    assert made["sequences served at once"].value == 52


def test_heads_and_their_width_follow_where_they_are_not_stated():
    assert sheet("model: {layers: 32, hidden: 4096, heads: 32}")["KV cache of a token"].value == (
        4 * 2**17
    )
    stated = "model: {layers: 32, kv_heads: 8, head_dim: 64}"
    assert sheet(stated)["KV cache of a token"].value == 2**16
    for too_little in ("layers: 32", "layers: 32, hidden: 4096", "layers: 32, kv_heads: 8"):
        assert "KV cache of a token" not in sheet(f"model: {{{too_little}}}")
    assert "KV cache of a token" not in sheet("model: {hidden: 4096, heads: 32}")


def test_too_few_accelerators_are_warned_of():
    made = sheet("model: {params: 80B}\ncluster: {count: 8}")
    assert "cluster.count 8 is less than the 23 accelerators whose memory holds the model in" in (
        " ".join(made.warnings)
    )


def test_what_the_optimizer_takes_can_be_stated():
    """4B on one card of 80 GB was not to buy by, whatever the optimizer."""
    plan = "model: {params: 4B}\ncluster: {accelerator: A100, count: 1}\ntraining: {tokens: 10B}"
    by_rule, stated = sheet(plan), sheet(plan.replace("10B", "10B, memory_bytes_per_param: 12"))
    assert "or LoRA, state training.memory_bytes_per_param" in by_rule.warnings[-1]
    assert by_rule.obstacles
    assert not stated.obstacles
    assert "bytes of a parameter, ZeRO 0" not in stated  # of Adam in 32 bits
    large = "model: {params: 405B}\ntraining: {memory_bytes_per_param: 9}"
    assert sheet(large)["replicas of the weights"].value == 1024 // 8 // 8  # 57 accelerators


def test_a_model_that_fits_no_node_has_replicas_of_several():
    of_unknown = OF_405B.replace("data_parallel: 128, ", "")
    assert sheet(of_unknown)["replicas of the weights"].value == 2048 // 15  # 115 accelerators
    assert "replicas of the weights" not in sheet(OF_405B)
    fits = sheet("model: {params: 8B}\ncluster: {count: 64}")
    assert values(fits, "replicas of the weights", "accelerators of a replica") == [8, 8]


def test_without_a_known_memory_nothing_is_said():
    made = sheet("cluster: {accelerator: ours, dense_flops_per_s: 1e15, per_node: 8}")
    assert "accelerators to train, at least" not in made
