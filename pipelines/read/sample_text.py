"""What the texts beside an image say: captions, URL and id, from .txt, .caption and .json."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from tokenmill.pipelines.read.columns import URL
from tokenmill.pipelines.read.exported import Export, exported

BOM = b"\xef\xbb\xbf"
CAPTIONS = ("caption", "captions", "text")  # fields of a .json
URLS = (*URL, "image_url", "flickr_url", "coco_url")
SHOWN_ERROR = 200

Named: TypeAlias = tuple[str, bytes]  # name and content of a member


class Wanted(NamedTuple):
    """Names of fields in a .json, or of the suffix of the caption; None takes the common ones."""

    text: str | None
    id: str | None
    url: str | None


class Said(NamedTuple):
    """captions: each once, those of text members first.  export: of one of our own tars."""

    captions: list[str]
    url: str | None
    id: str | None
    export: Export | None = None


class UnsaidError(Exception):
    """A text cannot be read.

    cause: "invalid_utf8", "invalid_json" or "unequal_lists".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def said(texts: Sequence[Named], objects: Sequence[Named], wanted: Wanted) -> Said:
    """Put together what text and JSON members of one sample say.

    Raises:
        UnsaidError: one of them is not UTF-8 or not JSON, or contradicts itself; the message
            begins with its name.
    """
    captions = [_text(*named) for named in texts]
    url = own = export = None
    for name, data in objects:
        fields = _object(name, data)
        export = export or _export(name, fields)
        chosen = CAPTIONS if wanted.text is None else (wanted.text,)
        captions += [_whole(name, c) for field in chosen for c in _strings(fields.get(field))]
        url = url or _first(name, fields, URLS if wanted.url is None else (wanted.url,))
        own = own or (_first(name, fields, (wanted.id,)) if wanted.id else None)
    once: dict[str, str] = {}
    for caption in captions:
        once.setdefault(caption.strip(), caption)
    return Said(list(once.values()), url, own, export)


def _text(name: str, data: bytes) -> str:
    try:
        return data.removeprefix(BOM).decode()
    except UnicodeDecodeError as e:
        raise UnsaidError("invalid_utf8", f"{name} byte {e.start}: {e.reason}") from None


def _object(name: str, data: bytes) -> dict[str, Any]:
    """The fields of a JSON object; JSON of another kind says nothing of an image."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = _leniently(name, data)
    return found if isinstance(found, dict) else {}


def _export(name: str, fields: dict[str, Any]) -> Export | None:
    try:
        found = exported(fields)
    except ValueError as e:
        raise UnsaidError("unequal_lists", f"{name}: {e}") from None
    for said_of in () if found is None else (found.text, *(i.url for i in found.images)):
        _whole(name, said_of or "")
    return found


def _leniently(name: str, data: bytes) -> Any:
    """JSON that Python writes and orjson refuses: NaN, and halves of characters."""
    text = _text(name, data)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        message = " ".join(str(e).split())[:SHOWN_ERROR]
        raise UnsaidError("invalid_json", f"{name}: {message}") from None


def _strings(value: Any) -> list[str]:
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]


def _first(name: str, fields: dict[str, Any], among: Sequence[str]) -> str | None:
    """The first of some fields that is set."""
    for field in among:
        value = fields.get(field)
        if isinstance(value, str | int) and value != "":
            return _whole(name, str(value))
    return None


def _whole(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as e:
        message = f"{name}: half a character, {e.object[e.start]!r}"
        raise UnsaidError("invalid_utf8", message) from None
    return text
