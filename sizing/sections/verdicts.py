"""Each candidate tier of storage against each requirement that it must meet.

A tier may be limited in several ways, of one client, of each TiB, in all. What it offers is
what the capacity that is needed anyway brings; where that is short, how much more is enough.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from sizing.formula import Formula
from sizing.formulas.bandwidth import NODE_READ_BYTES_PER_S
from sizing.formulas.verdict import (
    BOUGHT_BYTES,
    CAPACITY_NEEDED_BYTES,
    OFFERED_BY_CAPACITY,
    OFFERED_TOGETHER,
    SHORTFALL,
    UNITS_NEEDED,
)
from sizing.requirement import Input, Requirement
from sizing.sections.stages import one_dataset
from sizing.sheet import Sheet
from sizing.tables.tiers import TierRow, find_tier, tiers
from sizing.verdict import Verdict

CAPACITY = "usable capacity"
RAW = "raw capacity"
_SHARED = ("client", "tib", "total", "group", "drive")
_READ = {scope: f"{scope}_read_bytes_per_s" for scope in _SHARED}
_WRITE = {scope: f"{scope}_write_bytes_per_s" for scope in _SHARED}
_REQUESTS = {"tib": "tib_read_iops", "drive": "drive_read_iops", "prefix": "prefix_get_per_s"}
# row of the sheet -> scope of a limit -> column of the tier
NEEDS: Mapping[str, Mapping[str, str]] = {
    "read bandwidth, whole job": _READ,
    "read requests, whole job": _REQUESTS,
    "checkpoint write bandwidth, whole job": _WRITE,
    "restart read bandwidth": _READ,
}


class Limit(NamedTuple):
    """what: limits.  needed, offered: in one unit.  enough: how much of the tier would be.

    steps: rows that the others were computed from.  columns: of the tier that went in.
    """

    what: str
    needed: Requirement
    offered: Input
    columns: tuple[str, ...]
    enough: Requirement | None = None
    steps: tuple[Requirement, ...] = ()


def candidates(sheet: Sheet) -> tuple[TierRow, ...]:
    """The tiers that the plan names; else its own rows and every one that can be bought."""
    own = sheet.plan.tiers
    if sheet.plan.storage.candidates:
        return tuple(find_tier(name, own) for name in sheet.plan.storage.candidates)
    named = {row.name for row in own}
    return (*own, *(row for row in tiers() if row.candidate and row.name not in named))


def judge(sheet: Sheet) -> tuple[Verdict, ...]:
    """Every candidate against every requirement that the sheet has, tier by tier."""
    return tuple(
        verdict
        for tier in candidates(sheet)
        for verdict in (
            _capacity(sheet, tier),
            *(_rate(sheet, tier, sheet[name]) for name in NEEDS if name in sheet),
        )
    )


def _rate(sheet: Sheet, tier: TierRow, needed: Requirement) -> Verdict:
    judged = [(_shortfall(tier, limit), limit) for limit in _limits(sheet, tier, needed)]
    if not judged:
        return Verdict(tier=tier.name, requirement=needed.name, outcome="unknown")
    shortfall, worst = max(judged, key=lambda pair: pair[0].value)
    short = shortfall.value > 1
    enough = worst.enough if short else None
    what = worst.what
    if enough is not None and enough.unit == "bytes" and not _is_sold(tier, enough):
        enough, what = None, f"{what}, with the most that is sold"
    return Verdict(
        tier=tier.name,
        requirement=needed.name,
        outcome="short" if short else "enough",
        limit=what,
        shortfall=shortfall,
        enough=enough,
        each_node=enough is not None and tier.local,
        steps=worst.steps,
        unverified=tuple(c for c in worst.columns if not tier.verified(c)),
    )


def _capacity(sheet: Sheet, tier: TierRow) -> Verdict:
    """Capacity can be bought, within what is sold."""
    enough = Verdict(tier=tier.name, requirement=CAPACITY, outcome="enough")
    if tier.drive_bytes is not None:
        flagged = () if tier.verified("drive_bytes") else ("drive_bytes",)
        drives = _drives(sheet, tier)
        return replace(enough, enough=drives, each_node=tier.local, unverified=flagged)
    needed = sheet[CAPACITY]
    if _is_sold(tier, needed):
        return replace(enough, enough=_bought(sheet, tier))
    most = _cell(sheet, tier, "most_bytes", "offered", "bytes")
    limit = Limit("the most that is sold", needed, most, ("most_bytes",))
    return replace(enough, outcome="short", limit=limit.what, shortfall=_shortfall(tier, limit))


def _limits(sheet: Sheet, tier: TierRow, needed: Requirement) -> Iterator[Limit]:
    for scope, column in NEEDS[needed.name].items():
        if getattr(tier, column) is not None:
            cell = _cell(sheet, tier, column, "of_one", needed.unit)
            limit = _LIMITS[scope](sheet, tier, needed, cell)
            yield limit._replace(columns=(column, *limit.columns))


def _of_client(sheet: Sheet, _tier: TierRow, needed: Requirement, cell: Input) -> Limit:
    share = _of_node(sheet, needed)
    return Limit("one client", share, cell, (), steps=(share,))


def _of_tib(sheet: Sheet, tier: TierRow, needed: Requirement, cell: Input) -> Limit:
    of_tib = replace(cell, name="of_tib")
    bought = _bought(sheet, tier)
    offered = _in(OFFERED_BY_CAPACITY, needed.unit).requirement(
        f"{needed.name}: offered by {tier.name}", [bought.as_input("bought_bytes"), of_tib]
    )
    enough = CAPACITY_NEEDED_BYTES.requirement(
        f"{needed.name}: capacity of {tier.name}", [needed.as_input("needed"), of_tib]
    )
    steps = (offered,) if bought is sheet[CAPACITY] else (bought, offered)
    return Limit("each TiB", needed, offered.as_input("offered"), (), enough, steps)


def _of_all(_sheet: Sheet, _tier: TierRow, needed: Requirement, cell: Input) -> Limit:
    return Limit("all of it", needed, cell, ())


def _of_group(sheet: Sheet, tier: TierRow, needed: Requirement, cell: Input) -> Limit:
    size = _cell(sheet, tier, "group_nodes", "of_one", "nodes")
    groups = _in(UNITS_NEEDED, "groups").requirement(
        f"{needed.name}: groups of {tier.name}", [sheet["nodes"].as_input("needed"), size]
    )
    offered = _together(tier, needed, groups, cell)
    what = f"{tier.group_nodes} nodes"
    return Limit(
        what, needed, offered.as_input("offered"), ("group_nodes",), steps=(groups, offered)
    )


def _of_drive(sheet: Sheet, tier: TierRow, needed: Requirement, cell: Input) -> Limit:
    drives = _drives(sheet, tier)
    offered = _together(tier, needed, drives, cell)
    share = _of_node(sheet, needed) if tier.local else needed
    enough = _in(UNITS_NEEDED, drives.unit).requirement(
        f"{needed.name}: drives of {tier.name}", [share.as_input("needed"), cell]
    )
    what = "the drives for its capacity"
    steps = (drives, offered, *([share] if tier.local else []))
    return Limit(what, share, offered.as_input("offered"), ("drive_bytes",), enough, steps)


def _of_prefix(_sheet: Sheet, tier: TierRow, needed: Requirement, cell: Input) -> Limit:
    enough = _in(UNITS_NEEDED, "prefixes").requirement(
        f"{needed.name}: prefixes of {tier.name}", [needed.as_input("needed"), cell]
    )
    return Limit("one prefix", needed, cell, (), enough)


_LIMITS = {
    "client": _of_client,
    "tib": _of_tib,
    "total": _of_all,
    "group": _of_group,
    "drive": _of_drive,
    "prefix": _of_prefix,
}


def _shortfall(tier: TierRow, limit: Limit) -> Requirement:
    return SHORTFALL.requirement(
        f"{limit.needed.name}: shortfall of {tier.name}",
        [limit.needed.as_input("needed"), replace(limit.offered, name="offered")],
    )


def _is_sold(tier: TierRow, wanted: Requirement) -> bool:
    return tier.most_bytes is None or wanted.value <= tier.most_bytes


def _bought(sheet: Sheet, tier: TierRow) -> Requirement:
    """The capacity that is needed, or the least that is sold."""
    needed = sheet[CAPACITY]
    if tier.least_bytes is None:
        return needed
    return BOUGHT_BYTES.requirement(
        f"{CAPACITY}: of {tier.name}",
        [
            needed.as_input("usable_bytes"),
            _cell(sheet, tier, "least_bytes", "least_bytes", "bytes"),
        ],
    )


def _drives(sheet: Sheet, tier: TierRow) -> Requirement:
    """Drives for capacity: shared ones for all with its redundancy; in a node for a dataset."""
    held = sheet[RAW]
    if tier.local:
        held = max((one_dataset(sheet, s) for s in sheet.sources), key=lambda row: row.value)
    size = _cell(sheet, tier, "drive_bytes", "of_one", "bytes")
    return _in(UNITS_NEEDED, "drives").requirement(
        f"{CAPACITY}: drives of {tier.name}", [held.as_input("needed"), size]
    )


def _of_node(sheet: Sheet, needed: Requirement) -> Requirement:
    """The share of one node."""
    return _in(NODE_READ_BYTES_PER_S, needed.unit).requirement(
        f"{needed.name}: of one node",
        [
            needed.as_input("read_bytes_per_s"),
            sheet.input("accelerators", "cluster.count"),
            sheet.accelerator("per_node"),
        ],
    )


def _together(tier: TierRow, needed: Requirement, units: Requirement, cell: Input) -> Requirement:
    return _in(OFFERED_TOGETHER, needed.unit).requirement(
        f"{needed.name}: offered by {tier.name}", [units.as_input("units"), cell]
    )


def _cell(sheet: Sheet, tier: TierRow, column: str, name: str, unit: str) -> Input:
    return sheet.assume(name, getattr(tier, column), unit=unit, source=tier.source_of(column))


def _in(formula: Formula, unit: str) -> Formula:
    """The formula for quantities of another unit."""
    return replace(formula, unit=unit)
