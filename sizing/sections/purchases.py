"""How much of a tier is bought: capacity, within what is sold, or drives."""

from dataclasses import replace

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas import capacity, supply
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sections.stages import one_dataset
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.tables.shipped import TierRow

CAPACITY = "usable capacity"
RAW = "raw capacity"
DATASETS = "datasets, one version"  # row of a sheet of several sources
ON_DRIVES = "usable capacity of a node's drives"


def bought(sheet: Sheet, tier: TierRow, wanted: Requirement) -> tuple[Requirement, ...]:
    """Of a tier of which so many bytes are wanted; the rows before it, if any, first.

    It is `wanted` itself where nothing is said of the least and the steps that are sold.
    """
    sold = [
        cell(sheet, tier, column, column, "bytes")
        for column in ("least_bytes", "step_bytes")
        if getattr(tier, column) is not None
    ]
    if not sold:
        return (wanted,)
    several = instances(sheet, tier, wanted)
    given = [
        wanted.as_input("usable_bytes"),
        *sold,
        *([several.as_input("instances")] if several is not None else []),
    ]
    made = supply.bought_bytes.requirement(f"{wanted.name}: of {tier.name}", given)
    return (made,) if several is None else (several, made)


def instances(sheet: Sheet, tier: TierRow, wanted: Requirement) -> Requirement | None:
    """How many hold so many bytes; None where one does, or no more than one is sold."""
    if not tier.several or tier.most_bytes is None or wanted.value <= tier.most_bytes:
        return None
    most = cell(sheet, tier, "most_bytes", "of_one", "bytes")
    return in_unit(supply.units_needed, "instances").requirement(
        f"{wanted.name}: instances of {tier.name}", [wanted.as_input("needed"), most]
    )


def is_sold(tier: TierRow, wanted: Requirement) -> bool:
    return tier.several or tier.most_bytes is None or wanted.value <= tier.most_bytes


def drives(sheet: Sheet, tier: TierRow) -> tuple[Requirement, ...]:
    """Drives for capacity, the rows before them first.

    Shared ones hold all, with its redundancy; those in a node hold the datasets of all sources.
    """
    held = on_drives(sheet) if tier.local else sheet[RAW]
    made = in_unit(supply.units_needed, "drives").requirement(
        f"{CAPACITY}: drives of {tier.name}",
        [held.as_input("needed"), cell(sheet, tier, "drive_bytes", "of_one", "bytes")],
    )
    return (held, made) if tier.local else (made,)


def on_drives(sheet: Sheet) -> Requirement:
    """Room in each node for the datasets of all sources, with growth, not filled to the brim."""
    held = sheet[DATASETS] if DATASETS in sheet else one_dataset(sheet, sheet.sources[0])
    settings = ("fill_frac", "growth_frac", "growth_years")
    return capacity.usable_bytes.requirement(
        ON_DRIVES,
        [
            held.as_input("logical_bytes"),
            *(sheet.input(name, f"storage.{name}") for name in settings),
        ],
    )


def cell(sheet: Sheet, tier: TierRow, column: str, name: str, unit: str) -> Input:
    """A cell of the tier's row as the argument `name` of a formula."""
    return sheet.assume(name, getattr(tier, column), unit=unit, source=tier.source_of(column))


def in_unit(formula: Formula[...], unit: str) -> Formula[...]:
    """The formula for quantities of another unit."""
    return replace(formula, unit=unit)
