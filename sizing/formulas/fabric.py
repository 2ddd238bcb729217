"""Switches and transceivers of a network in which every accelerator reaches every other.

full fabric   one Clos network of all accelerators, at full bandwidth in every tier
rail-only     one Clos network for each rail, that is for the accelerators of the same rank in
              every scale-up domain; what changes rails goes through the scale-up network
"""

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formula import formula

LEAST_RADIX = 4  # ports: with fewer a tier joins no more switches than the one below
ENDS_OF_A_LINK = 2  # a transceiver each
# a switch costs this many transceivers for each of its ports: fitted to the seven reductions that
# are published with their switches and transceivers; 1.77 to 1.94 give all of them as printed
PORT_IN_TRANSCEIVERS = 1.9

_CLOS = "folded Clos network of equal switches, non-blocking"


def clos_tiers(*, endpoints: float, radix: float) -> float:
    """Tiers of switches that join so many endpoints at full bandwidth.

        the least t with 2 x (radix / 2)^t >= endpoints

    >>> clos_tiers(endpoints=128, radix=128), clos_tiers(endpoints=32_768, radix=64)
    (1, 3)
    """
    if radix < LEAST_RADIX:
        raise PlanError(
            f"radix {radix:g}: switches of a Clos network have {LEAST_RADIX} ports or more"
        )
    tiers = 1
    while 2 * (radix / 2) ** tiers < endpoints:
        tiers += 1
    return tiers


@formula(
    unit="switches",
    equation="accelerators / (radix / 2) x (tiers - 1) + accelerators / radix",
    source=_CLOS,
)
def clos_switches(*, accelerators: float, rails: float, radix: float) -> float:
    """Switches of a fabric, one Clos network a rail; one rail is the full fabric.

    A switch below the top has half of its ports down, one at the top has all; rails too small
    to fill a switch share it.

    >>> clos_switches(accelerators=32_768, rails=1, radix=32)
    7168.0
    >>> clos_switches(accelerators=32_768, rails=256, radix=32)
    3072.0
    """
    tiers = clos_tiers(endpoints=accelerators / rails, radix=radix)
    return accelerators / (radix / 2) * (tiers - 1) + accelerators / radix


@formula(
    unit="transceivers",
    equation="2 x accelerators x tiers",
    source=f"{_CLOS}; every link is optical",
)
def clos_transceivers(*, accelerators: float, rails: float, radix: float) -> float:
    """Transceivers of a fabric, those of the accelerators included.

    >>> clos_transceivers(accelerators=32_768, rails=1, radix=32)
    262144
    """
    tiers = clos_tiers(endpoints=accelerators / rails, radix=radix)
    return ENDS_OF_A_LINK * accelerators * tiers


@formula(
    unit="transceivers",
    source="cost of a port fitted to published reductions, Wang et al. 2023, arXiv:2307.12169",
)
def fabric_cost(
    *,
    switches: float,
    transceivers: float,
    radix: float,
    port_in_transceivers: float = PORT_IN_TRANSCEIVERS,
) -> float:
    """What a fabric costs, in transceivers.

    >>> fabric_cost(switches=10, transceivers=1000, radix=64, port_in_transceivers=2.0)
    2280.0
    """
    return switches * radix * port_in_transceivers + transceivers


@formula(unit="fraction")
def cost_reduction(*, cost: float, base_cost: float) -> float:
    """Share of a cost that is saved.

    >>> cost_reduction(cost=25.0, base_cost=100.0)
    0.75
    """
    return 1 - cost / base_cost
