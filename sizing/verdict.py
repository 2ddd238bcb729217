"""Each candidate tier of storage against each requirement: whether it meets it, and what would.

A tier may be limited in several ways: of one client, each TiB, a group, a drive, or in all. What it
offers is what the capacity that is needed anyway brings, within what is sold, or in whole drives;
where that is short, how much more is enough.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from tokenmill.sizing.formula import Formula, greatest
from tokenmill.sizing.formulas import capacity, cost, supply
from tokenmill.sizing.redundancy import redundancy_drives
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections.checkpoints import NODE_WRITE
from tokenmill.sizing.sections.jobs import LARGEST
from tokenmill.sizing.sections.reads import NODE_REQUESTS
from tokenmill.sizing.sections.restart import NODE_READ
from tokenmill.sizing.sections.stages import all_datasets
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.tables import TIERS, TierRow
from tokenmill.sizing.units import format_bytes, times

CAPACITY = "usable capacity"
RAW = "raw capacity"
OF_NODE = "dataset on a node's drives"
ON_DRIVES = "usable capacity of a node's drives"
_SHARED = ("client", "tib", "total", "group", "drive")
_READ = {scope: f"{scope}_read_bytes_per_s" for scope in _SHARED}
_WRITE = {scope: f"{scope}_write_bytes_per_s" for scope in _SHARED}
_READ |= {"prefix": "prefix_get_per_s"}
_WRITE |= {"prefix": "prefix_put_per_s"}
_REQUESTS = {
    "tib": "tib_read_iops",
    "total": "total_read_iops",
    "drive": "drive_read_iops",
    "prefix": "prefix_get_per_s",
}
WRITES, RESTART = "checkpoint write bandwidth, whole job", "restart read bandwidth"
# row of the sheet -> scope of a limit -> column of the tier
NEEDS: Mapping[str, Mapping[str, str]] = {
    "read bandwidth, whole job": _READ,
    "read requests, whole job": _REQUESTS,
    WRITES: _WRITE,
    RESTART: _READ,
}
# of what the whole job needs, the row of one node: of several jobs, the node that needs most
OF_ONE: Mapping[str, str] = {
    "read bandwidth, whole job": "read bandwidth, one node",
    "read requests, whole job": NODE_REQUESTS,
    WRITES: NODE_WRITE,
    RESTART: NODE_READ,
}
OF_CHECKPOINTS = (WRITES, RESTART)  # must be shared, or a lost node takes its part with it
ONE_CLIENT = "one client"


def is_asked(sheet: Sheet, name: str) -> bool:
    """Whether the sheet has this row, of what the storage is bought for."""
    part = "checkpoints" if name in OF_CHECKPOINTS else "dataset"
    return name in sheet and (name not in NEEDS or part in sheet.plan.storage.holds)


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


def limits(sheet: Sheet, tier: TierRow, needed: Requirement) -> Iterator[Limit]:
    """Every one that the tier's row tells."""
    for scope, column in NEEDS[needed.name].items():
        if getattr(tier, column) is not None:
            given = sheet.cell(tier, column, "reads/s" if scope == "prefix" else needed.unit)
            limit = _LIMITS[scope](sheet, tier, needed, given)
            yield limit._replace(columns=(column, *limit.columns))


def _of_client(sheet: Sheet, _tier: TierRow, needed: Requirement, given: Input) -> Limit:
    return Limit(ONE_CLIENT, sheet[OF_ONE[needed.name]], given, ())


def _of_tib(sheet: Sheet, tier: TierRow, needed: Requirement, given: Input) -> Limit:
    rows = bought(sheet, tier, sheet[CAPACITY])
    offers = in_unit(supply.offered_by_capacity, needed.unit)
    name = f"{needed.name}: offered by {tier.name}"
    offered = sheet.aside(name, offers, bought_bytes=rows[-1], of_tib=given)
    name = f"{needed.name}: capacity of {tier.name}"
    enough = sheet.aside(name, supply.capacity_needed_bytes, needed=needed, of_tib=given)
    steps = tuple(row for row in (*rows, offered) if row is not sheet[CAPACITY])
    return Limit("each TiB", needed, offered.as_input("offered"), (), enough, steps)


def _of_all(_sheet: Sheet, _tier: TierRow, needed: Requirement, given: Input) -> Limit:
    return Limit("all of it", needed, given, ())


def _of_group(sheet: Sheet, tier: TierRow, needed: Requirement, given: Input) -> Limit:
    size = sheet.cell(tier, "group_nodes", "nodes")
    groups = _units(sheet, "groups", f"{needed.name}: groups of {tier.name}", sheet["nodes"], size)
    offered = _together(sheet, tier, needed, groups, given)
    what = f"{tier.group_nodes} nodes"
    return Limit(
        what, needed, offered.as_input("offered"), ("group_nodes",), steps=(groups, offered)
    )


def _of_drive(sheet: Sheet, tier: TierRow, needed: Requirement, given: Input) -> Limit:
    rows = drives(sheet, tier)
    asked = _asked_of_drives(sheet, tier, needed)
    offered = _together(sheet, tier, needed, rows[-1], given)
    enough = _units(sheet, "drives", f"{needed.name}: drives of {tier.name}", asked, given)
    steps = (*rows, offered, *([] if asked.name in sheet else [asked]))
    what = "the drives for its capacity"
    return Limit(what, asked, offered.as_input("offered"), ("drive_bytes",), enough, steps)


def _asked_of_drives(sheet: Sheet, tier: TierRow, needed: Requirement) -> Requirement:
    """Of a node's own drives its share; of shared ones all, of writes with their redundancy."""
    if tier.local:
        return sheet[OF_ONE[needed.name]]
    if needed.name != WRITES:
        return needed
    name = f"{needed.name}: with redundancy"
    return sheet.aside(name, supply.raw_write_bytes_per_s, write_bytes_per_s=needed)


def _of_prefix(sheet: Sheet, tier: TierRow, needed: Requirement, given: Input) -> Limit:
    """Requests to an object store; bytes go by so many of `storage.request_bytes`."""
    if needed.unit == "bytes/s":
        name = f"{needed.name}: requests to {tier.name}"
        needed = sheet.aside(name, cost.read_requests_per_s, read_bytes_per_s=needed)
        made = _of_prefix(sheet, tier, needed, given)
        return made._replace(steps=(needed,))
    enough = _units(sheet, "prefixes", f"{needed.name}: prefixes of {tier.name}", needed, given)
    return Limit("one prefix", needed, given, (), enough)


_LIMITS = {
    "client": _of_client,
    "tib": _of_tib,
    "total": _of_all,
    "group": _of_group,
    "drive": _of_drive,
    "prefix": _of_prefix,
}


def _together(
    sheet: Sheet, tier: TierRow, needed: Requirement, units: Requirement, given: Input
) -> Requirement:
    offers = in_unit(supply.offered_together, needed.unit)
    return sheet.aside(f"{needed.name}: offered by {tier.name}", offers, units=units, of_one=given)


def _units(sheet: Sheet, unit: str, name: str, needed: Requirement, of_one: Input) -> Requirement:
    """Groups, drives, prefixes or instances that together give what is needed."""
    return sheet.aside(name, in_unit(supply.units_needed, unit), needed=needed, of_one=of_one)


def bought(sheet: Sheet, tier: TierRow, wanted: Requirement) -> tuple[Requirement, ...]:
    """Of a tier of which so many bytes are wanted; the rows before it, if any, first.

    It is `wanted` itself where nothing is said of the least and the steps that are sold.
    """
    sold: dict[str, Given] = {
        column: sheet.cell(tier, column, "bytes")
        for column in ("least_bytes", "step_bytes")
        if getattr(tier, column) is not None
    }
    if not sold:
        return (wanted,)
    several = instances(sheet, tier, wanted)
    if several is not None:
        sold["instances"] = several
    name = f"{wanted.name}: of {tier.name}"
    made = sheet.aside(name, supply.bought_bytes, usable_bytes=wanted, **sold)
    return (made,) if several is None else (several, made)


def instances(sheet: Sheet, tier: TierRow, wanted: Requirement) -> Requirement | None:
    """How many hold so many bytes; None where one does, or no more than one is sold."""
    if not tier.several or tier.most_bytes is None or wanted.value <= tier.most_bytes:
        return None
    most = sheet.cell(tier, "most_bytes", "bytes")
    return _units(sheet, "instances", f"{wanted.name}: instances of {tier.name}", wanted, most)


def is_sold(tier: TierRow, wanted: Requirement) -> bool:
    return tier.several or tier.most_bytes is None or wanted.value <= tier.most_bytes


def drives(sheet: Sheet, tier: TierRow) -> tuple[Requirement, ...]:
    """Drives for capacity, the rows before them first.

    Shared ones hold all, with its redundancy, and are at least as many as one stripe of it; those
    in a node hold the datasets of all sources, of the job whose are largest.
    """
    held = on_drives(sheet) if tier.local else sheet[RAW]
    of_one = sheet.cell(tier, "drive_bytes", "bytes")
    made = _units(sheet, "drives", f"{CAPACITY}: drives of {tier.name}", held, of_one)
    if not tier.local:
        stripe = redundancy_drives(sheet.plan.storage.redundancy)[1]
        least = replace(sheet.plan.input("storage.redundancy", value=stripe), unit="drives")
        if stripe <= made.value:
            return (made,)
        name, most = f"{made.name}, at least a stripe", greatest(unit="drives")
        return (made, sheet.aside(name, most, drives_for_capacity=made, drives_of_a_stripe=least))
    return (_of_node(sheet), held, made)


def on_drives(sheet: Sheet) -> Requirement:
    """Room in each node for the datasets of its job, with growth, not filled to the brim."""
    return sheet.aside(ON_DRIVES, capacity.usable_bytes, logical_bytes=_of_node(sheet))


def _of_node(sheet: Sheet) -> Requirement:
    held = sheet[LARGEST] if sheet.jobs else all_datasets(sheet)
    return sheet.aside(OF_NODE, capacity.node_dataset_bytes, dataset_bytes=held)


def in_unit(formula: Formula[...], unit: str) -> Formula[...]:
    """The formula for quantities of another unit."""
    return replace(formula, unit=unit)


Outcome: TypeAlias = Literal["enough", "short", "not judged", "not shared", "unknown"]
OPEN = ("not judged", "unknown")  # outcomes that leave open whether a tier is fast enough
# row of the sheet -> what a reader calls it
WORDS: Mapping[str, str] = {
    "read bandwidth, whole job": "training reads",
    "read requests, whole job": "requests",
    "checkpoint write bandwidth, whole job": "checkpoint writes",
    "restart read bandwidth": "restart reads",
}
MOST_NODE_DRIVES = 24  # our choice: servers of two units with more are rare


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One tier against one requirement.

    tier: its name.  requirement: name of the sheet's row.
    outcome: "not shared" of checkpoints in drives that are lost with their node; "not judged"
        where no limit but one client's is known, and that is enough.
    limit: of the tier, the one that is furthest from enough: "one client", "each TiB".
    shortfall: how many times what is offered is needed; None where nothing limits it, or where
    nobody has published what does.
    enough: how much of the tier is enough, where more of it helps: bytes, drives, prefixes.
    instances: that it takes, where it is more than one.
    reason: why no amount is enough.
    each_node: that much in each node.
    own: the tier is a row of the plan.
    steps: what these were computed from besides the sheet's rows, in order.
    unverified: cells of the tier that went in and were not found in a document.
    """

    tier: str
    requirement: str
    outcome: Outcome
    limit: str = ""
    shortfall: Requirement | None = None
    enough: Requirement | None = None
    instances: Requirement | None = None
    reason: str = ""
    each_node: bool = False
    own: bool = False
    steps: tuple[Requirement, ...] = ()
    unverified: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """In words: "short 3.2 x (each TiB); enough with 73.4 TB"."""
        if self.outcome in OPEN or self.outcome == "not shared":
            return self.unjudged
        words = []
        if self.outcome == "short" and self.shortfall is not None:
            why = f"; {self.reason}" if self.reason.startswith("sold") else ""
            words.append(f"short {times(self.shortfall.value)} x ({self.limit}{why})")
        if self.enough is not None:
            words.append(f"enough with {self._much(' in each node')}")
            if self.too_many_drives:
                words.append(f"more than the {MOST_NODE_DRIVES} drives that a server may hold")
        told = "; ".join(words) or "enough"
        return f"{told} (unverified)" if self.unverified else told

    @property
    def unjudged(self) -> str:
        """Why there is no verdict."""
        if self.outcome == "not shared":
            return "not shared"
        if self.outcome == "not judged":
            return "not judged: one client is fast enough, of the servers nothing is known"
        return "not stated" if self.own else "not published"

    @property
    def amount(self) -> str:
        """How much is enough, in few words: "105 drives a node", "21.5 PB in 2 instances"."""
        return self._much(" a node")

    @property
    def too_many_drives(self) -> bool:
        """Whether it takes more drives in a node than servers hold."""
        return self.each_node and self.enough is not None and self.enough.value > MOST_NODE_DRIVES

    def _much(self, a_node: str) -> str:
        if self.enough is None:
            return ""
        much = self.enough.shown
        if self.instances is not None:
            much += f" in {self.instances.shown}"
        return f"{much}{a_node}" if self.each_node else much

    def to_json(self) -> dict[str, Any]:
        rows = {name: getattr(self, name) for name in ("shortfall", "enough", "instances")}
        return {
            **vars(self),
            **{name: None if row is None else row.to_json() for name, row in rows.items()},
            "steps": [step.to_json() for step in self.steps],
            "told": self.told,
        }


def deciding(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The one that says how much of a tier meets every requirement; None where no amount does.

    verdicts: all of one tier. What nobody has published is passed over.
    """
    of_amount = []
    for verdict in verdicts:
        if verdict.outcome == "short" and verdict.enough is None:
            return None
        # prefixes are not bought, and do not compare with what is
        if verdict.enough is not None and verdict.enough.unit in ("bytes", "drives"):
            of_amount.append((verdict.enough.value, verdict))
    return max(of_amount, key=lambda pair: pair[0], default=(0, None))[1]


def to_buy(verdicts: Iterable[Verdict]) -> Requirement | None:
    """How much of one tier meets every requirement; None where no amount does."""
    found = deciding(verdicts)
    return None if found is None else found.enough


def told_to_buy(verdicts: Sequence[Verdict]) -> str:
    """That in few words, with what it leaves open; why not, where no amount is enough."""
    found = deciding(verdicts)
    if found is None:
        stuck = [v for v in verdicts if v.outcome == "short" and v.enough is None]
        return f"no amount: {stuck[0].reason}" if stuck else ""
    if found.each_node:
        more = ", more than fit" if found.too_many_drives else ""
        return f"{found.amount}{more}, for the dataset only"
    lacking = [WORDS.get(v.requirement, v.requirement) for v in verdicts if v.outcome in OPEN]
    if lacking and all(v.outcome in OPEN for v in verdicts if v.requirement in WORDS):
        return f"{found.amount}, speed not judged"
    return f"{found.amount}; no figure for {', '.join(lacking)}" if lacking else found.amount


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
            *(_rate(sheet, tier, sheet[name]) for name in NEEDS if is_asked(sheet, name)),
        )
    )


def _rate(sheet: Sheet, tier: TierRow, needed: Requirement) -> Verdict:
    verdict = Verdict(
        tier=tier.name, requirement=needed.name, outcome="unknown", own=tier in sheet.plan.tiers
    )
    if tier.local and needed.name in OF_CHECKPOINTS:
        return replace(verdict, outcome="not shared")
    judged = [(_shortfall(tier, limit), limit) for limit in limits(sheet, tier, needed)]
    if not judged:
        return verdict
    shortfall, worst = max(judged, key=lambda pair: pair[0].value)
    of_client = all(limit.what == ONE_CLIENT for _, limit in judged)
    verdict = replace(
        verdict,
        outcome="not judged" if of_client else "enough",
        limit=worst.what,
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
    most = sheet.cell(tier, "most_bytes", "bytes")
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
