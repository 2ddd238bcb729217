"""What an object store counts and charges for: requests, and bytes that leave it."""

import math

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas.training import SECONDS_PER_HOUR

PRICED_REQUESTS = 1000  # prices are printed for so many


def requests(*, read_bytes: float, request_bytes: float, readers: float = 1.0) -> float:
    """GET requests that reading so much takes.

        bytes / bytes of a request, rounded up, x readers of all of it

    >>> requests(read_bytes=1e12, request_bytes=64 * 2**20)
    14902.0
    """
    return math.ceil(read_bytes / request_bytes) * readers


def read_requests_per_s(*, read_bytes_per_s: float, request_bytes: float) -> float:
    """GET requests each second that a read rate takes.

        bytes/s / bytes of a request

    >>> read_requests_per_s(read_bytes_per_s=1e9, request_bytes=1e6)
    1000.0
    """
    return read_bytes_per_s / request_bytes


def prefixes(*, requests_per_s: float, prefix_requests_per_s: float) -> float:
    """Partitions (prefixes) that objects must be spread over so that none is asked too often.

        requests/s / requests/s that one prefix answers, rounded up

    >>> prefixes(requests_per_s=12_000, prefix_requests_per_s=5500)
    3
    """
    return math.ceil(requests_per_s / prefix_requests_per_s)


def request_hours(*, requests: float, requests_per_s: float) -> float:
    """Hours that so many requests take at a limit of their rate.

        requests / (requests/s x 3,600)

    >>> request_hours(requests=19.8e6, requests_per_s=5500)
    1.0
    """
    return requests / (requests_per_s * SECONDS_PER_HOUR)


def requests_usd(*, requests: float, usd_per_1000: float) -> float:
    """What requests cost.

        requests / 1,000 x price of 1,000

    >>> requests_usd(requests=10e6, usd_per_1000=0.0004)
    4.0
    """
    return requests / PRICED_REQUESTS * usd_per_1000


def egress_usd(*, egress_bytes: float, usd_per_gb: float) -> float:
    """What it costs to take bytes out of a cloud.

        bytes / 10^9 x price of a GB

    >>> egress_usd(egress_bytes=2e12, usd_per_gb=0.09)
    180.0
    """
    return egress_bytes / 1e9 * usd_per_gb


REQUESTS = Formula(
    function=requests,
    equation="read_bytes / request_bytes rounded up, x readers",
    unit="requests",
    source="definition",
)
READ_REQUESTS_PER_S = Formula(
    function=read_requests_per_s,
    equation="read_bytes_per_s / request_bytes",
    unit="requests/s",
    source="definition",
)
PREFIXES = Formula(
    function=prefixes,
    equation="requests_per_s / prefix_requests_per_s, rounded up",
    unit="partitions",
    source="definition; the store divides a prefix only after minutes of load",
)
REQUEST_HOURS = Formula(
    function=request_hours,
    equation="requests / (requests_per_s x 3,600)",
    unit="hours",
    source="definition",
)
REQUESTS_USD = Formula(
    function=requests_usd,
    equation="requests / 1,000 x usd_per_1000",
    unit="USD",
    source="definition",
)
EGRESS_USD = Formula(
    function=egress_usd,
    equation="egress_bytes / 10^9 x usd_per_gb",
    unit="USD",
    source="definition",
)
