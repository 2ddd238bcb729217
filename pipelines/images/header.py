"""What the header of an image tells."""

from typing import NamedTuple, TypeAlias

Data: TypeAlias = bytes | memoryview


class Header(NamedTuple):
    """format: as Pillow says it, in lower case.  mode: likewise.  notes: as in `Facts`."""

    format: str
    mode: str
    width: int
    height: int
    notes: tuple[str, ...] = ()
