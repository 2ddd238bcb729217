"""Prefect's database as its first start makes it, kept: that takes 5 s of CPU, a copy none."""

import os
import shutil
import sqlite3
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import certifi

KEPT = Path(__file__).parent.parent / ".pytest_cache" / f"prefect-{version('prefect')}.db"
LAST = "-----END CERTIFICATE-----\n"  # line of a certificate


def filled(home: Path) -> Path:
    """A folder for PREFECT_HOME, with a database where one is kept."""
    home.mkdir(parents=True, exist_ok=True)
    if KEPT.exists():
        shutil.copy(KEPT, home / "prefect.db")
    return home


def one_authority(home: Path) -> Path:
    """A file of one: each client reads all of certifi's, 150 here, which no http: address needs."""
    path = home / "authority.pem"
    path.write_text(Path(certifi.where()).read_text().partition(LAST)[0] + LAST)
    return path


def keep(home: Path) -> None:
    """Keep the database of a server that answers, if none is kept."""
    if KEPT.exists():
        return
    KEPT.parent.mkdir(exist_ok=True)
    partial = KEPT.with_name(f"{KEPT.name}-{os.getpid()}")
    with (
        closing(sqlite3.connect(home / "prefect.db")) as made,
        closing(sqlite3.connect(partial)) as copy,
    ):
        made.backup(copy)
    os.replace(partial, KEPT)
