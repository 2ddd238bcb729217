"""What things cost, as shares and multiples of what else they could cost."""

from tokenmill.sizing.formula import formula


@formula(unit="USD", equation="accelerators x accelerator_usd")
def purchase_usd(*, accelerators: float, accelerator_usd: float) -> float:
    """What accelerators cost to buy, without what they are put into.

    >>> purchase_usd(accelerators=8, accelerator_usd=30_000)
    240000
    """
    return accelerators * accelerator_usd


@formula(unit="USD", equation="whole_usd / shares")
def share_usd(*, whole_usd: float, shares: float) -> float:
    """What each of several parts of something costs.

    >>> share_usd(whole_usd=100.0, shares=8)
    12.5
    """
    return whole_usd / shares


@formula(unit="ratio", equation="price_usd / cost_usd")
def markup(*, price_usd: float, cost_usd: float) -> float:
    """How many times its cost something is sold for.

    >>> markup(price_usd=3.0, cost_usd=2.0)
    1.5
    """
    return price_usd / cost_usd


@formula(unit="USD", equation="cost_multiplier x base_request_usd")
def request_usd(*, cost_multiplier: float, base_request_usd: float) -> float:
    """Cost of a request, told as a multiple of that of another model.

    >>> request_usd(cost_multiplier=3.0, base_request_usd=0.001)
    0.003
    """
    return cost_multiplier * base_request_usd


@formula(unit="ratio", equation="request_usd / base_request_usd")
def request_cost_multiplier(*, request_usd: float, base_request_usd: float) -> float:
    """Cost of a request as a multiple of that of another model.

    >>> request_cost_multiplier(request_usd=0.003, base_request_usd=0.001)
    3.0
    """
    return request_usd / base_request_usd


@formula(unit="fraction", equation="1 - taken_frac")
def remaining_frac(*, taken_frac: float) -> float:
    """What is left of a market, or of any whole.

    >>> remaining_frac(taken_frac=0.75)
    0.25
    """
    return 1 - taken_frac
