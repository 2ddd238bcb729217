"""Rail-only networks, as published; each row of the table is a claim too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formulas.fabric import (
    PORT_IN_TRANSCEIVERS,
    clos_switches,
    clos_tiers,
    clos_transceivers,
    cost_reduction,
    fabric_cost,
)

RADICES = st.sampled_from([16, 32, 64, 128])


@given(radix=RADICES, tiers=st.integers(1, 3))
def test_a_fabric_of_so_many_tiers_is_full_and_one_more_needs_another(radix, tiers):
    full = 2 * (radix // 2) ** tiers
    assert clos_tiers(endpoints=full, radix=radix) == tiers
    assert clos_tiers(endpoints=full + 1, radix=radix) == tiers + 1


@given(radix=RADICES, tiers=st.integers(1, 3))
def test_ports_of_a_full_fabric_add_up(radix, tiers):
    """Every link but those to accelerators takes two ports of switches, those take one."""
    n = 2 * (radix // 2) ** tiers
    switches = clos_switches(accelerators=n, rails=1, radix=radix)
    transceivers = clos_transceivers(accelerators=n, rails=1, radix=radix)
    assert switches * radix == transceivers - n


@pytest.mark.parametrize("port", [1.78, PORT_IN_TRANSCEIVERS, 1.94])
@pytest.mark.parametrize(
    ("n", "radix", "percent"),
    [
        *((32_768, 32, 54), (32_768, 64, 37), (32_768, 128, 75), (32_768, 256, 60)),
        *((65_536, 64, 37), (65_536, 128, 37), (65_536, 256, 75)),
    ],
)
def test_savings_hold_for_a_range_of_port_prices(n, radix, percent, port):
    cost = {
        rails: fabric_cost(
            switches=clos_switches(accelerators=n, rails=rails, radix=radix),
            transceivers=clos_transceivers(accelerators=n, rails=rails, radix=radix),
            radix=radix,
            port_in_transceivers=port,
        )
        for rails in (1, 256)
    }
    assert round(100 * cost_reduction(cost=cost[256], base_cost=cost[1])) == percent


def test_five_ends_of_four_port_switches_need_two_tiers():
    assert clos_tiers(endpoints=4, radix=4) == 1
    assert clos_tiers(endpoints=5, radix=4) == 2


def test_a_rail_has_its_share_of_the_accelerators():
    assert clos_transceivers(accelerators=8, rails=2, radix=4) == 16
    assert clos_transceivers(accelerators=8, rails=1, radix=4) == 32


@pytest.mark.parametrize("radix", [3.9, 2, 1, 0.5, -4])
def test_a_switch_of_too_few_ports_makes_no_network(radix):
    with pytest.raises(PlanError, match="have 4 ports or more"):
        clos_switches(accelerators=128, rails=1, radix=radix)
    assert clos_switches(accelerators=8, rails=1, radix=4) == 6
