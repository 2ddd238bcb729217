"""Parameters of flows as their types say, each mistake in one line, as in a recipe."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pydantic import ValidationError, create_model

from tokenmill.pipelines.core.config import Config, explain


def checked(function: Callable[..., Any], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The parameters of a function, made into what its annotations say.

    where: what a message begins with.

    Raises:
        ConfigError: one is missing, unknown or wrong.
    """
    taken = inspect.signature(function).parameters
    empty = inspect.Parameter.empty
    fields: dict[str, Any] = {
        name: (p.annotation, ... if p.default is empty else p.default) for name, p in taken.items()
    }
    model = create_model("Parameters", __base__=Config, **fields)
    try:
        return dict(model.model_validate(dict(values)))
    except ValidationError as e:
        known = {"": list(taken)}
        for name, (annotation, _) in fields.items():
            known |= _keys(name, annotation)
        raise explain(e, where, known) from e


def _keys(place: str, annotation: Any) -> dict[str, list[str]]:
    """The keys that a parameter takes, and those of its sections."""
    found: dict[str, list[str]] = {}
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Config):
            found[place] = list(kind.model_fields)
            for name, field in kind.model_fields.items():
                found |= _keys(f"{place}.{name}", field.annotation)
    return found
