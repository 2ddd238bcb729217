"""What limits a storage tier for one requirement, and how much of it is bought.

A limit is one client's, each TiB's, a group's, a drive's, or that of all of it. Bought is
capacity, within what is sold, or drives.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas import bandwidth, capacity, object_store, supply
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections.restart import NODE_READ
from tokenmill.sizing.sections.stages import all_datasets
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.tables.shipped import TierRow

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
    share = _of_node(sheet, needed)
    return Limit(ONE_CLIENT, share, given, (), steps=(share,))


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
    steps = (*rows, offered, *([asked] if asked is not needed else []))
    what = "the drives for its capacity"
    return Limit(what, asked, offered.as_input("offered"), ("drive_bytes",), enough, steps)


def _asked_of_drives(sheet: Sheet, tier: TierRow, needed: Requirement) -> Requirement:
    """Of a node's own drives its share; of shared ones all, of writes with their redundancy."""
    if tier.local:
        return _of_node(sheet, needed)
    if needed.name != WRITES:
        return needed
    name = f"{needed.name}: with redundancy"
    return sheet.aside(name, supply.raw_write_bytes_per_s, write_bytes_per_s=needed)


def _of_prefix(sheet: Sheet, tier: TierRow, needed: Requirement, given: Input) -> Limit:
    """Requests to an object store; bytes go by so many of `storage.request_bytes`."""
    if needed.unit == "bytes/s":
        name = f"{needed.name}: requests to {tier.name}"
        needed = sheet.aside(name, object_store.read_requests_per_s, read_bytes_per_s=needed)
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


def _of_node(sheet: Sheet, needed: Requirement) -> Requirement:
    """What one node must be given: of reading a checkpoint more than its share, else that."""
    if needed.name == RESTART and NODE_READ in sheet:
        return sheet[NODE_READ]
    if sheet.jobs and needed.name == "read bandwidth, whole job":
        return sheet["read bandwidth, one node"]  # of the job that needs most
    share = in_unit(bandwidth.node_read_bytes_per_s, needed.unit)
    return sheet.aside(f"{needed.name}: of one node", share, read_bytes_per_s=needed)


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

    Shared ones hold all, with its redundancy; those in a node hold the datasets of all sources.
    """
    held = on_drives(sheet) if tier.local else sheet[RAW]
    of_one = sheet.cell(tier, "drive_bytes", "bytes")
    made = _units(sheet, "drives", f"{CAPACITY}: drives of {tier.name}", held, of_one)
    if not tier.local:
        return (made,)
    part = sheet.aside(OF_NODE, capacity.node_dataset_bytes, dataset_bytes=all_datasets(sheet))
    return (part, held, made)


def on_drives(sheet: Sheet) -> Requirement:
    """Room in each node for the datasets of all sources, with growth, not filled to the brim."""
    held = sheet.aside(OF_NODE, capacity.node_dataset_bytes, dataset_bytes=all_datasets(sheet))
    return sheet.aside(ON_DRIVES, capacity.usable_bytes, logical_bytes=held)


def in_unit(formula: Formula[...], unit: str) -> Formula[...]:
    """The formula for quantities of another unit."""
    return replace(formula, unit=unit)
