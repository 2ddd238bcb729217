"""A sheet on disk: the same figures as data, as text and as a page."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.report.data import sheet_json
from tokenmill.sizing.report.html import sheet_html
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.sheet import Sheet


def write_sheet(folder: Path, sheet: Sheet) -> list[Path]:
    """Write requirements.md, .html and .json, each whole or not at all.

    Raises:
        PlanError: the folder cannot be written.
    """
    return write_texts(
        folder,
        {
            "requirements.md": sheet_markdown(sheet),
            "requirements.html": sheet_html(sheet),
            "requirements.json": sheet_json(sheet),
        },
    )


def write_texts(folder: Path, texts: Mapping[str, Any]) -> list[Path]:
    """Write files by their names, each whole or not at all; what is not text as JSON.

    Raises:
        PlanError: the folder cannot be written.
    """
    try:
        for name, text in texts.items():
            if not isinstance(text, str):
                text = json.dumps(text, indent=1, ensure_ascii=False) + "\n"
            write_text(folder / name, text)
    except OSError as e:
        raise PlanError(f"{folder}: cannot write there ({e.strerror}); choose another --out") from e
    return [folder / name for name in texts]
