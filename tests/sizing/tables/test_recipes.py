"""Bytes of a parameter, by recipe."""

import pytest

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.tables import RECIPES


def test_the_nine_recipes_and_which_of_them_are_memory():
    sizes = {row.bytes_per_param: row.on_disk for row in RECIPES.rows}
    assert sizes == {
        **dict.fromkeys((2, 6, 8, 10, 12, 14), True),
        **dict.fromkeys((16, 18, 20), False),
    }
    assert all(row.on_disk is ("gradients" not in row.parts) for row in RECIPES.rows)


def test_a_recipe_is_shown_as_the_sum_it_is():
    row = RECIPES.find("bf16+adam")
    assert row.summed == "2 weights + 4 master weights + 4 momentum + 4 variance"
    assert not RECIPES.find("bf16+momentum").verified("parts")
    assert RECIPES.find("bf16+momentum").source_of("parts") == (
        "bf16+momentum: from memory (unverified)"
    )
    assert RECIPES.find("BF16 + Muon") is RECIPES.find("bf16+momentum")


def test_an_unknown_recipe_is_refused():
    with pytest.raises(PlanError) as e:
        RECIPES.find("bf16+adm")
    assert str(e.value).startswith("unknown recipe 'bf16+adm'; did you mean 'bf16+adam'")
    assert str(e.value).endswith("(or give checkpoints.bytes_per_param)")
