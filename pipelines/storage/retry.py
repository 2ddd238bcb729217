"""Whether a store that failed a request is there at all, and asking it again."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import PATIENCE_S, arrow_settings
from tokenmill.pipelines.storage.inputs import OutageError, arrow_s3, is_outage, resolve, translated

T = TypeVar("T")
PAUSES_S = (1.0, 5.0, 25.0)  # before what met an outage is tried again
PROBE_S = 0.5
REMEMBERED_S = 30.0  # that a store was gone: other threads that wait for it need not ask again

_gone: dict[str, float] = {}  # bucket, when


def patiently(call: Callable[[], T], path: str) -> T:
    """What a call that reads `path` returns; after an outage it is made again, from the beginning.

    Raises:
        ConfigError: the store is gone; see `stop_if_gone`.
        OSError: it failed each time.
    """
    for pause in PAUSES_S:
        try:
            return call()
        except OSError as e:
            if not is_outage(e):
                raise
            stop_if_gone(translated(e, path))
        time.sleep(pause * random.uniform(0.5, 1.0))  # not all at once
    try:
        return call()
    except OSError as e:
        raise (translated(e, path) if is_outage(e) else e) from None


def stop_if_gone(error: BaseException) -> None:
    """Raise if the store of an outage answers nothing at all: no other work could go on either.

    Raises:
        ConfigError: not one of several small requests was answered within PATIENCE_S.
    """
    if not isinstance(error, OutageError):
        return
    bucket = resolve(error.address)[1].partition("/")[0]
    if not was_gone(error.address):
        if _answers(bucket, error.address):
            return
        _gone[bucket] = time.monotonic()
    raise ConfigError(f"{error}; the same command continues where this stopped") from None


def was_gone(address: str) -> bool:
    """Whether the store of an address was found gone just now."""
    bucket = resolve(address)[1].partition("/")[0]
    return bucket in _gone and time.monotonic() - _gone[bucket] < REMEMBERED_S


def _answers(bucket: str, address: str) -> bool:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            arrow_s3(arrow_settings(), 1).get_file_info(bucket)
        except OSError as e:
            if isinstance(translated(e, address), OutageError):
                time.sleep(PROBE_S)
                continue
        return True
    return False
