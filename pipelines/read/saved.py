"""A Hugging Face dataset saved to disk: a folder with `state.json` and its Arrow streams."""

import json
import posixpath
from collections.abc import Sequence
from typing import Any, NamedTuple

from tokenmill.pipelines.errors import InputError
from tokenmill.pipelines.store import InputFile, open_input

STATE = "state.json"
SIDE_FILES = frozenset({STATE, "dataset_info.json", "dataset_dict.json"})
MAX_STATE_BYTES = 64 * 1024**2


class SavedDataset(NamedTuple):
    """folder: below the input's folder, "" for itself.  files: its data, in the dataset's order."""

    folder: str
    split: str | None
    files: list[InputFile]
    missing: list[str]


def find_saved(files: Sequence[InputFile]) -> list[SavedDataset]:
    """The saved datasets among the files of a folder, sorted by folder.

    Raises:
        InputError: one was saved with an index of its rows beside it ("dataset_indices").
    """
    by_name = {f.name: f for f in files}
    found = []
    for file in files:
        if posixpath.basename(file.name) == STATE and (state := _state(file)) is not None:
            folder = posixpath.dirname(file.name)
            names = [posixpath.join(folder, d["filename"]) for d in state["_data_files"]]
            found.append(
                SavedDataset(
                    folder,
                    state.get("_split") or posixpath.basename(folder) or None,
                    [by_name[n] for n in names if n in by_name],
                    [
                        posixpath.join(posixpath.dirname(file.path), posixpath.basename(n))
                        for n in names
                        if n not in by_name
                    ],
                )
            )
    return sorted(found, key=lambda d: d.folder)


def belongs_to(file: InputFile, datasets: Sequence[SavedDataset]) -> bool:
    """Whether a file is part of one of the datasets or only describes it."""
    folder, name = posixpath.split(file.name)
    folders = {d.folder for d in datasets}
    above = {posixpath.dirname(f) for f in folders}
    return folder in folders or (folder in above and name in SIDE_FILES)


def _state(file: InputFile) -> dict[str, Any] | None:
    """What `state.json` says, or None if it is about something else."""
    with open_input(file.path) as f:
        try:
            state = json.loads(f.read(MAX_STATE_BYTES))
        except ValueError:
            return None
    if not isinstance(state, dict) or not isinstance(state.get("_data_files"), list):
        return None
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InputError(
            f"{file.path}: its rows are chosen by an index; save it again after flatten_indices()",
            cause="dataset_indices",
        )
    return state
