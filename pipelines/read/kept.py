"""The text that a finished run kept, as an input: which columns stand beside it."""

import json

from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, TEXT
from tokenmill.pipelines.storage.inputs import open_input


def kept_columns(run: str) -> dict[str, str]:
    """The annotations of a run's text, with their kinds, as its report tells them.

    run: a run directory, here or in a store.

    Raises:
        ConfigError: no run that has finished and kept text lies there.
    """
    try:
        with open_input(f"{run.rstrip('/')}/manifest.json") as file:
            found = json.loads(file.read())
        status, report = found["status"], found["report"]
    except InputError as e:
        raise ConfigError(f"{run}: no run here; name the directory of one ({e})") from e
    except (ValueError, KeyError, TypeError) as e:
        raise ConfigError(f"{run}: not a run that has finished; run prepare again there") from e
    if status not in (COMPLETE, PARTIAL_RUN) or not report.get("text"):
        raise ConfigError(
            f"{run}: the run kept no text; run it with output.text, or export its text with"
            f" tokenmill export {run} --format parquet --text"
        )
    columns: dict[str, str] = report[TEXT].get("columns", {})
    return columns
