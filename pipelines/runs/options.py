"""Settings of a recipe that `--set` gives in place of what its file says."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError


def overridden(data: Mapping[str, Any], key: str, value: Any, *, where: str) -> dict[str, Any]:
    """Plain data of a recipe with another value for one setting.

    key: names with dots between, as "output.seq_len"; behind "steps" the name of a step, as
        "steps.near.verify".

    >>> overridden({"steps": ["exact", {"near": {"rows": 8}}]}, "steps.near.rows", 9, where="")
    {'steps': ['exact', {'near': {'rows': 9}}]}

    Raises:
        ConfigError: the recipe has no such step, or something that has no settings on the way.
    """
    return _set(data, key.split("."), value, where)


def _set(data: Mapping[str, Any], keys: list[str], value: Any, where: str) -> dict[str, Any]:
    head, *rest = keys
    if not rest:
        return {**data, head: value}
    inner = data.get(head) or {}
    if isinstance(inner, list | tuple) and head == "steps":
        return {**data, head: _set_step(inner, rest, value, where)}
    if not isinstance(inner, Mapping):
        raise ConfigError(f"{where}: --set cannot reach into {head!r}: it is not a mapping")
    return {**data, head: _set(inner, rest, value, where)}


def _set_step(steps: list[Any] | tuple[Any, ...], keys: list[str], value: Any, where: str) -> Any:
    """The steps, one of which has another setting, or others as a whole."""
    names = [str(next(iter(s)) if isinstance(s, Mapping) and s else s) for s in steps]
    name = keys[0]
    if name not in names:
        near = get_close_matches(name, [n for n in names if isinstance(n, str)], n=1)
        way = (
            f"did you mean {near[0]!r}?" if near else f"its steps are {', '.join(map(str, names))}"
        )
        raise ConfigError(f"{where}: --set names a step {name!r} that is not in the recipe; {way}")
    at = names.index(name)
    step = steps[at] if isinstance(steps[at], Mapping) else {name: {}}
    return [*steps[:at], _set(step, keys, value, where), *steps[at + 1 :]]
