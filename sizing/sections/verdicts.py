"""Each candidate tier of storage against each requirement that it must meet.

A tier may be limited in several ways, of one client, of each TiB, in all. What it offers is
what the capacity that is needed anyway brings; where that is short, how much more is enough.
"""

from dataclasses import replace

from tokenmill.sizing.formulas import supply
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections.limits import NEEDS, OF_CHECKPOINTS, ONE_CLIENT, Limit, limits
from tokenmill.sizing.sections.purchases import CAPACITY, bought, cell, drives, instances, is_sold
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.tables.shipped import TIERS, TierRow
from tokenmill.sizing.units import format_bytes
from tokenmill.sizing.verdict import Verdict


def candidates(sheet: Sheet) -> tuple[TierRow, ...]:
    """The tiers that the plan names; else its own rows and every one that can be bought."""
    own = sheet.plan.tiers
    if sheet.plan.storage.candidates:
        return tuple(TIERS.find(name, own) for name in sheet.plan.storage.candidates)
    named = {row.name for row in own}
    return (*own, *(row for row in TIERS.rows if row.candidate and row.name not in named))


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
    verdict = Verdict(
        tier=tier.name,
        requirement=needed.name,
        outcome="unknown",
        own=tier in sheet.plan.tiers,
    )
    if tier.local and needed.name in OF_CHECKPOINTS:
        return replace(verdict, outcome="not shared")
    judged = [(_shortfall(tier, limit), limit) for limit in limits(sheet, tier, needed)]
    if not judged:
        return verdict
    shortfall, worst = max(judged, key=lambda pair: pair[0].value)
    verdict = replace(
        verdict,
        outcome="enough",
        limit=worst.what,
        client_only=all(limit.what == ONE_CLIENT for _, limit in judged),
        shortfall=shortfall,
        steps=worst.steps,
        unverified=tuple(c for c in worst.columns if not tier.verified(c)),
    )
    return verdict if shortfall.value <= 1 else _too_slow(sheet, tier, verdict, worst)


def _too_slow(sheet: Sheet, tier: TierRow, verdict: Verdict, worst: Limit) -> Verdict:
    """With how much of the tier would be enough, or why no amount is."""
    short, enough = replace(verdict, outcome="short"), worst.enough
    if enough is None:
        return replace(short, reason=f"limit of {worst.what}")
    if enough.unit != "bytes":
        return replace(short, enough=enough, each_node=tier.local)
    if not is_sold(tier, enough):
        return replace(short, reason=_sold_up_to(tier))
    return _with_capacity(sheet, tier, short, enough)


def _capacity(sheet: Sheet, tier: TierRow) -> Verdict:
    """Capacity can be bought, within what is sold."""
    verdict = Verdict(
        tier=tier.name, requirement=CAPACITY, outcome="enough", own=tier in sheet.plan.tiers
    )
    if tier.drive_bytes is not None:
        *steps, made = drives(sheet, tier)
        return replace(
            verdict,
            enough=made,
            each_node=tier.local,
            steps=tuple(steps),
            unverified=() if tier.verified("drive_bytes") else ("drive_bytes",),
        )
    needed = sheet[CAPACITY]
    if is_sold(tier, needed):
        return _with_capacity(sheet, tier, verdict, needed)
    most = cell(sheet, tier, "most_bytes", "offered", "bytes")
    limit = Limit("the most that is sold", needed, most, ("most_bytes",))
    return replace(
        verdict,
        outcome="short",
        limit=limit.what,
        reason=_sold_up_to(tier),
        shortfall=_shortfall(tier, limit),
    )


def _with_capacity(sheet: Sheet, tier: TierRow, verdict: Verdict, wanted: Requirement) -> Verdict:
    """Enough with so many bytes, with no less than is sold, in as many instances as it takes."""
    *steps, made = bought(sheet, tier, wanted)
    several = instances(sheet, tier, wanted)
    if wanted.name not in sheet and (made is not wanted or several is not None):
        steps = [wanted, *steps]
    return replace(verdict, enough=made, instances=several, steps=(*verdict.steps, *steps))


def _shortfall(tier: TierRow, limit: Limit) -> Requirement:
    return supply.shortfall.requirement(
        f"{limit.needed.name}: shortfall of {tier.name}",
        [limit.needed.as_input("needed"), replace(limit.offered, name="offered")],
    )


def _sold_up_to(tier: TierRow) -> str:
    return f"sold up to {format_bytes(tier.most_bytes or 0)}"
