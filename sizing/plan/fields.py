"""What the settings of a plan are made of: their types, and what each default rests on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from tokenmill.sizing.redundancy import redundancy_factor
from tokenmill.sizing.strict import Strict
from tokenmill.sizing.tables import UnitOf
from tokenmill.sizing.units import parse_bytes, parse_count, parse_seconds

OUR_CHOICE = "our choice"
_UNCERTAIN = {"value", "low", "high"}


@dataclass(frozen=True)
class Assumed:
    """unit: of a setting, as `format_quantity` takes it.  source: of its default.

    verified: False for a default that nobody has found in a document.
    """

    unit: str
    source: str
    verified: bool = True


LEAST_SIZE = 1000  # bytes; smaller ones are written with their unit
LEAST_TOKENS = 1000  # likewise


def _redundancy(value: Any) -> Any:
    redundancy_factor(str(value))  # raises where it cannot be read, as the number 3
    return value


Count: TypeAlias = Annotated[float, BeforeValidator(UnitOf(parse_count)), Field(gt=0)]
Tokens: TypeAlias = Annotated[
    float, BeforeValidator(UnitOf(parse_count, LEAST_TOKENS, "T")), Field(gt=0)
]
Size: TypeAlias = Annotated[
    float, BeforeValidator(UnitOf(parse_bytes, LEAST_SIZE, "GB")), Field(gt=0)
]
# in seconds
Duration: TypeAlias = Annotated[float, BeforeValidator(UnitOf(parse_seconds)), Field(gt=0)]
Redundancy: TypeAlias = Annotated[str, BeforeValidator(_redundancy)]


class Section(Strict):
    """Unknown keys are refused, numbers are not guessed from other types, nothing changes.

    Any number may be written as {value: 0.4, low: 0.35, high: 0.45}, a 95 % interval, which
    every requirement that rests on it then has too.
    """

    _ranges: dict[str, tuple[float, float]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _take_intervals(cls, data: Any, handler: ModelWrapValidatorHandler["Section"]) -> "Section":
        if not isinstance(data, Mapping):
            return handler(data)
        uncertain = {k: v for k, v in data.items() if isinstance(v, Mapping) and "value" in v}
        section = handler({k: uncertain[k]["value"] if k in uncertain else data[k] for k in data})
        for key, given in uncertain.items():
            section._ranges[key] = _range(cls, key, given, getattr(section, key))
        return section

    def merged(self, own: "Section") -> "Section":
        """These settings, but for what `own` states; ValidationError where they do not fit."""
        changes = {name: getattr(own, name) for name in own.model_fields_set}
        made = self.model_copy(update=changes)
        made._ranges = {
            **{k: v for k, v in self._ranges.items() if k not in changes},
            **own._ranges,
        }
        return type(self).model_validate(made)

    def interval_of(self, name: str) -> tuple[float, float] | None:
        """The 95 % interval that was stated of a number; None without one."""
        return self._ranges.get(name)


def _range(
    model: type[Section], key: str, given: Mapping[str, Any], value: Any
) -> tuple[float, float]:
    if set(given) != _UNCERTAIN or None in given.values() or isinstance(value, str | bool):
        raise ValueError(
            f"{key}: an uncertain number is {{value: …, low: …, high: …}}, got keys"
            f" {', '.join(map(str, given))}"
        )
    field = model.model_fields[key]
    number: Any = Annotated[field.annotation, *field.metadata]
    checked: TypeAdapter[Any] = TypeAdapter(number)
    try:
        low, high = (checked.validate_python(given[end], strict=True) for end in ("low", "high"))
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        raise ValueError(f"{key}: {first['msg']}, got {first['input']!r}") from e
    if not low <= value <= high:
        raise ValueError(f"{key}: {value:g} is not between low {low:g} and high {high:g}")
    return low, high
