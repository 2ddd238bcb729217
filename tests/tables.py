"""Tables of the pages that say what the code says: steps, keys, commands, formats. Run: make pages

A page has each of its tables between two lines, which name it:

    <!-- make pages: keys of a plan -->
    …
    <!-- end -->

Meanings come from docstrings, of which a line "key, other_key: meaning" tells of settings.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tests.pages import FIRST, ROOMS, ROOT
from tokenmill.flows.cli import COMMANDS, parser
from tokenmill.flows.commands.steps import summary
from tokenmill.pipelines.core.config import SETTINGS, Bytes, told
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.shard import FORMATS
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import SHIPPED, Recipe
from tokenmill.pipelines.read import readers
from tokenmill.pipelines.tokens.export import exported
from tokenmill.sizing.corpus import Estimate
from tokenmill.sizing.plan.fields import Assumed
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.units import (
    format_bytes,
    format_count,
    format_memory,
    format_quantity,
    parse_bytes,
)

MARKED = re.compile(r"(<!-- make pages: (.+) -->\n)((?:(?!<!--).*\n)*)(<!-- end -->)")
CHOICE = re.compile(r'"(\w+)": ')
OURS = "tokenmill.pipelines"  # what plug-ins register stands on no page
Rows = Iterable[Sequence[str]]


def rendered(page: str) -> str:
    """The text of a page with each of its tables as the code has it.

    Raises:
        KeyError: there is no table of such a name.
    """
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[4]}", page)


def table(head: Sequence[str], rows: Rows) -> str:
    cells = [list(head), ["---"] * len(head), *([_cell(c) for c in row] for row in rows)]
    return "".join("|".join(["", *(f" {c} " if c else " " for c in row), "\n"]) for row in cells)


def _cell(text: str) -> str:
    """As Markdown has it in a table, and as YAML calls nothing."""
    return re.sub(r"`?\bNone\b`?", "`null`", " ".join(text.split())).replace("|", "\\|")


def code(*names: str) -> str:
    return " ".join(f"`{name}`" for name in names)


def _ended(text: str) -> str:
    """Without its full stop."""
    return text.rstrip(". ")


def first_paragraph(thing: Any) -> str:
    """Of its own docstring, not of what it is made from."""
    return inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0]


def steps(room: str) -> str:
    own = [(code(n), summary(s)) for n, s in STEPS.items() if room_of(s) == room]
    return table(("step", "does"), own)


def room_of(step: type) -> str:
    """The page of a step: the room of its module, "" for a plug-in's."""
    above, _, below = step.__module__.partition(f"{OURS}.")
    return "" if above else below.split(".")[0]


def commands() -> str:
    (every,) = (action for action in parser()._actions if action.dest == "command")
    rows = [(code(f"tokenmill {n}{_needs(c)}"), COMMANDS[n]) for n, c in every.choices.items()]
    return table(("command", "does"), rows)


def _needs(command: Any) -> str:
    """What must be given to a command, and what may stand without the name of an option."""
    words = ""
    for action in command._actions:
        name = action.metavar or action.dest.upper()
        shown = f"{name} …" if action.nargs == "+" else f"[{name}]" if action.nargs == "?" else name
        if action.required or not action.option_strings:
            words += " ".join(["", *action.option_strings[-1:], shown])
    return words


def formats() -> str:
    ours = [r for r in FORMATS.values() if r.read.__module__.startswith(OURS)]
    rows = [(code(r.name), _files(r), _read_as(r)) for r in ours]
    return table(("format", "files", "read as"), rows)


def _files(reader: readers.Reader) -> str:
    """Endings of names, those of packed files apart, and what a recipe must say."""
    plain = [e for e in reader.endings if not any(_packs(e, o) for o in reader.endings)]
    packed = dict.fromkeys(e.removeprefix(o) for e in reader.endings for o in plain if _packs(e, o))
    packed |= dict.fromkeys(reader.compressions)
    words = code(*plain) + (f", also {code(*packed)}" if packed else "")
    if any(readers.reader_of(f"file{ending}") is not reader for ending in plain):
        words += f"; where `format: {reader.name}` says so"
    elif reader.any_name:
        words += f"; with `format: {reader.name}` any name"
    return words + (f"; with `{reader.section}` in the recipe" if reader.section else "")


def _packs(ending: str, other: str) -> bool:
    return ending != other and ending.startswith(f"{other}.")


def _read_as(reader: readers.Reader) -> str:
    """What the module of a format says first; of one that is imported late, its function."""
    module = importlib.import_module(reader.read.__module__)
    return _ended(first_paragraph(reader.read if module is readers else module))


def recipes() -> str:
    rows = [_recipe(path) for path in sorted(SHIPPED.glob("*.yaml"))]
    return table(("recipe", "follows", "its steps", "bring along"), rows)


def _recipe(path: Path) -> Sequence[str]:
    text = path.read_text(encoding="utf-8")
    header = "\n".join(line[2:] for line in text.split("\nname:")[0].splitlines())
    follows = re.split(r"\.(?:\s+(?=[A-Z`])|$)", header.split("\n\n")[0])[0]
    along = re.search(r"^bring along: ((?:.+\n?)+)", header, re.MULTILINE)
    names = [n for step in yaml.safe_load(text)["steps"] for n in step]
    return code(path.stem), follows, code(*names), along[1] if along else ""


def exports() -> str:
    package = exported.__name__.rpartition(".")[0]
    modules = [importlib.import_module(f"{package}.{name}") for name in exported.FORMATS]
    rows = zip(map(code, exported.FORMATS), map(first_paragraph, modules), strict=True)
    return table(("format", "what is written, and who opens it"), rows)


def runners() -> str:
    parts = CHOICE.split(meaning(RunOptions, "runner"))[1:]
    does = dict(zip(parts[::2], parts[1::2], strict=True))
    wanted = get_args(RunOptions.model_fields["runner"].annotation)
    if tuple(does) != wanted:
        raise ValueError(f"RunOptions tells of runners {tuple(does)}, and there are {wanted}")
    return table(("runner", "works are done"), [(code(n), _ended(does[n])) for n in wanted])


def keys(
    model: type[BaseModel],
    prefix: str = "",
    *,
    units: bool = False,
    but: Collection[str] = (),
    deep: bool = True,
    told: Collection[type[BaseModel]] = (),
) -> Iterator[Sequence[str]]:
    """A row for each setting of a model and of its sections; those told of together share one.

    units: a column for them, as plans have them.  but: settings left out.
    deep: with those of sections.  told: sections whose keys are told elsewhere.

    Raises:
        ValueError: a docstring says nothing of a setting.
    """
    names = [name for name in model.model_fields if name not in but]
    for means, together in groupby(names, lambda name: meaning(model, name)):
        fields = {name: model.model_fields[name] for name in together}
        if means:
            names_of = code(*(prefix + name for name in fields))
            unit = [_once(u.unit for f in fields.values() if (u := _assumed(f)))] if units else []
            default = _once(_default(field) for field in fields.values())
            yield names_of, *unit, default, _ended(CHOICE.split(means)[0])
        for name, field in fields.items():
            if deep and (below := section(field.annotation)) and below not in told:
                made_from = _sections(model) & set(below.__mro__[1:])
                shown = {key for of in made_from for key in of.model_fields}
                yield from keys(
                    below, f"{prefix}{name}.", units=units, but=shown, told=_sections(model)
                )


def _once(texts: Iterable[str]) -> str:
    each = list(texts)
    return each[0] if len(set(each)) == 1 else " · ".join(each)


def _sections(model: type[BaseModel]) -> set[type[BaseModel]]:
    return {below for f in model.model_fields.values() if (below := section(f.annotation))}


def section(annotation: Any) -> type[BaseModel] | None:
    """The model that a setting is of, or may be, or is a list of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(section, get_args(annotation))), None)


def _default(field: FieldInfo) -> str:
    """As one writes it; what is taken in place of it, where a plan says that."""
    value = field.get_default(call_default_factory=True)
    assumed = _assumed(field)
    if value is PydanticUndefined:
        return "needed"
    if others := [choice for choice in _choices(field.annotation) if choice != value]:
        return f"{code(_yaml(value))}, or {code(*(choice or _yaml(choice) for choice in others))}"
    if isinstance(value, BaseModel):
        return ""
    if assumed and value in (None, ()):
        return assumed.source
    if isinstance(value, int | float) and not isinstance(value, bool):
        in_bytes = get_args(Bytes)[1] in field.metadata
        return _number(value, assumed.unit if assumed else "bytes" if in_bytes else "")
    return code(_yaml(value))


def _assumed(field: FieldInfo) -> Assumed | None:
    return next((mark for mark in field.metadata if isinstance(mark, Assumed)), None)


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [choice for choice in get_args(annotation) if isinstance(choice, str)]
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _yaml(value: Any) -> str:
    written = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return written.removesuffix("...\n").strip()


def _number(value: float, unit: str) -> str:
    if unit == "bytes":
        binary = format_memory(value)
        return binary if parse_bytes(binary) == value else format_bytes(value)
    if unit in ("fraction", "bytes/s", "bits/s"):
        return format_quantity(value, unit)
    return format_count(value) if value >= 10**9 else f"{value:,.10g}"


def meaning(model: type[BaseModel], key: str) -> str:
    """What a model's docstring, or that of one it is made from, says of a setting.

    Of a section it may be what that says of itself, or nothing.

    Raises:
        ValueError: nothing is said.
    """
    for of in model.__mro__:
        found = [text for names, text in told(of) if any(fnmatchcase(key, n) for n in names)]
        if found:
            return "; ".join(map(_ended, found))
    below = section(model.model_fields[key].annotation)
    if below is None:
        raise ValueError(f"the docstring of {model.__name__} does not tell of {key!r}; add a line")
    said = _ended(first_paragraph(below))
    return "" if SETTINGS.match(said) else said[:1].lower() + said[1:]


KEYS = ("key", "default", "what it is")
TABLES: dict[str, Callable[[], str]] = {
    "commands": commands,
    **{f"steps of {room}": partial(steps, room) for room in map(room_of, STEPS.values()) if room},
    "formats": formats,
    "recipes": recipes,
    "keys of a recipe": lambda: table(KEYS, keys(Recipe, but={"run"})),
    "keys of an estimate": lambda: table(
        ("estimate.json", "what it is"), [(k, m) for k, _, m in keys(Estimate, deep=False)]
    ),
    "exports": exports,
    "runners": runners,
    "keys of run": lambda: table(KEYS, keys(RunOptions, "run.")),
    "keys of a plan": lambda: table(("key", "unit", *KEYS[1:]), keys(Plan, units=True)),
}


def main() -> None:
    for page in (FIRST, *ROOMS):
        text = page.read_text(encoding="utf-8")
        if rendered(text) != text:
            page.write_text(rendered(text), encoding="utf-8")
            sys.stderr.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
