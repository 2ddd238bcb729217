"""What is known of a corpus: documents, tokens, bytes of each stage, bytes per token."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sizing.errors import PlanError, explain

DATASET = "dataset"  # the stage that training reads
INPUTS = "inputs"  # the files a run started from
_OF_TOTAL = (
    "docs",
    "tokens",
    "text_bytes",
    "text_bytes_per_token",
    "text_bytes_per_token_se",
    "stored_bytes_per_token",
    "stored_bytes_per_token_se",
)
TOKEN_WIDTH_BYTES = {"uint16": 2, "int32": 4, "uint32": 4}


@dataclass(frozen=True, kw_only=True)
class CorpusMeasurement:
    """Counts over the documents that reached the tokenizer, and what each stage took to store.

    docs: None where nobody counted.  text_bytes: UTF-8.
    stored_bytes: by stage, in the order of the run; "dataset" is what training reads.
    stored_bytes_per_token: of the dataset, format overhead included.
    *_se: standard errors over shards, in bytes a token; None where there are none.
    token_width_bytes: of one token id as stored.
    measured: counted on files, rather than stated or assumed.
    name: what it was measured on, for the reader of a sheet.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str
    docs: int | None
    tokens: int
    text_bytes: int
    stored_bytes: Mapping[str, int]
    text_bytes_per_token: float
    stored_bytes_per_token: float
    token_width_bytes: int
    measured: bool
    text_bytes_per_token_se: float | None = None
    stored_bytes_per_token_se: float | None = None

    def __post_init__(self) -> None:
        if self.tokens <= 0:
            raise PlanError(f"{self.name!r} has {self.tokens} tokens; nothing to size")
        for name in ("text_bytes_per_token", "stored_bytes_per_token", "token_width_bytes"):
            if not getattr(self, name) > 0:
                raise PlanError(f"{self.name!r}: {name} must be over 0, is {getattr(self, name)!r}")
        if DATASET not in self.stored_bytes:
            raise PlanError(f"{self.name!r}: stored_bytes has no stage {DATASET!r}")

    @property
    def source(self) -> str:
        """How an input taken from here says where it comes from."""
        return f"{'measured' if self.measured else 'assumed'}: corpus {self.name}"

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        return {**asdict(self), "stored_bytes": dict(self.stored_bytes)}

    @staticmethod
    def from_json(data: Mapping[str, Any], *, where: str) -> "CorpusMeasurement":
        """Undo `to_json`.

        Raises:
            PlanError: a key is unknown or missing, or a value impossible; names `where`.
        """
        try:
            return _checked().validate_python(data)
        except ValidationError as e:
            raise PlanError(f"{where}: corpus: {explain(e, _known_keys)}") from e


def read_corpus(data: Any, *, where: str) -> CorpusMeasurement:
    """The measurement in a run's report.json, or in a file that holds nothing else.

    Raises:
        PlanError: it holds none; names `where`.
    """
    if not isinstance(data, Mapping):
        raise PlanError(f"{where}: not a report: expected a JSON object")
    measurement = data.get("measurement", data)
    if not isinstance(measurement, Mapping):
        raise PlanError(f"{where}: 'measurement' is not a JSON object")
    if "total" in measurement:
        return _of_report(data, where)
    return CorpusMeasurement.from_json(measurement, where=where)


def _of_report(report: Mapping[str, Any], where: str) -> CorpusMeasurement:
    """The measurement of a run, put together from the parts of its report."""
    try:
        total = report["measurement"]["total"]
        data = {
            "name": report["name"],
            **{key: total[key] for key in _OF_TOTAL},
            "stored_bytes": {INPUTS: report["inputs"]["bytes"], **report["stored_bytes"]},
            "token_width_bytes": TOKEN_WIDTH_BYTES[report["dataset"]["dtype"]],
            "measured": True,
        }
    except KeyError as e:
        raise PlanError(f"{where}: not the report of a run: no {e.args[0]!r}") from e
    except TypeError as e:
        raise PlanError(f"{where}: not the report of a run: {e}") from e
    if not data["tokens"]:  # then there is no ratio either, which is no mistake of the report
        raise PlanError(f"{where}: the run produced no tokens; nothing to size")
    return CorpusMeasurement.from_json(data, where=where)


@cache
def _checked() -> TypeAdapter[CorpusMeasurement]:
    return TypeAdapter(CorpusMeasurement)


def _known_keys(_place: tuple[str | int, ...]) -> list[str]:
    return [f.name for f in fields(CorpusMeasurement)]
