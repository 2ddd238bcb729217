"""What a report says, as data with names; JSON at the edge."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Data(BaseModel):
    """A frozen record of a report, made once and read by whatever shows it.

    A field with a default may be absent: JSON has it only if it was set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` gave.

        Raises:
            ValidationError: it is not.
        """
        return cls.model_validate(data)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_unset=True)

    def changed(self, **fields: Any) -> Self:
        """The record with other values of some fields, which are taken as they are."""
        return self.model_copy(update=fields)
