"""What reading from an object store takes in requests, and what it charges for them."""

from tokenmill.sizing.formulas import bandwidth, cost
from tokenmill.sizing.sections.reads import USED
from tokenmill.sizing.sections.stages import all_datasets
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.tables import TIERS

TITLE = "Object store"
STORE = "S3"


def add(sheet: Sheet) -> None:
    dataset = all_datasets(sheet)
    # what training uses of one read makes the smallest requests there can be
    ways: dict[str, Given] = {
        "requests, one epoch": "storage.request_bytes",
        "requests, one epoch, one for each read": sheet.once(USED, bandwidth.useful_bytes_per_read),
    }
    for name, size in ways.items():
        made = sheet.add(name, cost.requests, read_bytes=dataset, request_bytes=size)
        sheet.add(f"cost of {name}", cost.requests_usd, requests=made)
    _rates(sheet)
    sheet.add("cost of egress, dataset once", cost.egress_usd, egress_bytes=dataset)


def _rates(sheet: Sheet) -> None:
    """Requests each second, and the partitions of a store that answer so many."""
    rate = sheet.add("request rate, whole job", cost.read_requests_per_s)
    limit = sheet.cell(TIERS.find(STORE), "prefix_get_per_s", "requests/s")
    each = sheet["read requests, whole job"]
    for name, per_s in {"partitions": rate, "partitions, one request for each read": each}.items():
        sheet.add(name, cost.prefixes, requests_per_s=per_s, prefix_requests_per_s=limit)
    sheet.add(
        "time of an epoch's requests, one for each read, at one partition",
        cost.request_hours,
        requests=sheet["requests, one epoch, one for each read"],
        requests_per_s=limit,
    )
