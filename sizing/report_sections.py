"""A sheet as a document: what matters first, what storage would do, each row, what it rests on."""

from collections.abc import Mapping, Sequence

from sizing.document.section import (
    NONE,
    Derivation,
    Derivations,
    Given,
    Section,
    Table,
    table,
)
from sizing.report import assumptions, kind, rests_on
from sizing.requirement import Input, Requirement, by_name
from sizing.requirements import headline
from sizing.sections.verdicts import CAPACITY, judge
from sizing.sheet import Sheet
from sizing.units import format_quantity
from sizing.verdict import Verdict, to_buy

NOTES = (
    "Storage is in SI units: 1 TB is 10^12 bytes. A 95 % interval covers what the plan or the"
    " measured corpus says is uncertain, and nothing else; a figure without one rests on inputs"
    " without one.",
    "What a figure rests on: measured on a corpus, stated in the plan, assumed by default from a"
    " named source, or unverified, which is assumed from memory: check such a figure before"
    " anything is bought on it.",
)

TIER_WORDS = (
    "Each tier is judged with the capacity that is needed anyway. Enough: that capacity is fast"
    " enough. Needs: it is not, and this much of the tier is. Short: no amount of it helps, it is"
    " so many times too slow. Client, enough: each node's connection is, and what the servers"
    " behind it deliver is not published: ask for it.",
    "Local drives hold the dataset in each node and nothing else; checkpoints that a lost node"
    " takes with it are none. An asterisk: the verdict rests on unverified figures.",
)
ONE_CLIENT = "one client"  # the limit of a verdict
FIRST, TIERS = "What matters first", "Storage tiers against what is required"
SHORT = {
    "read bandwidth, whole job": "training reads",
    "read requests, whole job": "requests",
    "checkpoint write bandwidth, whole job": "checkpoint writes",
    "restart read bandwidth": "restart reads",
}


def sections(sheet: Sheet) -> list[Section]:
    """What a buyer wants to know, in the order in which it is asked."""
    rows = by_name(sheet)
    warnings = tuple(f"Warning: {sentence}." for sentence in sheet.warnings)
    parts = [
        Section(key="summary", title="In short", blocks=(about(sheet),)),
        Section(key="headline", title=FIRST, blocks=(_rows(FIRST, headline(sheet), rows), *NOTES)),
        Section(key="warnings", title="Warnings", blocks=warnings),
        Section(key="tiers", title="Which storage would do", blocks=_tiers(sheet)),
    ]
    for section in sheet.sections:
        made = (_rows(section.title, section.rows, rows),) if section.rows else ()
        parts.append(Section(key=_key(section.title), title=section.title, blocks=made))
    return [
        *parts,
        Section(key="assumptions", title="Assumed and stated", blocks=_assumed(sheet)),
        Section(key="derivations", title="How each was computed", blocks=_derived(sheet)),
    ]


def about(sheet: Sheet) -> str:
    """What the sheet is for, in two sentences."""
    plan = sheet.plan
    model = format_quantity(plan.model.params, "parameters")
    trained = format_quantity(sheet["tokens trained on"].value, "tokens")
    days = format_quantity(sheet["training time"].value, "days")
    return (
        f"For a model of {model}, trained on {trained} by {plan.cluster.count:,}"
        f" {plan.cluster.accelerator} in {days}. {_measured(sheet)}"
    )


def _measured(sheet: Sheet) -> str:
    found = [
        f"{m.name}{'' if m.measured else ' (not measured)'}" for m in sheet.measurements.values()
    ]
    if not found:
        return "No corpus was measured: every figure rests on what is stated or assumed."
    return f"The corpus is as measured: {', '.join(found)}."


def interval(row: Requirement | Input) -> str:
    """The 95 % interval in words, empty without one that shows at so many digits."""
    low, high = row.interval
    if low is None or high is None:
        return ""
    first, last = (format_quantity(v, row.unit) for v in (low, high))
    if first == last:
        return ""
    own, others = first.split(" "), last.split(" ")
    while len(own) > 1 and own[-1] == others[-1]:  # 31.1 to 38.1 MB/s, but 971 GB to 1.02 TB
        own, others = own[:-1], others[:-1]
    return f"{' '.join(own)} to {last}"


def shown(row: Requirement | Input) -> str:
    """The value as a person reads it."""
    return format_quantity(row.value, row.unit)


def outcome(verdict: Verdict) -> str:
    """A verdict in the two or three words that a table has room for."""
    if verdict.outcome == "unknown":
        return "not published"
    words = "client: enough" if verdict.limit == ONE_CLIENT else "enough"
    if verdict.outcome == "short" and verdict.shortfall is not None:
        words = f"short {verdict.shortfall.value:.3g}x"
        if verdict.enough is not None:
            words = f"needs {shown(verdict.enough)}{' a node' if verdict.each_node else ''}"
    return f"{words} *" if verdict.unverified else words


def tiers_by_name(verdicts: Sequence[Verdict]) -> Mapping[str, Sequence[Verdict]]:
    """The verdicts of each tier, in order."""
    made: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        made.setdefault(verdict.tier, []).append(verdict)
    return made


def _rows(caption: str, of: Sequence[Requirement], rows: Mapping[str, Requirement]) -> Table:
    """Rows of the sheet as a table; without a column of intervals where there are none."""
    names = ["requirement", ">value", "95 % interval", "rests on"]
    cells = [[row.name, shown(row), interval(row) or NONE, rests_on(row, rows)] for row in of]
    if all(cell[2] == NONE for cell in cells):
        for line in (names, *cells):
            del line[2]
    return table(caption, names, map(tuple, cells))


def tier_table(verdicts: Sequence[Verdict], caption: str) -> Table:
    """A row for each tier: what it is for each requirement, and how much of it meets them all."""
    by_tier = tiers_by_name(verdicts)
    needs = dict.fromkeys(v.requirement for v in verdicts if v.requirement != CAPACITY)
    cells = []
    for tier, of_tier in by_tier.items():
        of = {v.requirement: outcome(v) for v in of_tier}
        cells.append((tier, *(of[name] for name in needs), _to_buy(of_tier)))
    columns = ("tier", *(f"*{SHORT.get(name, name)}" for name in needs), "to buy")
    return table(caption, columns, cells)


def _to_buy(verdicts: Sequence[Verdict]) -> str:
    buy = to_buy(verdicts)
    if buy is None:
        return "no amount is enough"
    return f"{shown(buy)}{' a node' if any(v.each_node for v in verdicts) else ''}"


def _tiers(sheet: Sheet) -> tuple[str | Table, ...]:
    verdicts = judge(sheet)
    if not verdicts:
        return ()
    told = [(v.tier, v.requirement, v.told) for v in verdicts if v.outcome == "short"]
    return (
        *TIER_WORDS,
        tier_table(verdicts, TIERS),
        table("Where a tier is too slow", ("tier", "requirement", "verdict"), told, folded=True),
    )


def _assumed(sheet: Sheet) -> tuple[str | Table, ...]:
    cells = [
        (_name(given), shown(given), kind(given), given.key or NONE, given.source)
        for given in assumptions(sheet)
    ]
    return (
        "Put your own figures in the plan, under the key named beside each; those without a key"
        " are constants of a formula.",
        table("Inputs", ("input", ">value", "*what it is", "key in the plan", "source"), cells),
    )


def _name(given: Input) -> str:
    """What an input is called: a setting by its own name, else as the formula calls it."""
    return (given.key or given.name).rpartition(".")[2].replace("_", " ")


def _derived(sheet: Sheet) -> tuple[Derivations, ...]:
    return tuple(
        Derivations(caption=section.title, rows=tuple(_derivation(row) for row in section.rows))
        for section in sheet.sections
        if section.rows
    )


def _derivation(row: Requirement) -> Derivation:
    return Derivation(
        name=row.name,
        shown=shown(row),
        equation=row.formula,
        given=tuple(_given(given) for given in row.inputs),
        source=row.source,
    )


def _given(given: Input) -> Given:
    between = interval(given)
    value = f"{shown(given)} ({between})" if between else shown(given)
    if given.computed_by is not None:
        return Given(given.name, value, "computed", given.computed_by)
    return Given(given.name, value, kind(given), given.source)


def _key(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())
