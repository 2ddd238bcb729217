"""One run at a time in a prefix of an object store: an object that says whose it is, renewed.

Written only where there is none (If-None-Match), taken over only as it was when its owner had
not renewed it for EXPIRES_S (If-Match). How old it is the store's own clock says, so it does not
matter what time it is here. A store without such conditions, or one that deletes nothing, is found
out before (`check_store`).
"""

import json
import os
import platform
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.storage.inputs import OutageError, was_gone
from tokenmill.pipelines.storage.s3 import ObjectStore, StoredObject
from tokenmill.sizing.strict import parse_json

NAME = ".lock"
EXPIRES_S = 60
RENEW_S, AGAIN_S = 15.0, 1.0  # again: after one that failed
RELEASES = 2  # times that it is tried

PROBE = ".probe-"  # and something that no other has
NO_ETAG = '"00000000000000000000000000000000"'

_released: set[object] = set()  # by this process, though the store may not have heard of it


class Lock:
    """The lock of a run. lost: set once another run has taken it."""

    def __init__(self, store: ObjectStore) -> None:
        self.lost = threading.Event()
        self._store, self._hasty = store, ObjectStore(store.address, hasty=True)
        self._mine: dict[str, Any] = {
            "owner": uuid.uuid4().hex,
            "place": _place(),
            "pid": os.getpid(),
        }
        self._data = json.dumps({**self._mine, "host": platform.node()}).encode()
        self._etag = ""
        self._end = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True, name="lock")

    def take(self) -> None:
        """Take it and keep it; ConfigError where another run has it."""
        etag = self._store.put(NAME, self._data, IfNoneMatch="*")
        while etag is None:
            found = self._store.get(NAME)
            if found is None:
                etag = self._store.put(NAME, self._data, IfNoneMatch="*")
                continue
            theirs = _read(found)
            if theirs.get("owner") == self._mine["owner"]:  # the answer to our PUT was lost
                etag = found.etag
            elif found.age_s >= EXPIRES_S or self._is_dead(theirs):
                etag = self._store.put(NAME, self._data, IfMatch=found.etag)
            else:
                raise self._taken(theirs, found.age_s)
        self._etag = etag
        self._renewing.start()

    def release(self) -> None:
        """Let others in; where the store is gone, they wait until it expires."""
        self._end.set()
        self._renewing.join()
        _released.add(self._mine["owner"])
        is_vain = self.lost.is_set() or was_gone(self._store.address)
        for _ in range(0 if is_vain else RELEASES):
            with suppress(OutageError, ConfigError):
                self._hasty.forget(NAME)
                return

    def _taken(self, theirs: dict[str, Any], age_s: float) -> ConfigError:
        left = max(EXPIRES_S - int(age_s), 1)
        return ConfigError(
            f"{self._store.address}: another run is at work in it, on"
            f" {theirs.get('host') or 'another machine'}; wait for it, or choose another --out; if"
            f" it was killed, the same command continues in {left} s"
        )

    def _is_dead(self, theirs: dict[str, Any]) -> bool:
        """Whether its owner was a process here that is no more, or this one, which let go."""
        if theirs.get("owner") in _released:
            return True
        here, pid = theirs.get("place"), theirs.get("pid")
        if not here or here != self._mine["place"] or not isinstance(pid, int):
            return False
        return pid != os.getpid() and not Path(f"/proc/{pid}").exists()

    def _renew(self) -> None:
        pause_s = RENEW_S
        while not self._end.wait(pause_s):
            pause_s = AGAIN_S
            try:
                etag = self._hasty.put(NAME, self._data, IfMatch=self._etag)
                if etag is None:
                    found = self._hasty.get(NAME)
                    is_mine = found and _read(found).get("owner") == self._mine["owner"]
                    etag = found.etag if found and is_mine else None
            except (OutageError, ConfigError):
                continue  # the run itself meets it too
            pause_s = RENEW_S
            if etag is None:
                self.lost.set()
                return
            self._etag = etag


def check_store(store: ObjectStore) -> None:
    """Refuse a prefix that no run can be held in, or end in: an object is written and deleted.

    ConfigError: the store does not heed If-None-Match or If-Match, does not delete, or may
        not be used at all. Names the object where it is left.
    """
    name = f"{PROBE}{uuid.uuid4().hex[:8]}"
    lacks, refused = _unconditional(store, name), ""
    try:
        store.delete([name])
        left = store.size(name) is not None
    except ConfigError as e:
        left, refused = True, f" {_said(e)}"
    if left and not lacks:
        lacks = f"deletes nothing{refused}; allow s3:DeleteObject and turn off what keeps objects"
    if lacks:
        told = f" ({store.address}/{name} is left)" if left else ""
        raise ConfigError(f"{store.address}: no run can be made here, the store {lacks}{told}")


def _unconditional(store: ObjectStore, name: str) -> str:
    """How a store fails to heed conditions, in words; the object is there afterwards."""
    try:
        store.put(name, b"", IfNoneMatch="*")
        if store.put(name, b"", IfNoneMatch="*") is not None:
            return "ignores If-None-Match of PUT, which keeps two runs apart"
        if store.put(name, b"", IfMatch=NO_ETAG) is not None:
            return "ignores If-Match of PUT, which keeps two runs apart"
    except ConfigError as e:
        store.put(name, b"")  # which is refused too where nothing may be written
        return f"refuses If-None-Match or If-Match of PUT {_said(e)}, which keeps two runs apart"
    return ""


def _said(error: ConfigError) -> str:
    return str(error).partition("the store refuses ")[2].partition(";")[0] or str(error)


@contextmanager
def held_lock(store: ObjectStore) -> Iterator[Lock]:
    """Hold a prefix for the length of a block; ConfigError: another run has it, or took it away."""
    lock = Lock(store)
    lock.take()
    try:
        yield lock
    finally:
        lock.release()


def _read(found: StoredObject) -> dict[str, Any]:
    try:
        data = parse_json(found.data)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _place() -> str | None:
    """Where process ids mean the same: this boot of this machine, this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None
