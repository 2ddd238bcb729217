"""What training, storage, requests, egress and waiting for storage cost, in US dollars.

Of requests also how many there are, how long they take, and how many prefixes they need.
"""

import math

from tokenmill.sizing.formula import formula, product, quotient, total
from tokenmill.sizing.formulas.training import HOURS_PER_DAY, SECONDS_PER_HOUR

DAYS_PER_MONTH = 365.25 / 12
TB = 1e12


# What the accelerators cost.
compute_usd = product("compute_usd", "accelerator_hours", "usd_per_hour", unit="USD")

# What wasted time costs for each day of training.
waste_usd_per_day = product(
    "waste_usd_per_day", "waste_frac", "accelerators", "usd_per_hour", HOURS_PER_DAY, unit="USD/day"
)

# What wasted time costs over all of training.
# days: those that are wasted among them.
waste_usd = product("waste_usd", "waste_usd_per_day", "days", unit="USD")


# Storage and how long it is held.
storage_tb_months = quotient(
    "storage_tb_months",
    ("storage_bytes", "days"),
    (TB, DAYS_PER_MONTH),
    unit="TB-months",
    equation="storage_bytes / 10^12 x days / (365.25 / 12)",
)

# What storage costs for as long as it is held.
storage_usd = product("storage_usd", "tb_months", "usd_per_tb_month", unit="USD")

# What storage costs each month that it is held.
storage_usd_per_month = quotient(
    "storage_usd_per_month",
    ("storage_bytes", "usd_per_tb_month"),
    TB,
    unit="USD/month",
    equation="storage_bytes / 10^12 x usd_per_tb_month",
)


@formula(unit="fraction")
def saved_frac(*, waste_frac: float, faster_waste_frac: float) -> float:
    """Share of time that faster storage saves.

    >>> saved_frac(waste_frac=0.25, faster_waste_frac=0.125)
    0.125
    """
    return waste_frac - faster_waste_frac


# Storage that so many dollars a day would rent.
affordable_bytes = quotient(
    "affordable_bytes",
    ("usd_per_day", DAYS_PER_MONTH, TB),
    "usd_per_tb_month",
    unit="bytes",
    equation="usd_per_day x (365.25 / 12) / usd_per_tb_month x 10^12",
)

# what all of it costs
total_usd = total(unit="USD")


PRICED_REQUESTS = 1000  # prices are printed for so many


@formula(unit="requests", equation="read_bytes / request_bytes rounded up, x readers")
def requests(*, read_bytes: float, request_bytes: float, readers: float = 1.0) -> float:
    """GET requests that reading so much takes.

    >>> requests(read_bytes=1e12, request_bytes=64 * 2**20)
    14902.0
    """
    return math.ceil(read_bytes / request_bytes) * readers


# GET requests each second that a read rate takes.
read_requests_per_s = quotient(
    "read_requests_per_s", "read_bytes_per_s", "request_bytes", unit="requests/s"
)

# Partitions (prefixes) that objects must be spread over so that none is asked too often.
prefixes = quotient(
    "prefixes",
    "requests_per_s",
    "prefix_requests_per_s",
    whole=True,
    unit="partitions",
    source="definition; the store divides a prefix only after minutes of load",
)

# Hours that so many requests take at a limit of their rate.
request_hours = quotient(
    "request_hours", "requests", ("requests_per_s", SECONDS_PER_HOUR), unit="hours"
)

# What requests cost.
requests_usd = quotient("requests_usd", ("requests", "usd_per_1000"), PRICED_REQUESTS, unit="USD")

# What it costs to take bytes out of a cloud.
egress_usd = quotient(
    "egress_usd",
    ("egress_bytes", "usd_per_gb"),
    1e9,
    unit="USD",
    equation="egress_bytes / 10^9 x usd_per_gb",
)
