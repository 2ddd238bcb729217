"""Which columns hold a document's text, id, address and images."""

from collections.abc import Collection
from typing import NamedTuple

from tokenmill.pipelines.errors import InputError
from tokenmill.pipelines.shard import Input

# The names met in published corpora, the likeliest first.
TEXT = ("text", "content", "raw_content", "contents", "body", "document", "article")
# of what has images beside its text
CAPTION = ("caption", "captions", "texts", "txt", "alt_text")
ID = ("id", "doc_id", "document_id", "docid", "uuid", "_id", "warc_record_id")
URL = ("url", "uri", "link", "source_url", "warc_target_uri", "webpage_url")
TOKENS = "input_ids"  # of what has been tokenized
SHOWN = 20


class Columns(NamedTuple):
    text: str
    id: str | None
    url: str | None
    images: str | None = None

    @property
    def named(self) -> list[str]:
        """Names of the columns to read, each once."""
        return list(dict.fromkeys(c for c in self if c is not None))


class Piece(NamedTuple):
    """A shard's part of a file, as `SourceShard` describes it."""

    columns: Columns
    start: int
    stop: int | None
    bytes: int
    first_row: int = 0


def find_columns(names: Collection[str], wanted: Input, path: str) -> Columns:
    """The columns the recipe names, else those with common names, in any case of letters.

    Raises:
        InputError: no column can be the text, or one named in the recipe is not there
            (cause "missing_column"); or what is there has been tokenized ("only_tokens").
    """
    images = _find(names, "images", wanted.images, (), path)
    common = TEXT if images is None else TEXT + CAPTION
    text = _find(names, "text", wanted.text, common, path)
    if text is None and TOKENS in names:
        raise InputError(
            f"{path}: holds tokens ({TOKENS}), not text; name the text that was tokenized",
            cause="only_tokens",
        )
    if text is None:
        raise _missing(names, "text", None, path)
    return Columns(
        text,
        _find(names, "id", wanted.id, ID, path),
        _find(names, "url", wanted.url, URL, path),
        images,
    )


def _find(
    names: Collection[str], role: str, wanted: str | None, common: tuple[str, ...], path: str
) -> str | None:
    if wanted is not None:
        if wanted not in names:
            raise _missing(names, role, wanted, path)
        return wanted
    lowered: dict[str, str] = {}
    for name in names:
        lowered.setdefault(name.lower(), name)
    return next((lowered[c] if c not in names else c for c in common if c in lowered), None)


def _missing(names: Collection[str], role: str, wanted: str | None, path: str) -> InputError:
    found = ", ".join(list(names)[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    what = f"no column {wanted!r}" if wanted is not None else f"no {role} column"
    return InputError(
        f"{path}: {what} among: {found or 'none'};"
        f" name the {role} column in the recipe, as {{path: …, {role}: NAME}}",
        cause="missing_column",
    )
