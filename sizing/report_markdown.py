"""A sheet as Markdown."""

from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.report_sections import sections
from tokenmill.sizing.sheet import Sheet

TITLE = "Storage requirements"


def sheet_markdown(sheet: Sheet) -> str:
    """The sheet as a document: the figures, what they rest on, how each was computed."""
    return markdown(TITLE, sections(sheet))
