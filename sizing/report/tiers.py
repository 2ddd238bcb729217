"""Storage tiers in a document: what each is for each requirement, and what each delivers."""

from collections.abc import Iterator, Mapping, Sequence

from tokenmill.sizing.billing import Bill, bills
from tokenmill.sizing.document.section import NONE, Table, table
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.tables import TierRow
from tokenmill.sizing.units import format_bytes, format_quantity, times
from tokenmill.sizing.verdict import (
    CAPACITY,
    MOST_NODE_DRIVES,
    OPEN,
    WORDS,
    Verdict,
    candidates,
    judge,
    told_to_buy,
)

TIERS, DELIVERS = "Storage tiers against what is required", "What each tier delivers"
NOTES = "What else is told of tiers"
TIER_WORDS = (
    "Each tier is judged with the capacity that is needed anyway. An asterisk: it rests on"
    " unverified figures."
)
COSTS = "What tiers cost"
COSTS_WORDS = (
    "billed: what the seller counts, as much as meets every requirement at the end of the plan's"
    " growth. A month is of storage alone, the rest of as long as training takes. Tiers without a"
    " price are left out"
)
PRICES: Mapping[str, str] = {  # column of a tier -> what it is the price of
    "usd_per_tb_month": "TB and month",
    "usd_per_1000_get": "1,000 reads",
    "usd_per_1000_put": "1,000 writes",
    "usd_per_gb_read": "GB read",
    "usd_per_gb_written": "GB written",
    "usd_per_gb_egress": "GB that leaves the cloud",
}
TO_BUY = "to buy: usable capacity; drives are raw, with redundancy"
# word of a cell -> what it means, in the order in which it is told
LEGEND: Mapping[str, str] = {
    "enough": "enough: the capacity that is needed anyway is fast enough",
    "not judged": (
        "not judged: only the link of one client is known, and is fast enough; ask what the"
        " servers behind it deliver"
    ),
    "needs": "needs: too slow at the capacity that is needed anyway, fast enough with so much",
    "short": "short: so many times too slow, and no amount helps",
    "not shared": "not shared: a lost node takes its part with it, and such checkpoints are none",
    "more than fit": (
        f"more than fit: over {MOST_NODE_DRIVES} drives a node, our choice of what a server holds"
    ),
    "instances": "instances: file systems of their own, as one is not sold so large",
}
# how the columns of a limit begin -> what it is of
SCOPES: Mapping[str, str] = {
    "client": "one client",
    "tib": "each TiB",
    "total": "all of it",
    "group": "{group_nodes} nodes",
    "drive": "a drive of {drive_bytes}",
    "prefix": "one prefix",
}
# how they end -> unit: reads, writes, and requests, of a file system or an object store
KINDS: Mapping[str, str] = {
    "read_bytes_per_s": "bytes/s",
    "write_bytes_per_s": "bytes/s",
    "read_iops": "requests/s",
    "get_per_s": "requests/s",
    "put_per_s": "requests/s",
}


def tier_blocks(sheet: Sheet) -> tuple[str | Table, ...]:
    """All that a sheet says of tiers: verdicts, what the words mean, where from."""
    verdicts = judge(sheet)
    if not verdicts:
        return ()
    made = tier_table(verdicts, TIERS)
    said = (*legend(made), *remarks(verdicts))
    told = [(v.tier, v.requirement, v.told) for v in verdicts if v.outcome == "short"]
    notes = [(tier.name, tier.note) for tier in candidates(sheet) if tier.note]
    return (
        TIER_WORDS,
        made,
        *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in said),
        *_costs(sheet, verdicts),
        table("Where a tier is too slow", ("tier", "requirement", "verdict"), told, folded=True),
        delivered(candidates(sheet)),
        *([table(NOTES, ("tier", "note"), notes)] if notes else ()),
    )


def tiers_by_name(verdicts: Sequence[Verdict]) -> Mapping[str, Sequence[Verdict]]:
    """The verdicts of each tier, in order."""
    made: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        made.setdefault(verdict.tier, []).append(verdict)
    return made


def tier_table(verdicts: Sequence[Verdict], caption: str) -> Table:
    """A row for each tier: what it is for each requirement, and how much of it meets them all."""
    needs = dict.fromkeys(v.requirement for v in verdicts if v.requirement != CAPACITY)
    cells = []
    for tier, of_tier in tiers_by_name(verdicts).items():
        of = {v.requirement: outcome(v) for v in of_tier}
        cells.append((tier, *(of[name] for name in needs), told_to_buy(of_tier)))
    columns = ("tier", *(f"*{WORDS.get(name, name)}" for name in needs), "to buy")
    return table(caption, columns, cells)


def bill_table(of: Sequence[Bill]) -> Table | None:
    """A row for each tier that has a price; without columns of which none is paid."""
    if not of:
        return None
    names = ("tier", "billed", ">a month", ">storage", ">requests", ">moved", ">in all")
    return table(COSTS, names, map(_bill_cells, of), unless_empty=[4, 5])


def _costs(sheet: Sheet, verdicts: Sequence[Verdict]) -> tuple[str | Table, ...]:
    """What tiers cost, and who says what they take."""
    made = bill_table(bills(sheet, verdicts))
    if made is None:
        return ()
    prices = [
        (tier.name, what, usd, tier.sources.get(column, tier.source))
        for tier in candidates(sheet)
        for column, what in PRICES.items()
        if (usd := _cell(tier, column, ""))
    ]
    names = ("tier", "for each", ">USD", "source")
    return made, f"B{COSTS_WORDS[1:]}.", table("Prices", names, prices, folded=True)


def _bill_cells(bill: Bill) -> tuple[str, ...]:
    shown = [
        NONE if row is None else row.shown.replace("/month", "")
        for row in (bill.month, bill.storage, bill.requests, bill.moved, bill.total)
    ]
    mark = " *" if bill.unverified else ""
    return (bill.tier, f"{bill.much.shown} {bill.billed}", *shown[:-1], shown[-1] + mark)


def outcome(verdict: Verdict) -> str:
    """A verdict in the two or three words that a table has room for."""
    if verdict.outcome in (*OPEN, "not shared"):
        return verdict.unjudged.partition(":")[0]
    words = "enough"
    if verdict.outcome == "short" and verdict.shortfall is not None:
        words = f"short {times(verdict.shortfall.value)}x"
        if verdict.enough is not None:
            words = f"needs {verdict.amount}"
    return f"{words} *" if verdict.unverified else words


def legend(of: Table) -> tuple[str, ...]:
    """What the words in the cells of a table of tiers mean, those that stand there."""
    cells = [cell for row in of.rows for cell in row[1:]]
    used = (told for word, told in LEGEND.items() if any(_says(cell, word) for cell in cells))
    return (*used, TO_BUY)


def _says(cell: str, word: str) -> bool:
    """Whether a cell uses a word of the legend, of which two also stand within what to buy."""
    return cell.startswith(word) if word in ("enough", "not judged") else word in cell


def remarks(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """On what cannot be built as it was computed."""
    return tuple(
        f"{verdict.tier}: {verdict.amount} are more than the {MOST_NODE_DRIVES} or so that a server"
        " holds; keep the dataset on shared storage, or a share of it in each node:"
        " storage.node_share"
        for of_tier in tiers_by_name(verdicts).values()
        for verdict in of_tier[:1]
        if verdict.too_many_drives
    )


def delivered(of: Sequence[TierRow]) -> Table:
    """A row for each limit of each tier: bandwidth, requests, what is sold, who says so."""
    return table(
        DELIVERS,
        ("tier", "limit of", ">reads", ">writes", ">requests/s", "an instance", "source"),
        [cells for tier in of for cells in _delivered(tier)],
    )


def _delivered(tier: TierRow) -> Iterator[tuple[str, ...]]:
    sold, limited = _sold(tier), False
    for scope, named in SCOPES.items():
        shown = {f"{scope}_{kind}": _cell(tier, f"{scope}_{kind}", KINDS[kind]) for kind in KINDS}
        given = [column for column, cell in shown.items() if cell]
        if not given:
            continue
        limited = True
        what = named.format(
            group_nodes=tier.group_nodes, drive_bytes=format_bytes(tier.drive_bytes or 0)
        )
        reads, writes, *others = shown.values()
        counts = [n.replace(" requests/s", "") for n in others]
        of_each = zip(counts, ("read", "read", "written"), strict=True)
        requests = [f"{n} {of}" for n, of in of_each if n]
        source = "; ".join(dict.fromkeys(tier.sources.get(c, tier.source) for c in given))
        told = ", ".join(requests)
        yield tier.name, what, reads or NONE, writes or NONE, told or NONE, sold, source
    if not limited:
        yield tier.name, NONE, NONE, NONE, NONE, sold, tier.source


def _cell(tier: TierRow, column: str, unit: str) -> str:
    """A cell of a tier's row, flagged if it is not verified; empty without one."""
    value = getattr(tier, column, None)
    if value is None:
        return ""
    return f"{format_quantity(value, unit)}{'' if tier.verified(column) else ' *'}"


def _sold(tier: TierRow) -> str:
    """From the least to the most of one instance, in what steps."""
    least, most, step = (
        None if n is None else format_bytes(n)
        for n in (tier.least_bytes, tier.most_bytes, tier.step_bytes)
    )
    if least and most:
        sold = f"{least} to {most}"
    else:
        sold = f"up to {most}" if most else f"from {least}" if least else ""
    return f"{sold} in steps of {step}".strip() if step else sold or NONE
