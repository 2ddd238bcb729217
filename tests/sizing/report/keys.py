"""The keys of requirements.json, and its JSON schema, schema.json beside what writes it.

Rendered by `python -m tests.sizing.report.keys`, which a test holds it to; likewise that of
estimate.json, whose keys `sizing.corpus` tells.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from tokenmill.sizing import corpus
from tokenmill.sizing.corpus import Estimate
from tokenmill.sizing.report import data
from tokenmill.sizing.verdict import Outcome

SCHEMA = Path(data.__file__).with_name("schema.json")
ESTIMATE_SCHEMA = Path(corpus.__file__).with_name("estimate.schema.json")

Number: TypeAlias = float | None


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AmountData(_Data):
    """What inputs and requirements have in common."""

    name: Annotated[str, Field(description="Of a row unique in the sheet; else the argument's")]
    value: Annotated[Number, Field(description="In `unit`; null where it is infinite")]
    unit: Annotated[str, Field(description='"bytes", "bytes/s", "days" …')]
    low: Annotated[Number, Field(description="95 % interval; null where no input has one")]
    high: Annotated[Number, Field(description="See low")]
    measured: Annotated[bool, Field(description="Nothing but measurements went in")]
    verified: Annotated[bool, Field(description="Every figure that went in stands in a document")]
    source: Annotated[str, Field(description="Of the formula, or who says so")]


class InputData(AmountData):
    """An argument of a formula."""

    computed_by: Annotated[str | None, Field(description="Name of the row it is the value of")]
    key: Annotated[str | None, Field(description="Of the plan's setting that changes it")]


class RequirementData(AmountData):
    """A figure that was computed."""

    formula: Annotated[str, Field(description="In the names of the inputs")]
    inputs: list[InputData]


class RowData(RequirementData):
    """A row of the sheet."""

    shown: Annotated[str, Field(description="Value and unit as a person reads them")]
    rests_on: Annotated[str, Field(description="Kinds of inputs beneath it, through every row")]


class SectionData(_Data):
    """A section of the sheet."""

    title: str
    rows: list[RowData]


class VerdictData(_Data):
    """One storage tier against one requirement."""

    tier: Annotated[str, Field(description="Its name")]
    own: Annotated[bool, Field(description="It is a row of the plan")]
    requirement: Annotated[str, Field(description="Name of the sheet's row")]
    outcome: Annotated[
        Outcome,
        Field(
            description="not shared: checkpoints in drives that are lost with their node; not"
            " judged: only one client's limit is known, and enough; unknown: nobody has published,"
            " or stated, what would tell"
        ),
    ]
    limit: Annotated[str, Field(description='The one furthest from enough: "one client" …')]
    shortfall: Annotated[
        RequirementData | None, Field(description="How many times what is offered is needed")
    ]
    enough: Annotated[
        RequirementData | None, Field(description="How much is enough, where more helps")
    ]
    instances: Annotated[
        RequirementData | None, Field(description="That this takes, where it is more than one")
    ]
    each_node: Annotated[bool, Field(description="Each node needs so much")]
    reason: Annotated[str, Field(description="Why no amount is enough, or empty")]
    steps: Annotated[list[RequirementData], Field(description="Between the sheet's rows and these")]
    unverified: Annotated[tuple[str, ...], Field(strict=False, description="Columns that went in")]
    told: Annotated[str, Field(description="All that in words")]


class BillData(_Data):
    """What one tier costs, as much of it as meets every requirement."""

    tier: Annotated[str, Field(description="Its name")]
    billed: Annotated[
        Literal["stored", "usable", "raw"], Field(description="What its seller counts")
    ]
    much: Annotated[RequirementData, Field(description="Bytes of that")]
    month: Annotated[RequirementData, Field(description="Of storage alone, a month")]
    storage: Annotated[RequirementData, Field(description="For as long as training takes")]
    requests: Annotated[RequirementData | None, Field(description="Likewise; null if free")]
    moved: Annotated[
        RequirementData | None, Field(description="Read, written, leaving a cloud; null if free")
    ]
    total: Annotated[RequirementData, Field(description="Of the three above")]
    steps: Annotated[list[RequirementData], Field(description="That these were added up from")]
    unverified: Annotated[tuple[str, ...], Field(strict=False, description="Prices from memory")]


class SheetData(_Data):
    """requirements.json."""

    sheet: Annotated[Literal["4"], Field(description="Version of this schema")]
    corpora: Annotated[dict[str, Any], Field(description="What was measured, by corpus or source")]
    headline: Annotated[list[str], Field(description="Names of the rows that matter first")]
    sections: list[SectionData]
    verdicts: Annotated[list[VerdictData], Field(description="Of each tier on each requirement")]
    bills: Annotated[list[BillData], Field(description="Of each tier that has a price")]
    assumptions: Annotated[
        list[InputData], Field(description="Inputs at the bottom that nobody measured, each once")
    ]
    unverified: Annotated[list[InputData], Field(description="Those of them from memory")]
    notes: Annotated[list[str], Field(description="Sentences beside the headline")]
    obstacles: Annotated[list[str], Field(description="Why nothing should be bought by it")]
    warnings: list[str]


def schemas() -> dict[Path, dict[str, Any]]:
    """By the file each ships in."""
    return {SCHEMA: SheetData.model_json_schema(), ESTIMATE_SCHEMA: Estimate.model_json_schema()}


if __name__ == "__main__":
    for file, schema in schemas().items():
        file.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
