"""Data that are taken as they are written, or refused.

YAML says each thing once, of plans, and of recipes, which need nothing else of a plan.
"""

from collections.abc import Hashable
from typing import Any, ClassVar

import yaml
from pydantic import BaseModel, ConfigDict

from tokenmill.sizing.errors import PlanError


class Strict(BaseModel):
    """Unknown keys are refused, numbers are not guessed from other types, nothing changes."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False
    )


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                line = key_node.start_mark.line + 1
                raise PlanError(f"key {key!r} stands twice, again in line {line}")
            if isinstance(key, Hashable):  # what is not, the loader itself refuses
                seen.add(key)
        return super().construct_mapping(node, deep)
