"""What can be wrong with what sizing is given, and how it is told."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from pydantic import ValidationError


class PlanError(ValueError):
    """The plan, or the corpus it is for, is wrong: the user's mistake, told in one line."""


def explain(
    error: ValidationError, known_keys: Callable[[tuple[str | int, ...]], list[str]]
) -> str:
    """Pydantic's first complaint as place, value and way out.

    known_keys: the keys that are taken at a place: () for the top, ("cluster",) below it.
    """
    first = error.errors(include_url=False)[0]
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        *place, key = first["loc"]
        keys = known_keys(tuple(place))
        near = get_close_matches(str(key), keys, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(keys)}"
        return f"{_at(place)}unknown key {key!r}; {hint}"
    if first["type"] == "value_error":  # ours: it names its value
        return f"{_at(first['loc'])}{first['ctx']['error']}"
    if first["type"].startswith("missing"):
        return f"{_at(first['loc'])}missing"
    if first["type"] == "model_type":
        return f"{_at(first['loc'])}expected settings as {{key: value}}, got {first['input']!r}"
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{_at(first['loc'])}{message}, got {first['input']!r}"


def _at(place: Sequence[str | int]) -> str:
    return ".".join(str(p) for p in place) + ": " if place else ""
