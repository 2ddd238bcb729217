"""Which files of this machine may be opened: where TOKENMILL_ROOTS is set, those below its folders.

    TOKENMILL_ROOTS=/data:/scratch/runs:s3://corpora/2026

A path is looked up once, its links and ".." resolved. From the root on, what was found is opened
by one name after the other, none of which may have become a link meanwhile; and whoever reads or
writes is given a name of just that.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokenmill.sizing.errors import PlanError

VARIABLE = "TOKENMILL_ROOTS"
SCHEME = "s3://"
IN_STORE = re.compile(r"(?!file:)[a-z0-9]+://[^/]")  # the beginning of an address
_BETWEEN = re.compile(rf"{re.escape(os.pathsep)}(?!//)")  # but not the colon of s3://
# Folders besides, their links resolved: what ships with us, and what this process made for itself
OURS: set[str] = set()
_BY_NAME = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_NOFOLLOW", 0)


def roots_of(value: str | None) -> tuple[str, ...] | None:
    """The roots that a value of the variable names; None where it is not set.

    >>> roots_of("/data:s3://corpora/2026/")
    ('/data', 's3://corpora/2026')

    PlanError: it names none, or one that is neither absolute nor an address.
    """
    if value is None:
        return None
    roots = [root.rstrip("/") or "/" for root in _BETWEEN.split(value) if root]
    for root in roots:
        if not IN_STORE.match(root) and not os.path.isabs(root):
            raise PlanError(f"{VARIABLE}: {root!r} is no absolute folder and no s3://bucket/…")
    if not roots:
        raise PlanError(f"{VARIABLE} is empty: nothing may be read; name folders, or unset it")
    return tuple(roots)


def root_over(path: str, roots: tuple[str, ...]) -> str | None:
    """The root or folder of ours that a path, its links resolved before, lies in; or None."""
    real = [os.path.realpath(root) for root in roots if not IN_STORE.match(root)]
    return next((r for r in [*real, *OURS] if os.path.commonpath([r, path]) == r), None)


@contextmanager
def held(path: str | Path, *, within: str | None = None, make: bool = False) -> Iterator[str]:
    """A name of the file or folder at a path, by which it is opened, and nothing else.

    It holds for the length of the block, also where somebody puts a link in its way; messages are
    for the path. Without roots it is the path.

    within: a folder, its links resolved, that is the only root.  make: folders that are not there.
    PermissionError: it lies outside of the roots.
    OSError: it is not there, or a link came into its way just now.
    """
    roots = roots_of(os.environ.get(VARIABLE)) if within is None else (within,)
    if roots is None:
        if make:
            os.makedirs(path, exist_ok=True)
        yield str(path)
        return
    real = os.path.realpath(path)
    root = root_over(real, roots)
    if root is None:
        told = f"lies outside of {VARIABLE} ({os.pathsep.join(roots)})"
        raise PermissionError(errno.EACCES, told, str(path))
    if make:
        os.makedirs(root, exist_ok=True)
    at = os.open(root, _BY_NAME | os.O_DIRECTORY)
    try:
        for part in Path(real).relative_to(root).parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
            above, at = at, os.open(part, _BY_NAME, dir_fd=at)
            os.close(above)
        yield f"/proc/self/fd/{at}" if hasattr(os, "O_PATH") else real
    finally:
        os.close(at)
