"""The text that finished runs kept, as an input: where it lies, and which columns stand beside it.

A run is named by its directory, or several by that of their collection.
"""

import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.shard import RUN, Input, InputFile
from tokenmill.pipelines.runs import collected
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, TEXT, refuse_runs
from tokenmill.pipelines.storage.inputs import expand, open_input
from tokenmill.sizing.strict import parse_json


def kept_columns(place: str) -> dict[str, str]:
    """The annotations of the text of a run, or of the runs of a collection, with their kinds.

    place: a directory, here or in a store.
    ConfigError: no run that has finished and kept text lies there.
    """
    columns: dict[str, str] = {}
    for run in _runs(place):
        columns |= _text_of(run).get("columns", {})
    return columns


def with_kept_texts(inputs: Iterable[Input]) -> tuple[Input, ...]:
    """Inputs as they are; of a run, or collection, its kept text. ConfigError: it kept none."""
    found = tuple(_with_kept_text(given) for given in inputs)
    refuse_runs(given for given in found if given.format != RUN)
    return found


def _with_kept_text(given: Input) -> Input:
    if given.format is not None or not Path(given.path).is_dir():
        return given
    try:
        kept_columns(given.path)
    except ConfigError:
        return given
    return given.model_copy(update={"format": RUN})


def kept_files(place: str) -> list[InputFile]:
    """The files of kept text, by run; those of a collection have the run's name before theirs.

    ConfigError: see `kept_columns`.
    InputError, OSError: see `expand`.
    """
    files: list[InputFile] = []
    for run in _runs(place):
        below = "" if run == place.rstrip("/") else f"{posixpath.basename(run)}/"
        files += [f._replace(name=f"{below}{f.name}") for f in expand(f"{run}/{TEXT}")]
    return files


def _runs(place: str) -> list[str]:
    """A run itself; of a collection those of its runs that finished whole, oldest first."""
    place = place.rstrip("/")
    found = _json(f"{place}/{collected.NAME}")
    if found is None:
        return [place]
    names = collected.names_of(found, f"{place}/{collected.NAME}")
    runs = [f"{place}/{name}" for name in names]
    whole = [run for run in runs if (_json(f"{run}/manifest.json") or {}).get("status") == COMPLETE]
    if not whole:
        raise ConfigError(f"{place}: no run of the collection has finished; ingest again")
    return whole


def _text_of(run: str) -> dict[str, Any]:
    found = _json(f"{run}/manifest.json")
    if found is None:
        raise ConfigError(f"{run}: no run here; name the directory of one, or of a collection")
    if not isinstance(found.get("report"), dict):
        raise ConfigError(f"{run}: not a run that has finished; run prepare again there")
    text: dict[str, Any] | None = found["report"].get(TEXT)
    if found["status"] not in (COMPLETE, PARTIAL_RUN) or not text:
        raise ConfigError(
            f"{run}: the run kept no text; run it with output.text, or export its text with"
            f" tokenmill export {run} --format parquet --text"
        )
    return text


def _json(path: str) -> dict[str, Any] | None:
    """A file's object; None where there is no such file."""
    try:
        with open_input(path) as file:
            found = parse_json(file.read())
    except InputError as e:
        if e.cause == "not_found":
            return None
        raise ConfigError(str(e)) from e
    except ValueError as e:
        raise ConfigError(f"{path}: not JSON ({e})") from e
    return found if isinstance(found, dict) else {}
