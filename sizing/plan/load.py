"""Reading a plan from YAML, strictly, each mistake told in one line."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tokenmill.sizing.errors import PlanError, explain
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.roots import held
from tokenmill.sizing.strict import parse_yaml
from tokenmill.sizing.tables import ACCELERATORS, OF_THE_PLAN, TIERS, Row

# sections of a plan that add rows to a table, and where the table's own are found
_TABLES: Mapping[str, Callable[[str], Row]] = {
    "tiers": TIERS.find,
    "accelerators": ACCELERATORS.find,
}


def load_plan(path: Path | None, *, changes: Mapping[str, Any] | None = None) -> Plan:
    """Read a plan file; without one every default is assumed.

    changes: settings by key, as "model.params", in place of the file's.
    PlanError: the file cannot be read, is not YAML, or says something unknown or impossible.
    """
    if path is None:
        return parse_plan("", where="plan", changes=changes)
    try:
        with held(path) as name:
            text = Path(name).read_text(encoding="utf-8")
    except OSError as e:
        raise PlanError(f"{path}: cannot read the plan ({e.strerror})") from e
    except UnicodeDecodeError as e:
        raise PlanError(f"{path}: not UTF-8 text ({e.reason} at byte {e.start})") from e
    return parse_plan(text, where=str(path), changes=changes)


def parse_plan(text: str, *, where: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """A plan from YAML text, all defaults if empty; PlanError as `load_plan`, of `where`."""
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


def changed(data: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """`data` with the setting `key`, as "sources.web.tokens", put in place of what stands there.

    A row that the plan does not give, as "tiers.S3.prefix_get_per_s", is taken from the table.
    PlanError: the key goes through something that holds no settings.

    >>> changed({"model": {"params": 1}, "cluster": {}}, "model.params", 2)
    {'model': {'params': 2}, 'cluster': {}}
    """
    first, _, rest = key.partition(".")
    if not rest:
        return {**data, first: value}
    below = data.get(first, [] if first in _TABLES else {})
    if isinstance(below, list):
        return {**data, first: _changed_rows(below, key, value)}
    if not isinstance(below, Mapping):
        raise PlanError(f"{key}: {first} is {below!r}, not settings as {{key: value}}")
    return {**data, first: changed(below, rest, value)}


def _changed_rows(rows: Sequence[Any], key: str, value: Any) -> list[Any]:
    """`rows` with a setting of the one that `key` names; names may have dots in them."""
    of, _, rest = key.partition(".")
    for at, row in enumerate(rows):
        name = row.get("name") if isinstance(row, Mapping) else None
        if name is not None and rest.startswith(f"{name}."):
            setting = rest.removeprefix(f"{name}.")
            return [*rows[:at], changed(row, setting, value), *rows[at + 1 :]]
    name, _, column = rest.rpartition(".")
    if of not in _TABLES:
        raise PlanError(f"{key}: {of} has none of the name {name!r}")
    try:
        row = _TABLES[of](name)
    except PlanError as e:
        raise PlanError(f"{key}: {e}") from e
    return [*rows, _restated(row, column, value)]


def _restated(row: Row, column: str, value: Any) -> dict[str, Any]:
    """A row of a table as a plan gives one, with another value in one column."""
    cells = row.model_dump(exclude_unset=True)
    sources = {**row.sources, column: OF_THE_PLAN} if column in row.columns() else row.sources
    unverified = [name for name in row.unverified if name != column]
    return {**cells, column: value, "sources": sources, "unverified": unverified}
