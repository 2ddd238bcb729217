"""What-if: one plan with some settings varied, its sheets side by side."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import NONE, Section, Table, table
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.requirements import headline, size
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.strict import parse_yaml
from tokenmill.sizing.units import format_quantity, times
from tokenmill.sizing.verdict import WORDS, Verdict, deciding, judge, to_buy, told_to_buy

MOST_CASES = 64
COMPARISON_VERSION = "1"  # raise it when a key of the JSON changes its meaning


class Variation(NamedTuple):
    """A setting of the plan, and the values that it takes in turn."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """changes: the settings varied, as written.  sheet: of the plan with them."""

    changes: Mapping[str, str]
    sheet: Sheet


def parse_variation(text: str) -> Variation:
    """Read KEY=V1,V2,…, each value as a plan would write it.

    PlanError: no key, no value, or not YAML.

    >>> parse_variation("model.params=1e9, 8B")
    Variation(key='model.params', values=('1e9', '8B'))
    """
    key, equals, listed = text.partition("=")
    if not (key.strip() and equals and listed.strip()):
        raise PlanError(f"--vary {text!r}: write KEY=V1,V2, as model.params=8e9,70e9")
    try:
        values = parse_yaml(f"[{listed}]")
    except yaml.YAMLError as e:
        raise PlanError(f"--vary {text!r}: the values are no YAML list") from e
    if None in values:
        raise PlanError(f"--vary {text!r}: a value is missing")
    return Variation(key.strip(), tuple(values))


def compare(
    plan: str | None, variations: Sequence[Variation], *, corpus: Path | None = None
) -> tuple[Case, ...]:
    """A sheet for each combination, the last setting varying fastest.

    PlanError: too many combinations, a setting twice, or one that makes no plan.
    """
    _check(variations)
    size(plan, corpus=corpus)  # what is wrong with the plan itself is no fault of a variation
    made = []
    for values in itertools.product(*(v.values for v in variations)):
        changes = {v.key: value for v, value in zip(variations, values, strict=True)}
        told = {key: _told(value) for key, value in changes.items()}
        try:
            sheet = size(plan, corpus=corpus, changes=changes)
        except PlanError as e:
            raise PlanError(f"with {listed(told)}: {e}") from e
        made.append(Case(changes=told, sheet=sheet))
    return tuple(made)


def figures(cases: Sequence[Case]) -> dict[str, tuple[str, ...]]:
    """The headline of every case by the name of its row, as a person reads it."""
    names = dict.fromkeys(row.name for case in cases for row in headline(case.sheet))
    return {
        name: tuple(c.sheet[name].shown if name in c.sheet else NONE for c in cases)
        for name in names
    }


def comparison_json(cases: Sequence[Case]) -> dict[str, Any]:
    """The cases as plain data.

    comparison: version of this schema.  cases: of each changes (settings by key, as written),
    headline (name, value, unit, shown, low, high), tiers (tier, to_buy, told), obstacles, why
    nothing should be bought by it, and warnings.
    """
    return {
        "comparison": COMPARISON_VERSION,
        "cases": [
            {
                "changes": dict(case.changes),
                "headline": [
                    {
                        "name": row.name,
                        "value": row.value,
                        "unit": row.unit,
                        "shown": row.shown,
                        "low": row.interval[0],
                        "high": row.interval[1],
                    }
                    for row in headline(case.sheet)
                ],
                "tiers": tiers_json(case.sheet),
                "obstacles": case.sheet.why_not(),
                "warnings": list(case.sheet.warnings),
            }
            for case in cases
        ],
    }


def comparison_markdown(cases: Sequence[Case]) -> str:
    """A row for each case, its figures with their intervals; and what is warned of."""
    keys, rows = list(cases[0].changes), []
    names = list(figures(cases))
    for case in cases:
        cells = [case.sheet[name].told if name in case.sheet else NONE for name in names]
        rows.append((*case.changes.values(), *cells))
    columns = (*keys, *(f">{name}" for name in names))
    judged = _judged(cases)
    sentences = tuple(f"Warning {sentence}." for sentence in warned(cases))
    return markdown(
        "Storage requirements compared",
        [
            Section("cases", "Cases", (table("Cases", columns, rows),)),
            Section("tiers", "Which storage would do", (judged,)),
            Section("warnings", "Warnings", sentences),
        ],
    )


def _judged(cases: Sequence[Case]) -> Table:
    """A row for each case, a column for each tier."""
    tiers = tier_figures([case.sheet for case in cases])
    rows = zip(*tiers.values(), strict=True)
    cells = [(*case.changes.values(), *row) for case, row in zip(cases, rows, strict=True)]
    return table("What to buy of each tier", (*cases[0].changes, *tiers), cells)


def warned(cases: Sequence[Case]) -> list[str]:
    """What is warned of, each with the settings that it is about; first, why not to buy by them."""
    made = []
    for case in cases:
        why = "; ".join(case.sheet.why_not())
        first = [f"do not buy by this: {why}"] if why else []
        made += [f"with {listed(case.changes)}: {told}" for told in (*first, *case.sheet.warnings)]
    return made


def _check(variations: Sequence[Variation]) -> None:
    keys = [v.key for v in variations]
    for key in keys:
        if keys.count(key) > 1:
            raise PlanError(f"--vary {key} is given twice; give all its values in one")
    cases = math.prod(len(variation.values) for variation in variations)
    if cases > MOST_CASES:
        raise PlanError(f"--vary makes {cases:,} combinations, at most {MOST_CASES} are compared")


def _told(value: Any) -> str:
    """A value as a plan writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_told, value))}]"
    return str(value)


def listed(changes: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in changes.items())


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
    if found is not None and found.requirement in WORDS:
        return f"{amount}; for {WORDS[found.requirement]}"
    limits = [(v.shortfall.value, v) for v in verdicts if v.shortfall and v.requirement in WORDS]
    if not limits:
        return amount
    ratio, nearest = max(limits, key=lambda pair: pair[0])
    what = WORDS[nearest.requirement]
    if ratio > 1:
        return f"{amount}; {what} short {times(ratio)} x"
    return f"{amount}; {what} use {format_quantity(ratio, 'fraction')}"
