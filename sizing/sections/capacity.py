"""All that is stored at once, and the size of what must be bought to store it."""

from tokenmill.sizing.formulas import capacity
from tokenmill.sizing.redundancy import redundancy_factor
from tokenmill.sizing.sections.stages import STORED
from tokenmill.sizing.sheet import Sheet

TITLE = "Capacity"


def add(sheet: Sheet) -> None:
    """Add the rows of the section; its parts are the rows before it that say what is stored."""
    parts = [row for row in sheet if row.name.startswith(STORED)]
    logical = sheet.add_parts(
        "stored in all",
        capacity.logical_bytes,
        [part.as_input(part.name.removeprefix(STORED)) for part in parts],
    )
    usable = sheet.add(
        "usable capacity",
        capacity.usable_bytes,
        logical_bytes=logical,
        fill_frac="storage.fill_frac",
        growth_frac="storage.growth_frac",
        growth_years="storage.growth_years",
    )
    key = "storage.redundancy"
    factor = redundancy_factor(sheet.plan.storage.redundancy)
    sheet.add(
        "raw capacity",
        capacity.raw_bytes,
        usable_bytes=usable,
        redundancy=sheet.plan.input(key, value=factor),
    )
