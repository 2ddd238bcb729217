"""Plug-ins: modules of others that add formats and steps to those of tokenmill.

    TOKENMILL_PLUGINS=my_formats,my_steps  ──►  import my_formats  ──►  register(…)  ──►  Registry

Whoever starts a process names the modules in its environment, as they name TOKENMILL_ROOTS. Every
process imports them before it looks up a name: children inherit the variable, `sbatch` passes it
on, and a worker of a Dask cluster that was started without it is refused (`runs.bundle`).

A recipe names what was registered and never a module: it cannot make a machine run other code
than the code that its owner chose.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Generic, TypeVar

from tokenmill.pipelines.core.errors import ConfigError

VARIABLE = "TOKENMILL_PLUGINS"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
T = TypeVar("T")


class PluginError(ConfigError):
    """A plug-in cannot be imported, wherever a look at a name asked for it."""


class Registry(Mapping[str, T], Generic[T]):
    """Things by the names that recipes give them: our own first, then those of plug-ins.

    kind: what they are, for messages.
    own: modules that register ours, or offer them. They are imported at the first look, as plug-ins
        are, so that no look depends on what was imported before.
    """

    def __init__(self, kind: str, own: Sequence[str] = ()) -> None:
        self.kind = kind
        self._own = tuple(own)
        self._offered: Mapping[str, str] = {}
        self._things: dict[str, T] = {}

    def offer(self, things: Mapping[str, str]) -> None:
        """Name things ("module:thing") at no cost: each is imported when it is looked up."""
        self._offered = things

    def register(self, name: str, thing: T) -> None:
        """Give a thing its name, for good; ConfigError where it is no name, or another thing's."""
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{self.kind} {name!r}: a name is of letters a-z, digits and _, as 'my_{self.kind}'"
            )
        own = self._offer(name) if name in self._offered else thing
        if own is not thing or self._things.setdefault(name, thing) is not thing:
            raise ConfigError(
                f"{self.kind} {name!r} is registered twice; give the one of {VARIABLE}"
                f" ({', '.join(plugin_names()) or 'empty'}) another name"
            )

    def __getitem__(self, name: str) -> T:
        self._ask()
        return self._things[name] if name in self._things else self._offer(name)

    def __contains__(self, name: object) -> bool:
        self._ask()
        return name in self._offered or name in self._things

    def __iter__(self) -> Iterator[str]:
        self._ask()
        return iter({**self._offered, **self._things})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _offer(self, name: str) -> T:
        module, _, thing = self._offered[name].partition(":")
        found: T = getattr(import_module(module), thing)
        return found

    def _ask(self) -> None:
        """Import what registers and offers."""
        for name in self._own:
            import_module(name)
        plugins()


def plugin_names() -> list[str]:
    """The modules that the environment names, in its order."""
    return [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]


def plugins() -> list[ModuleType]:
    """The plug-ins, imported; PluginError where one is not there, or raises something."""
    return [_imported(name) for name in plugin_names()]


def plugin_versions() -> dict[str, str]:
    """For each plug-in the digest of its source, so that two processes can be compared."""
    return {f"plug-in {module.__name__}": _source_digest(module) for module in plugins()}


def place_of(error: BaseException) -> str:
    """Where a plug-in raised or passed it on, as "my_steps.py:9"; "" where none had part in it."""
    own = {name.partition(".")[0] for name in plugin_names()}
    places = [
        f"{Path(frame.f_code.co_filename).name}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] in own
    ]
    return places[-1] if places else ""


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as e:
        there = place_of(e)
        if isinstance(e, SyntaxError):
            there = Path(e.filename or name).name + (f":{e.lineno}" if e.lineno else "")
        said = (str(e).splitlines() or [""])[0]
        if not there:  # it was not found, or is no name, as ".a", "a..b"
            raise PluginError(
                f"{VARIABLE}: cannot import {name!r} ({said}); install it or add its folder to"
                " PYTHONPATH"
            ) from e
        kind = "" if isinstance(e, ConfigError) else f"{type(e).__name__}: "
        raise PluginError(f"{VARIABLE}: {name}: {there}: {kind}{said}") from e


def _source_digest(module: ModuleType) -> str:
    """Of its file; of a package all the Python files in its folder."""
    file = getattr(module, "__file__", None)
    path = Path(file) if file else None
    if path is None or not path.is_file():
        return "unknown"
    files = sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]
    digest = sha256()
    for one in files:
        digest.update(one.relative_to(path.parent).as_posix().encode() + b"\0" + one.read_bytes())
    return digest.hexdigest()[:16]
