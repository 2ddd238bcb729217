"""Every setting is documented, and knows whether it was stated or assumed."""

import pytest
from pydantic import BaseModel

from sizing.load_plan import parse_plan
from sizing.plan import Assumed, Plan
from sizing.units import format_quantity

KEYS = [
    f"{section}.{name}"
    for section, field in Plan.model_fields.items()
    for name in field.annotation.model_fields
]


@pytest.mark.parametrize("key", KEYS)
def test_every_default_has_a_unit_and_a_source(key):
    section, _, name = key.partition(".")
    metadata = Plan.model_fields[section].annotation.model_fields[name].metadata
    assert [type(m) for m in metadata].count(Assumed) == 1
    assert Plan().source(key).startswith(f"default of {key}")
    assert not Plan().stated(key)
    assert format_quantity(1.5, Plan().unit(key))


def test_every_section_is_a_model():
    assert all(issubclass(f.annotation, BaseModel) for f in Plan.model_fields.values())


def test_an_input_says_whether_it_was_stated_even_if_it_equals_the_default():
    plan = parse_plan("cluster: {mfu: 0.4}", where="f")
    stated, assumed = plan.input("cluster.mfu"), Plan().input("cluster.mfu")
    assert stated.source == "stated: cluster.mfu"
    assert assumed.source == (
        "default of cluster.mfu: Llama 3 405B on 16,384 H100 SXM: 400 of 989 TFLOP/s each"
    )
    assert (stated.value, stated.unit, stated.measured) == (0.4, "fraction", False)


def test_an_input_of_text_shows_the_text_and_has_the_number_it_amounts_to():
    got = Plan().input("storage.redundancy", name="r", value=1.25)
    assert (got.name, got.value, got.unit) == ("r", 1.25, "ratio")
    assert got.source.startswith("default of storage.redundancy 8+2: our choice")
