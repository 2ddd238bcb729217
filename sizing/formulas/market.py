"""What things cost, as shares and multiples of what else they could cost."""

from tokenmill.sizing.formula import Formula


def purchase_usd(*, accelerators: float, accelerator_usd: float) -> float:
    """What accelerators cost to buy, without what they are put into.

        accelerators x price of one

    >>> purchase_usd(accelerators=8, accelerator_usd=30_000)
    240000
    """
    return accelerators * accelerator_usd


def share_usd(*, whole_usd: float, shares: float) -> float:
    """What each of several parts of something costs.

        price of the whole / parts

    >>> share_usd(whole_usd=100.0, shares=8)
    12.5
    """
    return whole_usd / shares


def markup(*, price_usd: float, cost_usd: float) -> float:
    """How many times its cost something is sold for.

        price / cost

    >>> markup(price_usd=3.0, cost_usd=2.0)
    1.5
    """
    return price_usd / cost_usd


def request_usd(*, cost_multiplier: float, base_request_usd: float) -> float:
    """Cost of a request, told as a multiple of that of another model.

        multiplier x cost of a request to the other

    >>> request_usd(cost_multiplier=3.0, base_request_usd=0.001)
    0.003
    """
    return cost_multiplier * base_request_usd


def request_cost_multiplier(*, request_usd: float, base_request_usd: float) -> float:
    """Cost of a request as a multiple of that of another model.

        cost of a request / cost of a request to the other

    >>> request_cost_multiplier(request_usd=0.003, base_request_usd=0.001)
    3.0
    """
    return request_usd / base_request_usd


def remaining_frac(*, taken_frac: float) -> float:
    """What is left of a market, or of any whole.

        1 - share taken

    >>> remaining_frac(taken_frac=0.75)
    0.25
    """
    return 1 - taken_frac


PURCHASE_USD = Formula(
    function=purchase_usd,
    equation="accelerators x accelerator_usd",
    unit="USD",
    source="definition",
)
SHARE_USD = Formula(
    function=share_usd,
    equation="whole_usd / shares",
    unit="USD",
    source="definition",
)
MARKUP = Formula(
    function=markup,
    equation="price_usd / cost_usd",
    unit="ratio",
    source="definition",
)
REQUEST_USD = Formula(
    function=request_usd,
    equation="cost_multiplier x base_request_usd",
    unit="USD",
    source="definition",
)
REQUEST_COST_MULTIPLIER = Formula(
    function=request_cost_multiplier,
    equation="request_usd / base_request_usd",
    unit="ratio",
    source="definition",
)
REMAINING_FRAC = Formula(
    function=remaining_frac,
    equation="1 - taken_frac",
    unit="fraction",
    source="definition",
)
