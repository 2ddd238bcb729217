"""In what two runs differ, in the words of whoever started them.

identities of two runs --> settings that differ, files that changed --> a line of each

What only follows from another difference (the cut into shards, from the files) is left out.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Place: TypeAlias = tuple[str, ...]  # keys from the top of an identity to a value
Values: TypeAlias = tuple[Any, Any]  # there and here

FILES = ("inputs", "benchmarks")  # path -> size and version
FOLLOWING = ("shards", "failed_inputs", "tokenizer")  # from files and settings, if these differ
AGAINST = "against"  # earlier runs, told by what they hold
FOLLOWS = {"source": "path", "short_threshold": "threshold"}  # from one beside it
COMMANDS = {"check", "recipe", "measuring"}  # keys that tell which command made a run
MOST_CHARS = 60  # of a value


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], words: Mapping[str, str]
) -> list[str]:
    """A line for each difference of two identities.

    words: what the command line calls settings, by their places, as
        {"check.matching.ngram": "--ngram"}, a * for any number; others are called by their places.
    """
    if COMMANDS & there.keys() != COMMANDS & here.keys():
        return ["it was made by another command"]
    own = there.keys() | here.keys()
    found = {
        place: values
        for key in sorted(own - {*FILES, *FOLLOWING, AGAINST})
        for place, values in _leaves(there.get(key), here.get(key), (key,))
    }
    named = any(kind in place for place in found for kind in FILES)
    lines = [*_settings(found, words), *_files(there, here, named=named)]
    if there.get(AGAINST) != here.get(AGAINST):
        lines.append(f"it stood {_stood(there)}, now {_stood(here)}")
    following = [key for key in FOLLOWING if there.get(key) != here.get(key)]
    return lines or [f"{key} differs" for key in following]


def _leaves(there: Any, here: Any, at: Place) -> Iterator[tuple[Place, Values]]:
    """Places at which two values differ, with both."""
    kinds = {type(there), type(here)}
    if kinds <= {dict, type(None)} and there != here:
        a, b = there or {}, here or {}
        for key in sorted(a.keys() | b.keys()):
            yield from _leaves(a.get(key), b.get(key), (*at, key))
    elif kinds == {list} and len(there) == len(here):
        for i, (a, b) in enumerate(zip(there, here, strict=True)):
            yield from _leaves(a, b, (*at, str(i)))
    elif there != here:
        yield at, (there, here)


def _settings(found: Mapping[Place, Values], words: Mapping[str, str]) -> Iterator[str]:
    for place, (there, here) in found.items():
        *above, name = place
        if name in FOLLOWS and (*above, FOLLOWS[name]) in found:
            continue
        word = words.get(".".join("*" if key.isdigit() else key for key in place))
        if word is None:
            yield f"{'.'.join(place)} is {_short(there)} there, {_short(here)} here"
        else:
            yield f"{word} is {_plain(there)} there, {_plain(here)} here"


def _files(there: Mapping[str, Any], here: Mapping[str, Any], *, named: bool) -> list[str]:
    """Files that are not what they were.

    named: whether settings tell already why there are other files.
    """
    lines = []
    for kind in FILES:
        a, b = there.get(kind) or {}, here.get(kind) or {}
        lines += [
            f"{path} has changed since" for path in sorted(a.keys() & b) if a[path] != b[path]
        ]
        if not named:
            lines += [f"{path} is gone since" for path in sorted(a.keys() - b)]
            lines += [f"{path} is new since" for path in sorted(b.keys() - a)]
    return lines


def _stood(identity: Mapping[str, Any]) -> str:
    """Against which earlier runs, by their indexes.

    >>> _stood({"against": [{"index": "9f86d081884c7d65", "shards": 3}]}), _stood({})
    ('against earlier runs of index 9f86d081', 'against none')
    """
    indexes = ", ".join(run["index"][:8] for run in identity.get(AGAINST, ()))
    return f"against earlier runs of index {indexes}" if indexes else "against none"


def _plain(value: Any) -> str:
    """A value as a command line has it; of inputs and benchmarks their names."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return str(value.get("name") or value.get("path"))
    return ", ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 3]}…"
