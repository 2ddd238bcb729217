"""What a checkpoint, or a model in training, holds of each parameter, by recipe."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from tokenmill.sizing.tables.row import Positive, Row, find_row, read_rows


class RecipeRow(Row):
    """parts: bytes of each quantity that is held of a parameter.

    on_disk: written to a checkpoint; otherwise it is what memory holds, with gradients.
    """

    parts: Annotated[Mapping[str, Positive], Field(min_length=1)]
    on_disk: bool = True

    @property
    def bytes_per_param(self) -> float:
        """The sum of the parts."""
        return sum(self.parts.values())

    def verified(self, column: str) -> bool:
        return super().verified(_cell_of(column))

    def source_of(self, column: str) -> str:
        return super().source_of(_cell_of(column))

    @property
    def summed(self) -> str:
        """The parts as a sum: "2 weights + 4 master weights"."""
        return " + ".join(f"{size:g} {part}" for part, size in self.parts.items())


def _cell_of(column: str) -> str:
    """The sum of the parts was read where the parts were."""
    return "parts" if column == "bytes_per_param" else column


@cache
def recipes() -> tuple[RecipeRow, ...]:
    """Every row of the table, in its order."""
    return read_rows("recipes.yaml", RecipeRow)


def find_recipe(name: str) -> RecipeRow:
    """The row of this name.

    Raises:
        PlanError: there is none; the nearest names are offered.

    >>> find_recipe("bf16+adam").bytes_per_param, find_recipe("weights").bytes_per_param
    (14.0, 2.0)
    """
    return find_row(
        name, recipes(), what="recipe", way_out=" (or give checkpoints.bytes_per_param)"
    )
