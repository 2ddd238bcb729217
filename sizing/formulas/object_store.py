"""What an object store counts and charges for: requests, and bytes that leave it."""

import math

from tokenmill.sizing.formula import formula, quotient
from tokenmill.sizing.formulas.training import SECONDS_PER_HOUR

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
