"""`tokenmill steps`: the steps a recipe can name, what each takes, and what its sections take."""

import argparse
import inspect
import json
import re
from textwrap import fill
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tokenmill.flows.exits import OK
from tokenmill.flows.show import as_json, show, table
from tokenmill.pipelines.core.config import Config, told
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.plugins import VARIABLE
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.sizing.errors import meant


def run(args: argparse.Namespace) -> int:
    """List all steps, or show the settings of one."""
    if args.name is None:
        _show_all(as_data=args.json)
    else:
        _show_one(args.name, _step(args.name), as_data=args.json)
    return OK


def _step(name: str) -> type[Config]:
    """The step of a name, or the section of a recipe, as html."""
    of_recipe = sections()
    if name in STEPS:
        return STEPS[name]
    if name in of_recipe:
        return of_recipe[name]
    hint = meant(name, [*of_recipe, *STEPS], "names: tokenmill steps", most=3, cutoff=0.4)
    raise ConfigError(f"no step {name!r}; {hint}; one of your own: {VARIABLE} names its module")


def sections() -> dict[str, type[Config]]:
    """What a recipe has besides its steps, by its key."""
    return {
        name: kind
        for name, field in Recipe.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))
        if inspect.isclass(kind) and issubclass(kind, Config)
    }


def _show_all(*, as_data: bool) -> None:
    summaries = {name: summary(step) for name, step in STEPS.items()}
    if as_data:
        as_json(summaries)
        return
    listed = table("steps of a recipe", ("step", "does"), summaries.items())
    others = ", ".join(sections())
    show(listed, f"tokenmill steps NAME shows what one takes; so of other sections: {others}")


def _show_one(name: str, step: type[Config], *, as_data: bool) -> None:
    defaults = {key: _default(field) for key, field in step.model_fields.items()}
    if as_data:
        text = "\n\n".join((_doc(step), *_shared(step)))
        as_json({"step": name, "text": text, "defaults": defaults})
        return
    needed = {key for key, field in step.model_fields.items() if field.is_required()}
    rows = [
        (k, "needed" if k in needed else json.dumps(v, ensure_ascii=False))
        for k, v in defaults.items()
    ]
    show(name, _doc(step), *_shared(step), table("settings", ("setting", "default"), rows))


def summary(step: type[Config]) -> str:
    """What a step does, as its documentation begins."""
    return _doc(step).split("\n\n")[0].replace("\n", " ")


def _doc(step: type[Config]) -> str:
    return _as_yaml(inspect.cleandoc(step.__doc__ or ""))


def _as_yaml(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text)


def _shared(step: type[Config]) -> list[str]:
    """What is to be said of settings that it has in common with other steps."""
    doc = _doc(step)
    said = [(", ".join(names), text) for names, text in told(step)]
    return [
        fill(f"{names}: {_as_yaml(text)}", 96) for names, text in said if f"{names}: " not in doc
    ]


def _default(field: FieldInfo) -> Any:
    """The value that is taken if none is given, as JSON; None of a setting that must be given."""
    value = field.get_default(call_default_factory=True)
    return None if value is PydanticUndefined else TypeAdapter(Any).dump_python(value, mode="json")
