"""Parameters and bytes of each."""

import pytest

from tokenmill.sizing.formulas.parameters import (
    bytes_per_param,
    memory_over_weights,
    parts_bytes_per_param,
    state_over_weights,
    transformer_params,
)

LLAMA_3 = {
    "8B": ({"layers": 32, "hidden": 4096, "ffn": 14_336, "heads": 32}, 8_030_261_248),
    "70B": ({"layers": 80, "hidden": 8192, "ffn": 28_672, "heads": 64}, 70_553_706_496),
    "405B": ({"layers": 126, "hidden": 16_384, "ffn": 53_248, "heads": 128}, 405_853_388_800),
}


@pytest.mark.parametrize("name", LLAMA_3)
def test_llama_3_has_the_parameters_of_its_release_but_norms(name):
    shape, released = LLAMA_3[name]
    got = transformer_params(**shape, kv_heads=8, vocab_size=128_256)
    norms = (2 * shape["layers"] + 1) * shape["hidden"]
    assert got + norms == released


def test_parts_of_published_recipes():
    zero = parts_bytes_per_param(weight=2, gradient=2, master=4, momentum=4, variance=4)
    assert zero == 16
    assert memory_over_weights(bytes_per_param=zero, weight_bytes=2) == 8
    assert state_over_weights(bytes_per_param=zero, weight_bytes=2) == 7
    assert bytes_per_param(memory_bytes=40e9, params=1.2e9) == pytest.approx(33.33, rel=1e-3)
