"""Data that are taken as they are written, or refused; JSON too, where it has an end.

YAML says each thing once, of plans, and of recipes, which need nothing else of a plan.
"""

import datetime
import json
import math
from collections.abc import Hashable
from typing import Any, ClassVar

import yaml
from pydantic import BaseModel, ConfigDict

from tokenmill.sizing.errors import PlanError

MOST_DEEP = 50  # levels; a recipe has about ten
MOST_DIGITS = 400  # of a whole number; more is no figure of anything
MOST_VALUES = 1_000_000
MERGE = "tag:yaml.org,2002:merge"


class Strict(BaseModel):
    """Unknown keys are refused, numbers are not guessed from other types, nothing changes."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False
    )


class _StrictLoader(yaml.SafeLoader):
    """Makes plain data only; refuses what a recipe or plan has no use for, and which only harms."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self._depth == MOST_DEEP:
            raise PlanError(f"line {self.line + 1}: nested more than {MOST_DEEP} deep")
        self._depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """YAML would silently take the last of a key that stands twice."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == MERGE:
                line = key_node.start_mark.line + 1
                raise PlanError(f"line {line}: merge keys (<<) are not taken; write the settings")
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                line = key_node.start_mark.line + 1
                raise PlanError(f"key {key!r} stands twice, again in line {line}")
            if isinstance(key, Hashable):  # what is not, the loader itself refuses
                seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > MOST_DIGITS:
            line = node.start_mark.line + 1
            raise PlanError(f"line {line}: a number of {len(node.value):,} digits")
        return super().construct_yaml_int(node)

    def construct_yaml_timestamp(self, node: yaml.ScalarNode) -> datetime.date:
        try:
            return super().construct_yaml_timestamp(node)
        except (ValueError, OverflowError) as e:
            line = node.start_mark.line + 1
            raise PlanError(f"line {line}: {node.value} is no date ({e})") from None


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_yaml_int)
_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _StrictLoader.construct_yaml_timestamp)


def parse_yaml(text: str) -> Any:
    """Plain data from YAML, each value of which stands there itself.

    yaml.YAMLError: it is not YAML.
    PlanError: a key stands twice; or nesting, a number or what aliases repeat has no end.
    """
    loader = _StrictLoader(text)
    try:
        node = loader.get_single_node()
        if node is not None and _values(node, {}) > MOST_VALUES:
            raise PlanError(f"over {MOST_VALUES:,} values, as aliases (*name) repeat them")
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def parse_json(text: str | bytes) -> Any:
    """Data from JSON of any file; ValueError where it is none, or nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _values(node: yaml.Node, known: dict[int, float]) -> float:
    """Values below a node, those of an alias as often as it stands there."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf  # while it is counted: one that holds itself has no end
        parts = node.value
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in parts for part in pair]
        known[id(node)] = 1 + sum(_values(part, known) for part in parts)
    return known[id(node)]
