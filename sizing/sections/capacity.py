"""All that is stored at once, and the size of what must be bought to store it."""

from tokenmill.sizing.formulas import capacity
from tokenmill.sizing.sections.stages import STORED
from tokenmill.sizing.sheet import Sheet

TITLE = "Capacity"


def add(sheet: Sheet) -> None:
    """Add the rows of the section; its parts are the rows before it that say what is stored."""
    parts = [row for row in sheet if row.name.startswith(STORED)]
    logical = sheet.add(
        "stored in all",
        capacity.logical_bytes,
        **{part.name.removeprefix(STORED): part for part in parts},
    )
    sheet.add("usable capacity", capacity.usable_bytes, logical_bytes=logical)
    sheet.add("raw capacity", capacity.raw_bytes)
