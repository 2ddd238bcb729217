"""What the texts beside an image say: captions, URL and id, from .txt, .caption and .json."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from pipelines.read.columns import URL

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
    """captions: each once, those of text members first."""

    captions: list[str]
    url: str | None
    id: str | None


class UnsaidError(Exception):
    """A text cannot be read.

    cause: "invalid_utf8" or "invalid_json".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def said(texts: Sequence[Named], objects: Sequence[Named], wanted: Wanted) -> Said:
    """Put together what text and JSON members of one sample say.

    Raises:
        UnsaidError: one of them is not UTF-8 or not JSON; the message begins with its name.
    """
    captions = [_text(*named) for named in texts]
    url = own = None
    for name, data in objects:
        fields = _object(name, data)
        chosen = CAPTIONS if wanted.text is None else (wanted.text,)
        captions += [_whole(name, c) for field in chosen for c in _strings(fields.get(field))]
        url = url or _first(name, fields, URLS if wanted.url is None else (wanted.url,))
        own = own or (_first(name, fields, (wanted.id,)) if wanted.id else None)
    once: dict[str, str] = {}
    for caption in captions:
        once.setdefault(caption.strip(), caption)
    return Said(list(once.values()), url, own)


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
    values = (fields.get(field) for field in among)
    found = next((v for v in values if isinstance(v, str | int) and v != ""), None)
    return None if found is None else _whole(name, str(found))


def _whole(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as e:
        message = f"{name}: half a character, {e.object[e.start]!r}"
        raise UnsaidError("invalid_utf8", message) from None
    return text
