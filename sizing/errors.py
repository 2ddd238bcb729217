"""What can be wrong with what sizing is given, and how it is told."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_SHAPES = {"Figure": "a number or {value: …, low: …, high: …}"}  # of a model, how it is written


class PlanError(ValueError):
    """The plan, or the corpus it is for, is wrong: the user's mistake, told in one line."""


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Pydantic's first complaint about data for `model` as place, value and way out."""
    first = error.errors(include_url=False)[0]
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        *place, key = first["loc"]
        keys = keys_at(model, place)
        near = get_close_matches(str(key), keys, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(keys)}"
        return f"{_at(place)}unknown key {key!r}; {hint}"
    if first["type"] == "value_error":  # ours: it names its value
        return f"{_at(first['loc'])}{first['ctx']['error']}"
    if first["type"].startswith("missing"):
        return f"{_at(first['loc'])}missing"
    if first["type"] == "model_type":
        shape = _SHAPES.get(first["ctx"]["class_name"], "settings as {key: value}")
        return f"{_at(first['loc'])}expected {shape}, got {first['input']!r}"
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{_at(first['loc'])}{message}, got {first['input']!r}"


def keys_at(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """The keys that a model takes at `place`: () for the top, ("cluster",) for a part of it."""
    for step in place:
        if step in model.model_fields:  # else the step is an index, or the key of a mapping
            model = next(_models(model.model_fields[str(step)].annotation), model)
    return list(model.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models named in an annotation, as one is in `list[Source] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _at(place: Sequence[str | int]) -> str:
    return ".".join(str(p) for p in place) + ": " if place else ""
