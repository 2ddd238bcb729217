"""Reading a plan from YAML, strictly, each mistake told in one line."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sizing.errors import PlanError, explain
from sizing.plan import Plan, known_keys


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


def load_plan(path: Path | None) -> Plan:
    """Read a plan file; without one every default is assumed.

    Raises:
        PlanError: the file cannot be read, is not YAML, or says something unknown or impossible.
    """
    if path is None:
        return Plan()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as e:
        raise PlanError(f"{path}: cannot read the plan ({e.strerror})") from e
    except UnicodeDecodeError as e:
        raise PlanError(f"{path}: not UTF-8 text ({e.reason} at byte {e.start})") from e
    return parse_plan(text, where=str(path))


def parse_plan(text: str, *, where: str) -> Plan:
    """A plan from YAML text; an empty one is all defaults.

    Raises:
        PlanError: as `load_plan`; the message starts with `where`.
    """
    try:
        data = yaml.load(text, Loader=StrictLoader)  # a SafeLoader: makes plain data only
    except yaml.YAMLError as e:
        raise PlanError(f"{where}: not YAML: {' '.join(str(e).split())}") from e
    except PlanError as e:
        raise PlanError(f"{where}: {e}") from e
    if data is None:
        return Plan()
    if not isinstance(data, dict):
        raise PlanError(f"{where}: a plan is a mapping of settings, got {type(data).__name__}")
    try:
        return Plan.model_validate(data)
    except ValidationError as e:
        raise PlanError(f"{where}: {explain(e, known_keys)}") from e
