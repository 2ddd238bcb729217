"""Artifacts: what a run has to show in Prefect's UI. None is worth a failed run."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_table_artifact

MOST_ROWS = 1000  # of a table: a page of the UI
MOST_CHARACTERS = 200_000  # of a document


class Shown(NamedTuple):
    """An artifact: a table of rows, or a document in Markdown.

    key: lower-case letters, digits and dashes.  description: Markdown.
    """

    key: str
    content: Sequence[dict[str, Any]] | str
    description: str = ""


def publish(artifacts: Iterable[Shown]) -> None:
    """Have the server keep artifacts; what it does not take is logged, and no more."""
    try:
        for shown in artifacts:  # some read files as they come
            _create(shown)
    except Exception as e:  # noqa: BLE001 - the run itself is done
        get_run_logger().warning("not all artifacts are published: %s", e)


def key_of(*names: str) -> str:
    """A key for an artifact of that name.

    >>> key_of("ledger", "My corpus, v2")
    'ledger-my-corpus-v2'
    """
    return "-".join(part for name in names for part in re.findall("[a-z0-9]+", name.lower()))


def _create(shown: Shown) -> None:
    if isinstance(shown.content, str):
        text = shown.content
        if len(text) > MOST_CHARACTERS:
            text = f"{text[:MOST_CHARACTERS]}\n\n… cut here; the file has the rest"
        create_markdown_artifact(text, key=shown.key, description=shown.description)
    else:
        rows = [dict(row) for row in shown.content[:MOST_ROWS]]
        create_table_artifact(table=rows, key=shown.key, description=shown.description)
