"""What can be wrong with what sizing is given, how it is told, and what may have been meant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

MOST_SHOWN, MOST_SAID = 200, 1000  # characters of a value, and of what is said of it
LEAST_ALIKE = 0.55  # of a key to one that stands there; storage is .53 like training
LEAST_PART = 2  # letters; one letter is part of almost every name
_SHAPES = {"Figure": "a number or {value: …, low: …, high: …}"}  # of a model, how it is written
_UNUSED = "scale_up_bytes_per_s"  # a key of former plans
# of text where no unit is read, as 30 days, or 1e9, which is text in YAML
_PLAIN = {
    "int_type": "; write a plain number, as 1500",
    "float_type": "; write a plain number, as 1500 or 0.5",
}
# what users write where a key stands, and the way out
_MEANT = (
    ({"async"}, "mode", "write mode: async"),
    ({"sync"}, "mode", "write mode: sync"),
    (
        {"nodes", "num_nodes", "gpus", "num_gpus", "accelerators"},
        "count",
        "write count: all accelerators of the job, which is nodes times accelerators of a node",
    ),
    ({"gpu", "gpu_type", "type"}, "accelerator", "write accelerator: its name"),
    ({"tier", "type", "tiers"}, "candidates", "write candidates: [its name]"),
    ({"bytes", "size", "capacity"}, "fill_frac", "how much to buy is what is computed"),
    ({"bytes", "size"}, "raw_bytes", "write raw_bytes: of its files, or tokens"),
    ({"size"}, "params", "write params: 8B"),
    ({"every"}, "interval_s", "write interval_s: 30 min"),
    ({"steps"}, "batch_tokens", "write tokens: steps times batch_tokens"),
    ({"tokens"}, "copies", "write training: {tokens: …}, or corpus: {tokens: …}"),
)
# of a tier's limits: the key's first word, and what it is of
_SCOPES = {
    "total": "all of it",
    "client": "one node's connection",
    "tib": "each TiB bought",
    "group": "each group_nodes nodes",
    "drive": "each drive",
    "prefix": "each prefix",
}


class PlanError(ValueError):
    """The plan, or the corpus it is for, is wrong: the user's mistake, told in one line."""


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Pydantic's first complaint about data for `model` as place, value and way out."""
    first = error.errors(include_url=False)[0]
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        *place, key = first["loc"]
        keys = keys_at(model, place)
        return f"{_at(place)}unknown key {key!r}; {_way_out(str(key), keys)}"
    if first["type"] == "value_error":  # ours: it names its value
        return f"{_at(first['loc'])}{str(first['ctx']['error'])[:MOST_SAID]}"
    if first["type"].startswith("missing"):
        return f"{_at(first['loc'])}missing"
    if first["input"] is None:
        return f"{_at(first['loc'])}nothing stands there; {_something(model, first['loc'])}"
    if first["type"] == "tuple_type":
        return (
            f"{_at(first['loc'])}expected {_list(model, first['loc'])}, got {_got(first['input'])}"
        )
    if first["type"] == "model_type":
        shape = _SHAPES.get(first["ctx"]["class_name"], "settings as {key: value}")
        return f"{_at(first['loc'])}expected {shape}, got {shown(first['input'])}"
    message = first["msg"][0].lower() + first["msg"][1:]
    is_text = isinstance(first["input"], str)
    way_out = _PLAIN.get(first["type"], "") if is_text else ""
    return f"{_at(first['loc'])}{message}, got {shown(first['input'])}{way_out}"


def shown(value: object) -> str:
    """A value as a message shows it, however long it is."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"


def _way_out(key: str, keys: Sequence[str]) -> str:
    """What to write in place of an unknown key."""
    if key == _UNUSED:
        return "no figure uses it; leave it out"
    for words, beside, way_out in _MEANT:
        if key in words and beside in keys:
            return way_out
    near = nearest(key.replace("bandwidth", "bytes_per_s"), keys, most=1, cutoff=LEAST_ALIKE)
    if not near:
        return f"known keys: {', '.join(keys)}"
    scope, _, limit = near[0].partition("_")
    if scope not in _SCOPES or key.startswith(f"{scope}_"):
        return f"did you mean {near[0]!r}?"
    # whose limit it is cannot be guessed, and is wrong by the number of nodes or TiB
    alike = [f"{s}_{limit} ({whose})" for s, whose in _SCOPES.items() if f"{s}_{limit}" in keys]
    return f"say whose it is: {', '.join(alike)}"


def _something(model: type[BaseModel], place: Sequence[str | int]) -> str:
    """What to write where a key has no value."""
    below = _model_at(model, place)
    if below is None:
        return "write a value, or leave the key out"
    if get_origin(_annotation(model, place)) is tuple:
        return f"write {_list(model, place)}, or leave the key out"
    return f"write settings below it, as {next(iter(below.model_fields))}: …, or leave the key out"


def _list(model: type[BaseModel], place: Sequence[str | int]) -> str:
    of_rows = _model_at(model, place) is not None
    return "a list of rows, each - name: …" if of_rows else "a list, as [A, B]"


def _got(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"settings with keys {', '.join(map(str, value))}"
    return repr(value)


def keys_at(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """The keys that a model takes at `place`: () for the top, ("cluster",) for a part of it."""
    return list(_part(model, place).model_fields)


def _part(model: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel]:
    """The model at `place` of a model."""
    for step in place:
        if step in model.model_fields:  # else the step is an index, or the key of a mapping
            model = next(_models(model.model_fields[str(step)].annotation), model)
    return model


def _annotation(model: type[BaseModel], place: Sequence[str | int]) -> Any:
    """The type of the setting at `place`; None where that is none."""
    *above, last = place or ("",)
    field = _part(model, above).model_fields.get(str(last))
    return None if field is None else field.annotation


def _model_at(model: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel] | None:
    """The model that a setting is of, or is a list of; None for another value."""
    return next(_models(_annotation(model, place)), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models named in an annotation, as one is in `list[Source] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _at(place: Sequence[str | int]) -> str:
    return ".".join(str(p) for p in place) + ": " if place else ""


def nearest(
    name: str, names: Iterable[str], *, most: int, cutoff: float = 0.5, part: float = 0.0
) -> list[str]:
    """At most `most` of `names`: those that contain what was written, else those spelled alike.

    Those that begin with it come first; otherwise the order of `names` is kept.
    part: the least share of a name that what was written is, where it is contained.

    >>> nearest("FSx", ["NFS", "FSx Lustre 125", "old FSx", "FSx Lustre 250"], most=3)
    ['FSx Lustre 125', 'FSx Lustre 250', 'old FSx']
    >>> nearest("NFSS", ["NFS", "FSx Lustre 125"], most=3)
    ['NFS']
    """
    known, written = {folded(n): n for n in reversed(list(names))}, folded(name)
    known = dict(reversed(known.items()))
    least = [key for key in known if len(written) >= max(LEAST_PART, part * len(key))]
    within = [key for key in least if written in key]
    within.sort(key=lambda key: not key.startswith(written))
    near = within or get_close_matches(written, known, n=most, cutoff=cutoff)
    return [known[key] for key in near[:most]]


def meant(
    name: str,
    names: Iterable[str],
    otherwise: str,
    *,
    most: int = 1,
    cutoff: float = 0.5,
    part: float = 0.0,
) -> str:
    """What a name that is none of `names` may stand for, as a hint; else what is said otherwise."""
    near = nearest(name, names, most=most, cutoff=cutoff, part=part)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else otherwise


@lru_cache(4096)
def folded(name: str) -> str:
    """A name without case, spaces and punctuation."""
    return "".join(c for c in name.lower() if c.isalnum())
