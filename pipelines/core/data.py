"""Data that leave the program as JSON: models whose keys, types and units can be looked up."""

from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

Number: TypeAlias = int | float  # a whole number stays one in the JSON


class Data(BaseModel):
    """A JSON object. Each key has its docstring, which its JSON schema tells too.

    A key whose default is None is left out where it is None; any other key is always there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    @model_serializer(mode="wrap")
    def _without_absent(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {k: v for k, v in dump(self).items() if v is not None or fields[k].is_required()}
