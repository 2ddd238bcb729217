"""The manifest: what a run directory is, written first; and what was done in it, written last.

A run directory belongs to one recipe over one set of inputs. Coming back with another
is refused with the difference shown, so that old and new files never mix.
"""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tokenmill.pipelines import mirror
from tokenmill.pipelines.atomic import PARTIAL, json_text, sweep_partials
from tokenmill.pipelines.differences import differences
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.mirror_cache import CACHE_BYTES
from tokenmill.pipelines.mirrored import alone, mirrored, top_names
from tokenmill.pipelines.object_store_settings import is_remote
from tokenmill.pipelines.place import Place
from tokenmill.pipelines.receipt import digest_of
from tokenmill.pipelines.store import OutageError

# running: not at its end yet; partial: at its end, but shards failed, to be tried again
RUNNING, PARTIAL_RUN, COMPLETE = "running", "partial", "complete"
LEFT = frozenset({".lock", "estimate.json", "slurm-logs"})  # in a folder that is as good as empty
SHOWN = 3  # differences listed in a refusal
# a disk that is full or read-only stays so for every other shard: stop at once
HOPELESS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


def open_run(
    out: Path, identity: dict[str, Any], words: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Begin a run in `out`, or continue the one that is there; return its identity's digest.

    identity: all that decides the output, as JSON.
    words: what the command line calls its settings; see `differences`.

    Raises:
        ConfigError: `out` holds a run of other settings or inputs, or other files,
            or cannot be written.
    """
    found = read_manifest(out)
    if found is None:
        write_manifest(out, {"status": RUNNING, "identity": identity})
    else:
        told = differences(found["identity"], identity, words)
        if told:
            raise ConfigError(
                f"{out}: made by another run: {'; '.join(told[:SHOWN])}"
                f"{f' and {len(told) - SHOWN} more' if len(told) > SHOWN else ''};"
                " choose another --out, or delete this one"
            )
    return digest_of([json.dumps(identity, sort_keys=True)])


def read_manifest(out: Path) -> dict[str, Any] | None:
    """The manifest of a run directory; None where there is none.

    Raises:
        ConfigError: it is not a manifest.
    """
    path = out / "manifest.json"
    try:
        found = json.loads(mirror.read_text(path))
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
    mirror.write_text(out / "manifest.json", json_text(manifest))


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the run directory: one run at a time. What killed runs left half-written is swept.

    Raises:
        ConfigError: another run holds it, it cannot be written, or it holds other files.
    """
    if read_manifest(out) is None:
        _usable(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as e:
        raise cannot_write(out, e) from e
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise ConfigError(
                f"{out}: another run is at work in it; wait for it, or choose another --out"
            ) from e
        sweep_partials(out)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def held(
    out: Place, *, scratch: str | None = None, scratch_bytes: int = CACHE_BYTES
) -> Iterator[Path]:
    """Hold the run directory as `locked` does; what its disk refuses is told in one line.

    Returns:
        The run directory, absolute; of one on an object store, the folder that mirrors it.

    Raises:
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
    others = [n for n in found if n not in LEFT and not n.startswith(f"manifest.json{PARTIAL}")]
    if others:
        raise ConfigError(
            f"{out}: not a run directory, but holds {', '.join(others[:SHOWN])};"
            " choose an empty or new one"
        )
