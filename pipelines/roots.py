"""Where a server may read and write: below the roots that its operator names, if any are named.

    TOKENMILL_ROOTS=/data:/scratch/runs:s3://corpora/2026

Whoever may start a run by a form of Prefect's UI chooses its paths. With the variable set, each
path is refused that does not lie below a root when links and ".." are resolved, in recipes and in
what they lead to. Names of models and sets on the Hugging Face hub are no paths.
"""

import os
import re
from urllib.parse import unquote, urlsplit

from tokenmill.pipelines.errors import ConfigError

VARIABLE = "TOKENMILL_ROOTS"
ADDRESSES = "TOKENMILL_ADDRESSES"
HUB = "hf://"
S3 = "s3://"
_BETWEEN = re.compile(rf"{re.escape(os.pathsep)}(?!//)")  # but not the colon of s3://
_WILD = re.compile(r"[*?\[]")


def within_roots(path: str) -> str:
    """The path, if the roots allow it; without roots any.

    path: local, file://, s3:// or hf://; it may be a pattern.

    Raises:
        ConfigError: names the path and the roots.
    """
    roots = roots_of(os.environ.get(VARIABLE))
    if roots is None or path.startswith(HUB) or any(_below(path, root) for root in roots):
        return path
    local = _local(path)
    real = path if local is None else os.path.realpath(local)
    leads = f", it leads to {real}" if local != real else ""
    raise ConfigError(f"{path}: lies outside of {VARIABLE} ({os.pathsep.join(roots)}){leads}")


def allowed_address(address: str) -> str:
    """The address of a Dask scheduler, if a run may connect to it; without roots any.

    What a scheduler sends is unpickled, and so may be any code: with roots only those may be
    named that the operator lists in TOKENMILL_ADDRESSES, with commas between them.

    Raises:
        ConfigError: names the address and the variable.
    """
    allowed = [a.strip() for a in os.environ.get(ADDRESSES, "").split(",")]
    if VARIABLE in os.environ and address not in allowed:
        raise ConfigError(f"{address}: not among {ADDRESSES}, and {VARIABLE} is set")
    return address


def allowed_directives(directives: tuple[str, ...]) -> tuple[str, ...]:
    """Lines of a job's script: none with roots, since they may name files to be written.

    Raises:
        ConfigError: names the first, and where an operator puts them instead.
    """
    for line in directives:
        if not line.startswith("-") or not line.isprintable():
            raise ConfigError(f"{line!r}: no option of sbatch, as '--constraint=rome'")
        if VARIABLE in os.environ:
            raise ConfigError(
                f"{line!r}: not from a recipe where {VARIABLE} is set; the operator may set"
                " jobqueue.slurm.job-extra-directives in Dask's own configuration"
            )
    return directives


def roots_of(value: str | None) -> tuple[str, ...] | None:
    """The roots that a value of the variable names; None where it is not set.

    >>> roots_of("/data:s3://corpora/2026/")
    ('/data', 's3://corpora/2026')

    Raises:
        ConfigError: it names none, or one that is neither absolute nor on S3.
    """
    if value is None:
        return None
    roots = [root.rstrip("/") or "/" for root in _BETWEEN.split(value) if root]
    for root in roots:
        if not (root.startswith(S3) and len(root) > len(S3)) and not os.path.isabs(root):
            raise ConfigError(f"{VARIABLE}: {root!r} is no absolute folder and no s3://bucket/…")
    if not roots:
        raise ConfigError(f"{VARIABLE} is empty: nothing may be read; name folders, or unset it")
    return tuple(roots)


def _below(path: str, root: str) -> bool:
    if path.startswith(S3) or root.startswith(S3):
        if not (path.startswith(S3) and root.startswith(S3)):
            return False
        parts, prefix = path[len(S3) :].split("/"), root[len(S3) :].split("/")
        return ".." not in parts and parts[: len(prefix)] == prefix
    local = _local(path)
    if local is None:
        return False
    fixed = os.path.realpath(root)
    return os.path.commonpath([fixed, os.path.realpath(local)]) == fixed


def _local(path: str) -> str | None:
    """The path on this machine, of a pattern the folder that it begins with; None if elsewhere."""
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path)
    elif "://" in path:
        return None
    path = os.path.abspath(os.path.expanduser(path))
    wild = _WILD.search(path)
    return path if wild is None or os.path.lexists(path) else os.path.dirname(path[: wild.start()])
