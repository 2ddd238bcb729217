"""A claim: what a document says, and how this package computes the same.

    - id: tiramisu-full-scale
      claim: in our words
      figures:                                  each published figure …
        - published: 1.16 TB/s
          call: supply.offered_together         … and the function of sizing.formulas
          inputs: {of_one: 1.134 GB/s, units: 4560}
      contradiction:                            where they cannot agree
        why: it is the figure of 1,024 nodes
        figures: […]                            the same with what reconciles them

An input is a number, a quantity ("16 MiB", "130 TFLOP/s"), a cell of a table
([accelerators, H100 SXM, dense_flops_per_s]), or a call of its own.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import yaml
from pydantic import Field, model_validator

from tokenmill.sizing.strict import Strict
from tokenmill.sizing.tables import DATA, LOADER

FOLDER = DATA / "claims"
# of a computed figure, relative to the published one; "printed" is half its last digit instead
TOLERANCES = {"exact": 0.001, "rounded": 0.02, "loose": 0.05}
Tolerance: TypeAlias = Literal["exact", "rounded", "loose", "printed"]


class Call(Strict):
    """call: a function of sizing.formulas, "module.function".  inputs: its arguments."""

    call: str
    inputs: Mapping[str, "Expression"] = {}


class Text(Strict):
    """An argument that is no number, as "16+2"."""

    text: str


Cell: TypeAlias = Annotated[tuple[str, str, str], Field(strict=False)]
Expression: TypeAlias = int | float | str | Cell | Call | Text


class Figure(Strict):
    """published: as the document prints it.  computed by a call, or read off a cell.

    of: what it is of, where a claim has several.  tolerance: in place of the claim's.
    """

    published: str
    of: str | None = None
    call: str | None = None
    inputs: Mapping[str, Expression] = {}
    cell: Cell | None = None
    tolerance: Tolerance | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "Figure":
        if (self.call is None) == (self.cell is None):
            raise ValueError(f"{self.published!r}: give either call or cell")
        return self

    @property
    def expression(self) -> Call | Cell:
        """What computes it."""
        if self.cell is not None:
            return self.cell
        return Call(call=self.call or "", inputs=self.inputs)


class Contradiction(Strict):
    """why: the published figure cannot be had from its own inputs.

    figures: the same function with inputs that reproduce what was published.
    ratio: computed over published, where nobody knows the cause.
    """

    why: str
    figures: Annotated[tuple[Figure, ...], Field(strict=False)] = ()
    ratio: float | None = None

    @model_validator(mode="after")
    def _reconciled_or_unknown(self) -> "Contradiction":
        if bool(self.figures) == (self.ratio is not None):
            raise ValueError("give figures that reconcile it, or the ratio if the cause is unknown")
        return self


class Claim(Strict):
    """One claim of a document; id is unique among all.

    worked_out: some of its figures are not printed in the document, but follow from those that are.
    note: for the reader where the figures agree and something else is odd.
    """

    id: str
    document: str
    claim: str
    figures: Annotated[tuple[Figure, ...], Field(strict=False, min_length=1)]
    tolerance: Tolerance = "exact"
    contradiction: Contradiction | None = None
    worked_out: bool = False
    note: str | None = None


def read_claims(data: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims of one document, or of several that each names; ValidationError: not whole."""
    shared = {k: data[k] for k in ("document",) if k in data}
    return tuple(Claim.model_validate({**shared, **claim}) for claim in data["claims"])


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim that ships, in the order of the files."""
    files = sorted(FOLDER.glob("*.yaml"))
    read = [yaml.load(f.read_text(encoding="utf-8"), Loader=LOADER) for f in files]
    return tuple(claim for data in read for claim in read_claims(data))
