"""Reading a plan from YAML, strictly, each mistake told in one line."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sizing.errors import PlanError, explain
from sizing.plan.plan import Plan


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


def load_plan(path: Path | None, *, changes: Mapping[str, Any] | None = None) -> Plan:
    """Read a plan file; without one every default is assumed.

    changes: settings by key, as "model.params", in place of the file's.

    Raises:
        PlanError: the file cannot be read, is not YAML, or says something unknown or impossible.
    """
    if path is None:
        return parse_plan("", where="plan", changes=changes)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as e:
        raise PlanError(f"{path}: cannot read the plan ({e.strerror})") from e
    except UnicodeDecodeError as e:
        raise PlanError(f"{path}: not UTF-8 text ({e.reason} at byte {e.start})") from e
    return parse_plan(text, where=str(path), changes=changes)


def parse_plan(text: str, *, where: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """A plan from YAML text; an empty one is all defaults.

    Raises:
        PlanError: as `load_plan`; the message starts with `where`.
    """
    try:
        data = parse_yaml(text)
    except yaml.YAMLError as e:
        raise PlanError(f"{where}: not YAML: {' '.join(str(e).split())}") from e
    except PlanError as e:
        raise PlanError(f"{where}: {e}") from e
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise PlanError(f"{where}: a plan is a mapping of settings, got {type(data).__name__}")
    for key, value in (changes or {}).items():
        data = changed(data, key, value)
    try:
        return Plan.model_validate(data)
    except ValidationError as e:
        raise PlanError(f"{where}: {explain(e, Plan)}") from e


def parse_yaml(text: str) -> Any:
    """Plain data from YAML; a key that stands twice is refused.

    Raises:
        yaml.YAMLError: it is not YAML.
        PlanError: a key stands twice.
    """
    return yaml.load(text, Loader=StrictLoader)  # a SafeLoader: makes plain data only


def changed(data: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """`data` with the setting `key`, as "sources.web.tokens", put in place of what stands there.

    Raises:
        PlanError: the key goes through something that holds no settings.

    >>> changed({"model": {"params": 1}, "cluster": {}}, "model.params", 2)
    {'model': {'params': 2}, 'cluster': {}}
    """
    first, _, rest = key.partition(".")
    if not rest:
        return {**data, first: value}
    below = data.get(first, {})
    if isinstance(below, list):
        name, _, last = rest.partition(".")
        if not any(isinstance(part, Mapping) and part.get("name") == name for part in below):
            raise PlanError(f"{key}: {first} has none of the name {name!r}")
        parts = [
            changed(part, last, value)
            if isinstance(part, Mapping) and part.get("name") == name
            else part
            for part in below
        ]
        return {**data, first: parts}
    if not isinstance(below, Mapping):
        raise PlanError(f"{key}: {first} is {below!r}, not settings as {{key: value}}")
    return {**data, first: changed(below, rest, value)}
