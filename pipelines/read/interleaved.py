"""One document with images, of a table's row or a line of JSON: a sample or an interleaved one.

    text "a cat",          image                    sample: the caption alone is its text
    text ["a cat", …],     image                    sample with several captions
    text "a cat",          images [i, j]            U+FFFC, U+FFFC, "a cat"
    texts ["a", null, "b"], images [null, i, null]  "a", U+FFFC, "b": as OBELICS ships them

Nodes are joined by blank lines.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from tokenmill.pipelines.images.edit import BREAK
from tokenmill.pipelines.read.illustrated import Found, Lost, Page, Told, own_text
from tokenmill.pipelines.read.references import Folder, Place, Value, is_url
from tokenmill.pipelines.schema import PLACEHOLDER
from tokenmill.pipelines.shard import Captions

# Columns that OBELICS has beside texts and images: of each image, and of the document.
METADATA, GENERAL = "metadata", "general_metadata"
# Sizes as OBELICS, img2dataset and LAION name them; the original comes before the stored.
WIDTHS = ("original_width", "width", "WIDTH")
HEIGHTS = ("original_height", "height", "HEIGHT")
MAX_SIDE = 2**31 - 1

Texts: TypeAlias = str | Sequence[str | None] | None
Values: TypeAlias = Value | Sequence[Value | None] | None


class Raw(NamedTuple):
    """What the input says of a document.

    row: its number in the shard.  text, images: as above; `listed` tells whether `images` is a
    list even where it is null.  metadata: as `METADATA` holds it, JSON or what it stands for.
    """

    row: int
    id: str
    place: Place
    text: Texts
    images: Values
    listed: bool
    url: str | None = None
    metadata: Any = None
    general: Any = None


def make_page(raw: Raw, *, captions: Captions, folder: Folder) -> Page:
    """The document, with its images read from wherever they are."""
    values = _listed(raw.images)
    entries = _entries(raw.metadata) if raw.listed else [raw.metadata] * len(values)
    lost = _lost(raw, values, entries)
    if lost is not None:
        return lost_page(raw, lost)
    if entries is None or len(entries) != len(values):
        entries = [None] * len(values)
    url = raw.url or _url_of(raw.general)
    images = [
        folder.found(value, raw.place, _url_of(entry, url if not raw.listed else None), told(entry))
        for value, entry in zip(values, entries, strict=True)
        if value is not None
    ]
    return Page(raw.row, raw.id, _text(raw, values, captions), url, images)


def lost_page(raw: Raw, lost: Lost) -> Page:
    """A document that could not be read, and the images that go with it; none of them is read."""
    path, where = raw.place
    images = [
        Found(path, where, v.reference if is_url(v.reference or "") else None, v.data)
        for v in _listed(raw.images)
        if v is not None
    ]
    return Page(raw.row, raw.id, url=raw.url, images=images, lost=lost)


def caption_of(captions: Sequence[str | None], how: Captions = "join") -> str | None:
    """One caption of several, or all as lines; None where there is none.

    >>> caption_of(["a cat", None, "a black cat"], "longest")
    'a black cat'
    """
    there = [c for c in captions if c]
    if not there:
        return next((c for c in captions if c is not None), None)
    if how == "join":
        return "\n".join(there)
    return there[0] if how == "first" else max(there, key=len)


def told(entry: Any) -> Told:
    """What metadata of an image says about it, as OBELICS and img2dataset name it."""
    if not isinstance(entry, dict):
        return Told()
    kind = entry.get("format")
    kind = kind.lower() if isinstance(kind, str) else None
    width, height = (
        next((s for key in keys if (s := _side(entry.get(key))) is not None), None)
        for keys in (WIDTHS, HEIGHTS)
    )
    return Told("jpeg" if kind == "jpg" else kind, width, height)


def _lost(raw: Raw, values: Sequence[Value | None], entries: list[Any] | None) -> Lost | None:
    text, where = raw.text, raw.place.where
    woven = raw.listed and not isinstance(text, str)
    if text is None or (not isinstance(text, str) and not woven and caption_of(text) is None):
        return Lost("missing_text", f"{where}: no text")
    if not woven:
        return None
    counts = {"texts": len(text), "images": len(values)}
    if entries is not None:
        counts[METADATA] = len(entries)
    if len(set(counts.values())) == 1:
        return None
    shown = ", ".join(f"{n} {name}" for name, n in counts.items())
    return Lost("unequal_lists", f"{where}: {shown}", sum(len(t.encode()) for t in text if t))


def _text(raw: Raw, values: Sequence[Value | None], captions: Captions) -> str:
    if not raw.listed:
        caption = raw.text if isinstance(raw.text, str) else caption_of(raw.text or (), captions)
        return own_text(caption or "")
    nodes: list[str] = []
    if isinstance(raw.text, str):
        nodes = [PLACEHOLDER for v in values if v is not None]
        nodes += [own_text(raw.text)] if raw.text else []
        return BREAK.join(nodes)
    for text, value in zip(raw.text or (), values, strict=True):
        if text:
            nodes.append(own_text(text))
        if value is not None:
            nodes.append(PLACEHOLDER)
    return BREAK.join(nodes)


def _listed(values: Values) -> Sequence[Value | None]:
    if isinstance(values, Value):
        return [values]
    return values if values is not None else []


def _entries(metadata: Any) -> list[Any] | None:
    """Metadata of the images, one by one; None where it is something else."""
    found = _parsed(metadata)
    return found if isinstance(found, list) else None


def _url_of(entry: Any, otherwise: str | None = None) -> str | None:
    found = _parsed(entry)
    for key in ("src", "url") if isinstance(found, dict) else ():
        if isinstance(found.get(key), str):
            return str(found[key])
    return otherwise


def _parsed(value: Any) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


def _side(value: Any) -> int | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 < value <= MAX_SIDE else None  # NaN is not above 0
