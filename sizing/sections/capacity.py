"""All that the storage holds at once, and the size of what must be bought for it.

What preparing the corpus takes besides stands in a section of its own.
"""

from tokenmill.sizing.corpus import INPUTS
from tokenmill.sizing.formulas import capacity
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections.stages import SCRATCH, STORED, held, parts
from tokenmill.sizing.sheet import Sheet

TITLE = "Capacity"
ROOM, PREPARED = "Room to prepare the corpus", "If the corpus is prepared on this storage"
STORED_NOW, GROWN = "stored in all", "stored in all, grown"
TO_ADD = "raw capacity for "
KEY = "storage.holds"


def add(sheet: Sheet) -> None:
    """Add the rows of the section, and of what the storage does not hold."""
    logical = sheet.add(
        STORED_NOW,
        capacity.logical_bytes,
        **{part.name.removeprefix(STORED): part for part in held(sheet)},
    )
    if sheet.plan.storage.growth_frac:
        full = sheet.assume(1, unit="fraction", source="what is stored, not the room for it")
        sheet.add(GROWN, capacity.usable_bytes, logical_bytes=logical, fill_frac=full)
    usable = sheet.add("usable capacity", capacity.usable_bytes, logical_bytes=logical)
    sheet.add("raw capacity", capacity.raw_bytes, usable_bytes=usable)
    sheet.begin(ROOM)
    for part in not_held(sheet):
        rows = {row.name.removeprefix(STORED): row for row in parts(sheet)[part]}
        room = sheet.add(f"stored for {part}", capacity.logical_bytes, **rows)
        usable = sheet.add(f"usable capacity for {part}", capacity.usable_bytes, logical_bytes=room)
        sheet.add(f"{TO_ADD}{part}", capacity.raw_bytes, usable_bytes=usable)


def most_stored(sheet: Sheet) -> Requirement:
    """What the storage holds when it has grown as the capacity that is bought for it has room."""
    return sheet[GROWN if GROWN in sheet else STORED_NOW]


def not_held(sheet: Sheet) -> list[str]:
    """Parts of preparing that there are, and the storage is not bought for."""
    of = parts(sheet)
    return [p for p in (INPUTS, SCRATCH) if p not in sheet.plan.storage.holds and of[p]]


def switch(sheet: Sheet, part: str) -> str:
    """What to state in a plan so that the capacity is for this as well."""
    return f"{KEY}: [{', '.join((*sheet.plan.storage.holds, part))}]"
