"""What the members of one sample of a tar say: captions, URL, id, and where its images stand.

In tars that we wrote ourselves (`pipelines.tokens.webdataset`) the .json tells where in the text
images stand:

    {"images": [{"file": "0.jpg", "url": …, "width": …, …}, …],   or these facts of one image alone
     "nodes": [{"text": "One "}, {"image": 0}, {"text": " two"}]}  the text, if images are in it

and in those of others as `layouts.py` knows it. Images are named there by their member, whole, or
behind the key, with or without its suffix; or the sample has a TIFF with a page for each of them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import Claims, Lost, SourceImage
from tokenmill.pipelines.read.beside import ABSENT, NO_COLUMNS, are_texts, beside_of
from tokenmill.pipelines.read.columns import ID, URL
from tokenmill.pipelines.read.images import layouts
from tokenmill.pipelines.read.images.documents import claims_of, woven
from tokenmill.pipelines.read.images.folder import SHOWN, is_url
from tokenmill.pipelines.read.images.layouts import TURNS, Value, Woven
from tokenmill.pipelines.read.images.nodes import own_text
from tokenmill.pipelines.read.images.tiff import pages_of
from tokenmill.pipelines.read.lines import MOST_VALUES, is_overfull
from tokenmill.pipelines.read.stream import UnreadableError, one_line
from tokenmill.pipelines.read.text import BOM

JSON = "json"
NAMES = ("image_name", "file", "filename", "path")  # of an object that names a member
SHOWN_FILES = 5
FACTS = ("url", "path", "md5", "format", "width", "height")  # of each image, known or null
OF_EXPORTS = frozenset(FACTS)


class ExportedImage(NamedTuple):
    """An image.  file: what its member is called behind the key; None where it is but a URL."""

    file: str | None
    url: str | None
    claims: Claims


class Export(NamedTuple):
    """images: in order.  text: with U+FFFC for each of them; None where the caption is the text."""

    images: list[ExportedImage]
    text: str | None


def exported(fields: Mapping[str, Any]) -> Export | None:
    """What an export says, None of other objects; ValueError: nodes lack an image, or order."""
    listed = fields.get("images")
    entries = listed if isinstance(listed, list) else [fields]
    if not entries or not all(isinstance(e, dict) and e.keys() >= OF_EXPORTS for e in entries):
        return None
    images = [
        ExportedImage(_string(e.get("file")), _string(e["url"]), claims_of(e)) for e in entries
    ]
    nodes = fields.get(NODES)
    return Export(images, _woven(nodes, len(images)) if isinstance(nodes, list) else None)


def _woven(nodes: Sequence[Any], n_images: int) -> str:
    """Text and images as one text."""
    text, images = "", []
    for node in nodes:
        (kind, value), *more = node.items() if isinstance(node, dict) and node else [(None, None)]
        if kind == "text" and isinstance(value, str) and not more:
            text += own_text(value)
        elif kind == "image" and not more:
            text += PLACEHOLDER
            images.append(value)
        else:
            raise ValueError(f"node {str(node)[:80]} is neither text nor image")
    if images != list(range(n_images)):
        raise ValueError(f"nodes have {len(images)} images, not each of {n_images} once, in order")
    return text


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class Placed(NamedTuple):
    """Text with U+FFFC for its images, and the .json's for these, in order; field: of the text."""

    text: str
    images: list[Any]
    field: str


def placed(fields: Mapping[str, Any], named: str = "") -> Placed | None:
    """What a .json says of text and images in turn; None where it does not.

    named: the field of text, as the recipe has it; "" looks for that of a known layout.
    UnreadableError: its lists do not fit one another ("unequal_lists").
    """
    for name, beside in layouts.LAYOUTS.items():
        if name not in fields or named not in ("", name):
            continue
        there = next((fields[n] for n in beside if n in fields), None)
        text, images = layouts.laid_out(fields[name], there, name)
        if isinstance(text, Woven):
            return Placed(text, images if isinstance(images, list) else [images], name)
        if isinstance(text, list) and isinstance(images, list) and are_texts(text):
            if len(text) != len(images):
                message = f"{len(text)} {name}, {len(images)} {beside[0]}"
                raise UnreadableError("unequal_lists", message)
            return Placed(woven(text, images), [i for i in images if i is not None], name)
    return None


CAPTIONS = ("caption", "captions", "text")  # fields of a .json
URLS = (*URL, "image_url", "flickr_url", "coco_url")
NO_TEXT = {*URLS, *ID, *FACTS, "key", "uid", "status", "error_message", "exif", "sha256", "license"}
NODES = "nodes"
KNOWN = {  # not told as left behind; the licence is
    *NO_TEXT,
    *(name for beside in layouts.LAYOUTS.values() for name in beside),
    *("original_width", "original_height", NODES),
} - {"license"}


class Part(NamedTuple):
    """A member that is part of a sample.

    suffix: behind the key, without .gz.  kind: the last part of it.
    data: None where it cannot be had: `lost`.
    at: byte of the tar where its data can be read in place.
    """

    name: str
    suffix: str
    kind: str
    data: bytes | memoryview | None
    at: int | None = None
    lost: Lost | None = None


class Texts(NamedTuple):
    """captions: each once, those of text members first.  export: of one of our own tars.

    placed: of another's that says where images stand.
    unknown: what its .json hold, if nothing in them is known to be text, and there are no others.
    beside: as in `SourceDocument`, of the first .json that has it.
    taken: where its text stands, as ".txt" or ".json:caption".
    fields: the objects of its .json.
    """

    captions: list[str]
    url: str | None
    id: str | None
    export: Export | None = None
    placed: Placed | None = None
    unknown: str = ""
    beside: Mapping[str, Any] = NO_COLUMNS
    taken: tuple[str, ...] = ()
    fields: Sequence[Mapping[str, Any]] = ()


def texts_of(parts: Sequence[Part], shard: SourceShard) -> Texts:
    """Put together what text and JSON members of one sample say.

    shard: names fields of a .json, and the suffix of the caption; else the common ones are taken.
    UnreadableError: one of them is not UTF-8 ("invalid_utf8") or not JSON ("invalid_json"),
        or contradicts itself ("unequal_lists"); the message begins with its name.
    """
    texts = [p for p in parts if p.kind != JSON and shard.text in ("", p.kind)]
    captions = [_text(p.name, bytes(p.data or b"")) for p in texts]
    objects = [(p.name, *_object(p.name, bytes(p.data or b""))) for p in parts if p.kind == JSON]
    said = [_said(name, fields, shard) for name, fields, _ in objects]
    once: dict[str, str] = {}
    for caption in captions:
        once.setdefault(caption.strip(), caption)
    url = own = export = place = None
    beside: Mapping[str, Any] = {}
    for of in said:
        for caption in of.captions:
            once.setdefault(caption.strip(), caption)
        url, own = url or of.url, own or of.id
        export, place = export or of.export, place or of.placed
        had = {path: value for path, value in beside.items() if value not in (None, ABSENT)}
        beside = {**of.beside, **had} if had else of.beside
    unknown = ""
    if not (once or place or export):
        told = (odd or _unknown(fields, shard) for _, fields, odd in objects)
        unknown = "; ".join(filter(None, told))
    taken = [f".{p.kind}" for p, c in zip(texts, captions, strict=True) if c.strip()]
    taken += [field for of in said for field in of.taken]
    if place or (export and export.text is not None):  # captions beside it are not read
        taken = [f".{JSON}:{place.field if place else NODES}"]
    there = [fields for _, fields, _ in objects]
    return Texts(list(once.values()), url, own, export, place, unknown, beside, tuple(taken), there)


def _said(name: str, fields: dict[str, Any], shard: SourceShard) -> Texts:
    place = None if fields.keys().isdisjoint(layouts.LAYOUTS) else _placed(name, fields, shard.text)
    named = (shard.text,) if shard.text else CAPTIONS
    there = {field: fields[field] for field in named if field in fields}
    if not shard.text and TURNS in fields:
        there[TURNS] = layouts.laid_out(fields[TURNS], None, TURNS)[0]
    captions = [_whole(name, c) for value in there.values() for c in _strings(value)]
    return Texts(
        captions,
        _first(name, fields, URLS if shard.url is None else (shard.url,)),
        _first(name, fields, (shard.id,)) if shard.id else None,
        _export(name, fields),
        place,
        "",
        beside_of(fields, shard.columns),
        tuple(f".{JSON}:{f}" for f, v in there.items() if any(c.strip() for c in _strings(v))),
    )


def _unknown(fields: dict[str, Any], shard: SourceShard) -> str:
    """What a .json holds that gave no text, if it may be some."""
    keys = fields.keys() & ({shard.text} if shard.text else {*CAPTIONS, *layouts.LAYOUTS})
    known = any(not fields[key] for key in keys)
    return layouts.described(fields) if not known and _has_words(fields) else ""


def _text(name: str, data: bytes) -> str:
    try:
        return data.removeprefix(BOM).decode()
    except UnicodeDecodeError as e:
        raise UnreadableError("invalid_utf8", f"{name} byte {e.start}: {e.reason}") from None


def _object(name: str, data: bytes) -> tuple[dict[str, Any], str]:
    """The fields of a JSON object; what JSON of another kind is."""
    if is_overfull(data):
        said = f"{name}: over {MOST_VALUES:,} JSON values; leave out what is not text"
        raise UnreadableError("too_many_values", said)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:  # or what Python writes: NaN, and halves of characters
        try:
            value = json.loads(_text(name, data))
        except (ValueError, RecursionError) as e:
            raise UnreadableError("invalid_json", f"{name}: {one_line(e)}") from None
    if isinstance(value, dict):
        return value, ""
    return {}, layouts.shape(value) if _has_words(value) else ""


def _has_words(value: Any) -> bool:
    """Whether there is any text in JSON, addresses and what is about the image itself aside."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [inner for key, inner in value.items() if key not in NO_TEXT]
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str) and value:
            return True
    return False


def _export(name: str, fields: dict[str, Any]) -> Export | None:
    try:
        export = exported(fields)
    except ValueError as e:
        raise UnreadableError("unequal_lists", f"{name}: {e}") from None
    for text in () if export is None else (export.text, *(i.url for i in export.images)):
        _whole(name, text or "")
    return export


def _placed(name: str, fields: dict[str, Any], named: str) -> Placed | None:
    try:
        found = placed(fields, named)
    except UnreadableError as e:
        raise UnreadableError(e.cause, f"{name}: {e}") from None
    _whole(name, "" if found is None else found.text)
    return found


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
        raise UnreadableError("invalid_utf8", message) from None
    return text


class Given(NamedTuple):
    """The images of a sample.

    parts: members, some of them lost.  image_of: what one of them is as an image.
    most_bytes: of the pages of a TIFF.
    """

    key: str
    parts: Sequence[Part]
    image_of: Callable[[Part], SourceImage]
    most_bytes: int


def placed_images(place: Placed, given: Given) -> list[SourceImage]:
    """The images of a text in its order, and behind them those without a place, which are lost.

    UnreadableError: there are more or fewer of them than places, or none can be told by its
        name ("unequal_lists").
    """
    n_places = place.text.count(PLACEHOLDER)
    named = {name: part for part in reversed(given.parts) for name in _names(part)}
    chosen = [named.get(_name_of(image) or "") for image in place.images]
    if given.parts and n_places and not any(chosen):
        return _unnamed(place, given, n_places)
    if len(place.images) != n_places:
        message = f"{n_places} places of images, {len(place.images)} named"
        raise UnreadableError("unequal_lists", message)
    taken = _pages([part for part in chosen if part is not None], given)
    told = given.image_of(Part(f"{given.key}.{JSON}", "", JSON, None))
    made = [
        next(taken[part.name]) if part is not None else _elsewhere(told, image)
        for part, image in zip(chosen, place.images, strict=True)
    ]
    for part in given.parts:
        left = given.image_of(part)
        lost = Lost(
            "not_placed", f"{left.where}: nothing says where it stands", len(part.data or b"")
        )
        if part.name not in taken:
            made.append(left if left.lost is not None else left._replace(lost=lost))
    return made


def _names(part: Part) -> list[str]:
    """What may name a member: 000.img0.jpg, img0.jpg, img0; the last is the likeliest to be used
    for another.
    """
    return [part.name, part.name.rpartition("/")[2], part.suffix, part.suffix.rpartition(".")[0]]


def _name_of(image: Any) -> str | None:
    if isinstance(image, dict):
        image = next((v for name in NAMES if isinstance(v := image.get(name), str)), None)
    return image if isinstance(image, str) else None


def _unnamed(place: Placed, given: Given, n_places: int) -> list[SourceImage]:
    """Images that nothing names: the pages of a single file, or all where nothing is named."""
    made = [p for part in given.parts for p in pages_of(given.image_of(part), given.most_bytes)]
    if len(made) == n_places and (len(given.parts) == 1 or place.images == [None]):
        return made
    wanted = ", ".join(repr(_name_of(image)) for image in place.images[:SHOWN_FILES])
    there = ", ".join(repr(part.suffix) for part in given.parts[:SHOWN_FILES])
    message = f"{n_places} places of images ({wanted}), {len(made)} images ({there})"
    raise UnreadableError("unequal_lists", message)


def _pages(chosen: Sequence[Part], given: Given) -> dict[str, Iterator[SourceImage]]:
    """By name what stands for a member each time it is chosen: its pages, if they are as many."""
    times, taken = Counter(part.name for part in chosen), {}
    for part in {part.name: part for part in chosen}.values():
        n, image = times[part.name], given.image_of(part)
        pages = pages_of(image, given.most_bytes) if n > 1 else []
        taken[part.name] = iter(pages if len(pages) == n else [image] * n)
    return taken


def _elsewhere(told: SourceImage, image: Any) -> SourceImage:
    """An image that is no member: bytes or a URL in the .json; others are lost."""
    value = layouts.value_of(image) or Value(other="nothing")
    if value.data is not None:
        return told._replace(data=value.data)
    if value.reference is None:
        lost = Lost("not_an_image", f"{told.where}: {value.other}, not an image")
    elif is_url(value.reference):
        return told._replace(url=value.reference)
    else:
        lost = Lost("not_found", f"{told.where}: no member {value.reference[:SHOWN]!r}")
    return told._replace(lost=lost)
