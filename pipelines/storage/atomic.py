"""Files that are whole or not there.

A file is written under its own temporary name, fsynced and renamed, so that no
reader ever sees half of it, two copies of a task can write the same file at once,
and a full disk or a kill leaves nothing behind but a `.partial-*` to sweep away.
"""

import contextlib
import json
import os
import re
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tokenmill.sizing.roots import held

PARTIAL = ".partial-"
OURS = re.compile(re.escape(PARTIAL) + "[0-9a-f]{32}$")
_DURABLE: ContextVar[bool] = ContextVar("durable", default=True)


@contextlib.contextmanager
def writing(*, durable: bool) -> Iterator[None]:
    """Write files within; durable: only a file that would survive a power cut counts as written.

    Of what is made again in minutes, it is not worth the wait: a file that such a cut emptied is
    not of the size that its receipt tells.
    """
    token = _DURABLE.set(durable)
    try:
        yield
    finally:
        _DURABLE.reset(token)


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write; on leaving without an error it becomes `path`.

    OSError: the file could not be written whole; nothing is left under either name.
    """
    with held(path.parent, make=True) as folder:
        partial = Path(folder, f"{path.name}{PARTIAL}{uuid.uuid4().hex}")
        try:
            yield partial
            if _DURABLE.get():
                _fsync(partial)
            os.replace(partial, Path(folder, path.name))
            if _DURABLE.get():
                _fsync(Path(folder))
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON with sorted keys, atomically."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """JSON with sorted keys, a line for each; all on one line in what is deleted soon: with an
    indent Python's own encoder takes ten times as long.
    """
    indent = 1 if _DURABLE.get() else None
    return json.dumps(value, indent=indent, sort_keys=True, ensure_ascii=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a small file, atomically."""
    with atomic_path(path) as partial:
        partial.write_bytes(data)


def sweep_partials(folder: Path) -> int:
    """Delete what killed writers of ours left below `folder`; return how many files."""
    found = [p for p in folder.rglob(f"*{PARTIAL}*") if OURS.search(p.name) and p.is_file()]
    for p in found:
        p.unlink(missing_ok=True)
    return len(found)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
