"""Whether the Prefect server that a run reports to is there."""

import time

from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

PATIENCE_S = 20.0  # for a server that is being started again
POLL_S = 1.0


def awaited(patience_s: float = PATIENCE_S) -> str | None:
    """Wait for the server; what it answered, or how it was not there, if that was no good."""
    deadline = time.monotonic() + patience_s
    while (answer := trouble()) is not None and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return answer


def trouble() -> str | None:
    """What is wrong with the server, in some words; None if it serves us."""
    try:
        with (
            temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
            get_client(sync_client=True) as client,
        ):
            client.api_version()  # of all answers the least that needs the password
    except Exception as e:  # noqa: BLE001 - whatever a network can do
        response = getattr(e, "response", None)
        return f"HTTP {response.status_code}" if response is not None else type(e).__name__
    return None


def address() -> str:
    return str(PREFECT_API_URL.value())
