"""Data that leave the program as JSON: models whose keys, types and units can be looked up."""

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tokenmill.pipelines.core.config import described

Number: TypeAlias = int | float  # a whole number stays one in the JSON


class Data(BaseModel):
    """A JSON object. Each key has its docstring, which its JSON schema tells too.

    A key whose default is None is left out where it is None; any other key is always there.
    Docstrings are read when a schema is asked for, and models built when they are used: Pydantic's
    `use_attribute_docstrings` reads sources at each import, a sixth of a command's start.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return described(core_schema, handler, (([n], of) for n, of in _docstrings(cls).items()))

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    @model_serializer(mode="wrap")
    def _without_absent(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {k: v for k, v in dump(self).items() if v is not None or fields[k].is_required()}


def _docstrings(model: type[Data]) -> dict[str, str]:
    """By field, the string that stands behind it in the source of its class, or of a base."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base is not Data and issubclass(base, Data):
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            for field, after in pairwise(getattr(body, "body", ())):
                match field, after:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(docstring))),
                    ):
                        found[name] = inspect.cleandoc(docstring)
    return found
