"""What-if of tiers: in each case how much of a tier would do, and what uses most of it."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tokenmill.sizing.document.section import NONE
from tokenmill.sizing.report_tiers import SHORT
from tokenmill.sizing.sections.verdicts import judge
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.units import format_quantity
from tokenmill.sizing.verdict import Verdict, deciding, times, to_buy, told_to_buy

MOST_TIERS = 6  # that are compared where the plan names no candidates


def tier_figures(sheets: Sequence[Sheet]) -> dict[str, tuple[str, ...]]:
    """The verdict of every sheet by the name of the tier, as a person reads it."""
    judged = [judged_tiers(sheet) for sheet in sheets]
    names = dict.fromkeys(name for of_case in judged for name in of_case)
    return {
        name: tuple(told_tier(case[name]) if name in case else NONE for case in judged)
        for name in names
    }


def tiers_json(sheet: Sheet) -> list[dict[str, Any]]:
    """The tiers of one case as plain data: tier, to_buy (value, unit, or null), told."""
    made = []
    for name, verdicts in judged_tiers(sheet).items():
        amount = to_buy(verdicts)
        bought = None if amount is None else {"value": amount.value, "unit": amount.unit}
        made.append({"tier": name, "to_buy": bought, "told": told_tier(verdicts)})
    return made


def judged_tiers(sheet: Sheet) -> dict[str, tuple[Verdict, ...]]:
    """The verdicts by tier: of all that the plan names, else of the first of the table."""
    grouped = groupby(judge(sheet), key=lambda verdict: verdict.tier)
    of_tier = {name: tuple(verdicts) for name, verdicts in grouped}
    most = len(of_tier) if sheet.plan.storage.candidates else MOST_TIERS
    return dict(list(of_tier.items())[:most])


def told_tier(verdicts: Sequence[Verdict]) -> str:
    """How much to buy, and which requirement comes nearest to what that delivers.

    "96.5 TB; restart reads use 41 %", "165 TB; for checkpoint writes".
    """
    amount = told_to_buy(verdicts) or NONE
    found = deciding(verdicts)
    if found is not None and found.requirement in SHORT:
        return f"{amount}; for {SHORT[found.requirement]}"
    limits = [(v.shortfall.value, v) for v in verdicts if v.shortfall and v.requirement in SHORT]
    if not limits:
        return amount
    ratio, nearest = max(limits, key=lambda pair: pair[0])
    what = SHORT[nearest.requirement]
    if ratio > 1:
        return f"{amount}; {what} short {times(ratio)} x"
    return f"{amount}; {what} use {format_quantity(ratio, 'fraction')}"
