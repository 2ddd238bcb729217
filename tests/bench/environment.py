"""Environments of the peers: one for each list in peers/, whose versions are exact."""

import hashlib
import subprocess
import sys
from pathlib import Path

LISTS = Path(__file__).parent / "peers"
LAST_LINES = 3


class InstallError(Exception):
    """The environment could not be made; the message is the installer's."""


def python(name: str | None, folder: Path) -> str:
    """The interpreter of an environment, made if it is not there or its list has changed.

    name: of the list; None is this very environment, which has tokenmill.

    Raises:
        InstallError: a package cannot be had or built here.
    """
    if name is None:
        return sys.executable
    wanted = LISTS / f"{name}.txt"
    home = folder / name
    stamp = home / ".installed"
    digest = hashlib.md5(wanted.read_bytes(), usedforsecurity=False).hexdigest()
    if not stamp.is_file() or stamp.read_text() != digest:
        run([sys.executable, "-m", "venv", "--clear", str(home)])
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        # --no-deps: the list is whole, and lm-eval is wanted without the models it can run
        run([*pip, "--disable-pip-version-check", "--no-deps", "--requirement", str(wanted)])
        stamp.write_text(digest)
    return str(home / "bin" / "python")


def run(command: list[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = (ended.stderr or ended.stdout).strip().splitlines()[-LAST_LINES:]
        raise InstallError(" ".join(said) or f"exit code {ended.returncode}")


def versions(name: str) -> dict[str, str]:
    """What a list pins."""
    lines = (LISTS / f"{name}.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {package.strip(): version.strip() for package, version in pins}
