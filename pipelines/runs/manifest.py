"""The manifest: what a run directory is, written first; and what was done in it, written last.

    identities of two runs ── differences ──► settings that differ, files that changed: a line each

A run directory belongs to one recipe over one set of inputs. Whoever comes back with another is
refused and shown the differences, in the words of the command line, so that old and new files never
mix. What only follows from another difference (the cut into shards, from the files) is left out.

One process at a time holds a run directory (`held`). It must not lie where a run reads: it would be
taken for input (`check_apart`).
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, check_links, is_remote
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.runs.collected import run_names
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import PARTIAL, json_text, sweep_partials
from tokenmill.pipelines.storage.inputs import OutageError
from tokenmill.pipelines.storage.mirror import CACHE_BYTES, alone, mirrored, top_names
from tokenmill.sizing.roots import held as held_by_name
from tokenmill.sizing.strict import parse_json

DifferentPlace: TypeAlias = tuple[str, ...]  # keys from the top of an identity to a value
Values: TypeAlias = tuple[Any, Any]  # there and here

FILES = ("inputs", "benchmarks")  # path -> size and version
FAILED = "failed_inputs"  # those with damage that was met while the inputs were cut, and its cause
FOLLOWING = ("shards", FAILED, "tokenizer")  # from files and settings, if these differ
AGAINST = "against"  # earlier runs, told by what they hold
FOLLOWS = {"source": "path", "join": "text", "short_threshold": "threshold"}  # from one beside it
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
    was, now = there.get(FAILED) or {}, here.get(FAILED) or {}
    worse = [f"{path} is damaged now ({now[path]})" for path in sorted(now.keys() - was)]
    following = [key for key in FOLLOWING if there.get(key) != here.get(key)]
    return lines or worse or [f"{key} differs" for key in following]


def _leaves(there: Any, here: Any, at: DifferentPlace) -> Iterator[tuple[DifferentPlace, Values]]:
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


def _settings(found: Mapping[DifferentPlace, Values], words: Mapping[str, str]) -> Iterator[str]:
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
    """Files that are not what they were; named: whether settings tell why already."""
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


LAYOUT = 2  # of a run directory: raise it when what an earlier version left cannot be read any more
# running: not at its end yet; partial: at its end, but shards failed, to be tried again
RUNNING, PARTIAL_RUN, COMPLETE = "running", "partial", "complete"
LEFT = frozenset({".lock", "estimate.json", "slurm-logs"})  # in a folder that is as good as empty
BEGUN = (f"manifest.json{PARTIAL}", ".probe-")  # what else may be left, by how its name begins
SHOWN = 3  # differences listed in a refusal
# a disk that is full or read-only stays so for every other shard: stop at once
HOPELESS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


def open_run(
    out: Path, identity: dict[str, Any], words: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Begin a run in `out`, or continue the one that is there; return its identity's digest.

    identity: all that decides the output, as JSON.
    words: what the command line calls its settings; see `differences`.
    ConfigError: `out` holds a run of other settings, inputs or version, or other files,
        or cannot be written.
    """
    found = read_manifest(out)
    if found is None:
        write_manifest(out, {"status": RUNNING, "identity": identity})
    else:
        told = differences(found["identity"], identity, words)
        healed = bool(told) and _healed(found["identity"], identity)
        if told and not healed:
            raise ConfigError(
                f"{out}: made by another run: {'; '.join(told[:SHOWN])}"
                f"{f' and {len(told) - SHOWN} more' if len(told) > SHOWN else ''};"
                " choose another --out, or delete this one"
            )
        check_layout(out, found)
        if healed:
            mirror.remove_folders(out, "receipts")
            write_manifest(out, {"status": RUNNING, "identity": identity})
    return digest_of([json.dumps(identity, sort_keys=True)])


def _healed(there: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
    """Whether all that differs comes of files with which planning met damage there, and not here.

    Then the run begins anew in its directory: what it made is of another cut.
    """
    healed = there.get(FAILED, {}).keys() - here.get(FAILED, {}).keys()
    rest = [
        {
            **{k: v for k, v in of.items() if k != "shards"},
            "inputs": {k: v for k, v in of.get("inputs", {}).items() if k not in healed},
            FAILED: {k: v for k, v in of.get(FAILED, {}).items() if k not in healed},
        }
        for of in (there, here)
    ]
    return bool(healed) and rest[0] == rest[1]


def read_manifest(out: Path) -> dict[str, Any] | None:
    """The manifest of a run directory, None without one; ConfigError where it is none."""
    path = out / "manifest.json"
    try:
        found = parse_json(mirror.read_text(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ConfigError, OutageError):
        raise
    except (OSError, ValueError) as e:
        raise ConfigError(f"{path}: cannot read the manifest ({e}); choose another --out") from e
    if not isinstance(found, dict) or "identity" not in found:
        raise ConfigError(f"{path}: not a manifest of this tool; choose another --out")
    return found


def write_manifest(out: Path, manifest: dict[str, Any]) -> None:
    """Write it; what a run is, it says from now on."""
    mirror.write_text(out / "manifest.json", json_text({"layout": LAYOUT, **manifest}))


def check_layout(where: Path | str, manifest: Mapping[str, Any]) -> None:
    """ConfigError, naming `where` and a way out, for a run whose receipts lie otherwise."""
    if manifest.get("layout") != LAYOUT:
        raise ConfigError(
            f"{where}: made by a version of tokenmill that keeps receipts otherwise (layout"
            f" {manifest.get('layout', 1)}, this one reads {LAYOUT}); make it again into another"
            " --out, or go on with that version"
        )


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the run directory, one run at a time; what killed runs left half-written is swept.

    ConfigError: held, unwritable, or not a run's.
    """
    check_links(out)
    if read_manifest(out) is None:
        _usable(out)
    with flocked(out, fcntl.LOCK_EX):
        sweep_partials(out)
        yield


def forget_unbegun(out: Path) -> None:
    """Delete the directory of a run of which nothing was done, unless something else is in it."""
    begun = {"manifest.json", ".lock", "standing.json", "planner.sh"}
    if not out.is_dir():
        return
    with contextlib.suppress(ConfigError, OSError), locked(out):
        if begun.issuperset(path.name for path in out.rglob("*") if not path.is_dir()):
            shutil.rmtree(out)


@contextlib.contextmanager
def flocked(out: Path, how: int) -> Iterator[None]:
    """Hold a folder, made if need be, for a block, LOCK_EX alone; ConfigError: held, unwritable."""
    try:
        with held_by_name(out, make=True) as folder:
            lock = os.open(f"{folder}/.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as e:
        raise cannot_write(out, e) from e
    try:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise ConfigError(
                f"{out}: another run is at work in it; wait for it, or choose another --out"
            ) from e
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def joined(
    out: Place, *, scratch: str | None = None, scratch_bytes: int = CACHE_BYTES
) -> Iterator[Path]:
    """Work on a run beside others that do, while no process drives it; none can before all left.

    On an object store nothing keeps one from it. Yields as `held`.
    ConfigError: a process drives the run.
    """
    if is_remote(out):
        with mirrored(str(out), scratch=scratch, most_bytes=scratch_bytes) as folder:
            yield folder
    else:
        folder = Path(out).absolute()
        with flocked(folder, fcntl.LOCK_SH):
            yield folder


@contextlib.contextmanager
def held(
    out: Place, *, scratch: str | None = None, scratch_bytes: int = CACHE_BYTES
) -> Iterator[Path]:
    """Hold the run directory as `locked` does; what its disk refuses is told in one line.

    Yields the run directory, absolute; of one on an object store, the folder that mirrors it.
    ConfigError: see `locked`; or a file could not be read or written.
    """
    with contextlib.ExitStack() as stack:
        if is_remote(out):
            mirroring = mirrored(str(out), scratch=scratch, most_bytes=scratch_bytes)
            folder = stack.enter_context(mirroring)
            stack.enter_context(_in_one_line(folder))
            stack.enter_context(_locked_there(folder))
        else:
            folder = Path(out).absolute()
            stack.enter_context(locked(Path(out)))
            stack.enter_context(_in_one_line(folder))
        yield folder


@contextlib.contextmanager
def _in_one_line(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        if e.errno in HOPELESS:
            raise cannot_write(out, e) from e
        raise ConfigError(f"{e}; the same command continues where this stopped") from e


@contextlib.contextmanager
def _locked_there(folder: Path) -> Iterator[None]:
    """Hold what a folder mirrors."""
    if read_manifest(folder) is None:
        _only_ours(folder, top_names(folder))
    with alone(folder):
        yield


def cannot_write(out: Path, error: OSError) -> ConfigError:
    """The one line for an output directory that is read-only, full or forbidden; see HOPELESS."""
    remote = mirror.remote_of(out)
    if remote is not None:
        return ConfigError(
            f"{out.parent.parent}: cannot hold files on their way to {remote}"
            f" ({error.strerror or error}); free space or name another folder as run.scratch,"
            " finished shards are kept"
        )
    return ConfigError(
        f"{out}: cannot write there ({error.strerror or error}); free space or choose another"
        " --out, finished shards are kept"
    )


def _usable(out: Path) -> None:
    try:
        found = sorted(p.name for p in out.iterdir()) if out.exists() else []
    except OSError as e:
        raise cannot_write(out, e) from e
    _only_ours(out, found)


def _only_ours(out: Path, found: list[str]) -> None:
    """Refuse a folder with other files than those a run leaves that was killed before its manifest
    was there; and its prediction.
    """
    others = [n for n in found if n not in LEFT and not n.startswith(BEGUN)]
    if others:
        raise ConfigError(
            f"{out}: not a run directory, but holds {', '.join(others[:SHOWN])};"
            " choose an empty or new one"
        )


MOST_PATHS = 3  # named in a message
TEXT = "text"  # folder of a run directory: the documents that it kept
READABLE = (TEXT, "webdataset")  # folders of a run that hold documents


def check_apart(inputs: Iterable[Input], out: Place) -> None:
    """ConfigError where `out` lies in a folder that is read, or below a pattern of any depth."""
    for given in inputs:
        if is_remote(given.path) or is_remote(out):
            _check_apart_there(given.path, out)
            continue
        fixed = given.path.split("*")[0]
        folder = Path(fixed if fixed.endswith("/") else os.path.dirname(fixed))
        root = Path(given.path) if os.path.isdir(given.path) else folder
        deep = os.path.isdir(given.path) or "**" in given.path
        # links and ".." resolved: what lies inside is read, whatever it is called
        if "://" not in given.path and deep and Path(out).resolve().is_relative_to(root.resolve()):
            raise _inside(out, given.path)


def _check_apart_there(given: str, out: Place) -> None:
    """As `check_apart` for what lies on an object store, where there are no links."""
    fixed, star, _ = given.partition("*")
    root = fixed[: fixed.rfind("/")] if star else given.rstrip("/")
    deep = not star or "**" in given
    if deep and f"{out}/".startswith(f"{root}/"):
        raise _inside(out, given)


def _inside(out: Place, given: str) -> ConfigError:
    return ConfigError(f"{out}: lies inside the input {given}; choose another --out")


def refuse_runs(inputs: Iterable[Input]) -> None:
    """Refuse a run, or a folder of one, as input, but for text and tars; ConfigError: way out."""
    for given in inputs:
        path = Path(given.path)
        if not path.is_dir():
            continue
        made = _run_in(path)
        if made is None and path.name not in READABLE:
            made = _run_in(path.parent, alone=True)
        if made is not None:
            raise ConfigError(f"{given.path}: {made}")


def _run_in(folder: Path, *, alone: bool = False) -> str | None:
    """What a folder holds that is a run's, or, but for `alone`, a collection's; else None."""
    try:
        names = None if alone else run_names(folder)
        if names is not None:
            return f"a collection of {len(names)} runs, holds tokens, not text; name their inputs"
        manifest = read_manifest(folder) or {}
        identity = manifest.get("identity")
    except ConfigError:  # a manifest of somebody else's
        return None
    if not isinstance(identity, dict):
        return None
    if "check" in identity:
        return "made by contamination, holds reports, not text; name the corpus"
    if "recipe" not in identity:
        return None
    if manifest.get("status") in (COMPLETE, PARTIAL_RUN) and (folder / TEXT).is_dir():
        way = f"{{path: {folder}, from: run}} in a recipe, elsewhere {folder} by itself, reads it"
        return f"of a run of prepare that kept its text; {way}"
    paths = [i["path"] for i in identity["recipe"]["inputs"]]
    more = f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else ""
    return (
        "a run of prepare, holds tokens, not text; get its text by `tokenmill export"
        f" {folder} --format jsonl --text --out FOLDER`, or name its inputs:"
        f" {', '.join(paths[:MOST_PATHS])}{more}"
    )
