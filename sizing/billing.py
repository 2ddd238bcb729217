"""What each tier that has a price costs: what its seller bills of it, and of requests and bytes.

Stored bytes, usable capacity or raw, for a month and for as long as training takes; requests of
reads and of checkpoints; what is read, written, or leaves a cloud where the plan says it does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokenmill.sizing.formula import total
from tokenmill.sizing.formulas import capacity, cost, supply
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections.capacity import most_stored
from tokenmill.sizing.sections.cost import paid_days
from tokenmill.sizing.sections.jobs import of_job
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.tables import TierRow
from tokenmill.sizing.verdict import CAPACITY, Verdict, candidates, in_unit, to_buy

READ = "read in training"
# column of a tier -> the row of the sheet that it is paid for
REQUESTS: Mapping[str, str] = {
    "usd_per_1000_get": "requests, all of training",
    "usd_per_1000_put": "requests of checkpoints",
}
MOVED: Mapping[str, str] = {
    "usd_per_gb_read": READ,
    "usd_per_gb_written": "checkpoint bytes written",
    "usd_per_gb_egress": READ,
}


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What one tier costs, as much of it as meets every requirement.

    billed: "stored", "usable" or "raw"; much: bytes of that.
    month: of storage alone.  storage: for as long as training takes; requests, moved: of all of
    training, None where the seller takes nothing for them.  total: of these three.
    steps: what they were added up from.  unverified: prices that were not found in a document.
    """

    tier: str
    billed: str
    much: Requirement
    month: Requirement
    storage: Requirement
    requests: Requirement | None
    moved: Requirement | None
    total: Requirement
    steps: tuple[Requirement, ...]
    unverified: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            **{name: v.to_json() for name, v in vars(self).items() if isinstance(v, Requirement)},
            "steps": [step.to_json() for step in self.steps],
        }


def bills(sheet: Sheet, verdicts: Sequence[Verdict]) -> tuple[Bill, ...]:
    """Of each candidate that has a price, and of which some amount is enough."""
    made = []
    for tier in candidates(sheet):
        of_tier = [v for v in verdicts if v.tier == tier.name]
        amount = to_buy(of_tier)
        if tier.usd_per_tb_month is not None and not tier.local and amount is not None:
            made.append(_bill(sheet, tier, _billed(sheet, tier, amount)))
    return tuple(made)


def _bill(sheet: Sheet, tier: TierRow, much: Requirement) -> Bill:
    name = f"{tier.name}: "
    price = sheet.cell(tier, "usd_per_tb_month", "USD/TB/month")
    of_month = cost.storage_usd_per_month
    month = sheet.aside(f"{name}a month", of_month, storage_bytes=much, usd_per_tb_month=price)
    days = paid_days(sheet)
    held = sheet.aside(f"{name}TB-months", cost.storage_tb_months, storage_bytes=much, days=days)
    storage = sheet.aside(
        f"{name}storage", cost.storage_usd, tb_months=held, usd_per_tb_month=price
    )
    steps, sums = [held], {}
    for part, of in (("requests", REQUESTS), ("moved", MOVED)):
        if paid := dict(_paid(sheet, tier, of)):
            steps += paid.values()
            sums[part] = sheet.aside(name + part, cost.total_usd, **paid)
    return Bill(
        tier=tier.name,
        billed=tier.billed or "",
        much=much,
        month=month,
        storage=storage,
        requests=sums.get("requests"),
        moved=sums.get("moved"),
        total=sheet.aside(f"{name}in all", cost.total_usd, storage=storage, **sums),
        steps=tuple(steps),
        unverified=tuple(c for c in tier.unverified if c.startswith("usd_")),
    )


def _billed(sheet: Sheet, tier: TierRow, amount: Requirement) -> Requirement:
    """Bytes that are paid for, of the amount that is bought."""
    if tier.billed == "stored":
        return most_stored(sheet)
    if amount.unit == "drives":
        of_one = sheet.cell(tier, "drive_bytes", "bytes")
        drives = in_unit(supply.offered_together, "bytes")
        return sheet.aside(f"{tier.name}: drives", drives, units=amount, of_one=of_one)
    usable = amount if amount.unit == "bytes" else sheet[CAPACITY]
    if tier.billed == "raw":
        return sheet.aside(f"{tier.name}: raw", capacity.raw_bytes, usable_bytes=usable)
    return usable


def _paid(sheet: Sheet, tier: TierRow, of: Mapping[str, str]) -> Iterator[tuple[str, Requirement]]:
    """By the end of the column's name; what leaves a cloud only where the plan says it does."""
    for column, row in of.items():
        free = column == "usd_per_gb_egress" and not sheet.plan.prices.egress
        much = _of_all_jobs(sheet, row)
        if getattr(tier, column) is None or free or much is None:
            continue
        part = column.rpartition("_")[2]
        told = f"{tier.name}: {part}"
        if of is REQUESTS:
            price = sheet.cell(tier, column, "USD/1,000 requests")
            paid = sheet.aside(told, cost.requests_usd, requests=much, usd_per_1000=price)
        else:
            price = sheet.cell(tier, column, "USD/GB")
            paid = sheet.aside(told, cost.egress_usd, egress_bytes=much, usd_per_gb=price)
        yield part, paid


def _of_all_jobs(sheet: Sheet, row: str) -> Requirement | None:
    """A row of the plan, or of all jobs together; None where checkpoints are not kept here."""
    if not sheet.jobs:
        return sheet.rows.get(row)
    found = [
        of_job(sheet, own, row, n, name) for name, (n, own) in sheet.jobs.items() if row in own
    ]
    if not found:
        return None
    parts = {f"job_{i}": given for i, given in enumerate(found)}
    return sheet.aside(f"{row}, all jobs", total(unit=found[0].unit), **parts)
