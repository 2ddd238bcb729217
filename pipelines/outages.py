"""Whether a store that failed a request is there at all."""

import time

from pipelines.errors import ConfigError
from pipelines.object_store_settings import PATIENCE_S, arrow_settings
from pipelines.store import OutageError, arrow_s3, resolve, translated

PROBE_S = 0.5
REMEMBERED_S = 30.0  # that a store was gone: other threads that wait for it need not ask again

_gone: dict[str, float] = {}  # bucket, when


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
