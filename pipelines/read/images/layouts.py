"""Interleaved documents as published corpora lay them out.

    OBELICS, OmniCorpus, MINT-1T   {"texts": ["a", null], "images": [null, i]}
    MMC4    {"text_list": ["a", "b"], "image_info": [{"raw_url": i, "matched_text_index": 1}]}
    LLaVA   {"conversations": [{"from": "human", "value": "<image>\\nWhat is it?"}, …], "image": i}

An image of MMC4 stands before the sentence that it is matched to, as in OpenFlamingo; sentences
with no image between them are parted by a blank. In a conversation an image stands where `<image>`
does; turns are nodes, and who speaks is left out.
"""

import base64
import binascii
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.read.images.nodes import BREAK, own_text
from tokenmill.pipelines.read.stream import UnreadableError

SENTENCES, MATCHED = "text_list", "matched_text_index"
TURNS, TURN = "conversations", "value"
IMAGE_TAG = "<image>"
# Columns of text, and those of images beside them.
LAYOUTS = {SENTENCES: ("image_info",), TURNS: ("image", "images"), "texts": ("images",)}
BYTES, PATHS = ("bytes", "image_base64"), ("path", "url", "raw_url")  # of objects that are images
UNKNOWN = "unknown_layout"
SHOWN_FIELDS = 20


class Woven(str):
    """Text of the input with U+FFFC for each of its images; without them it is half a document."""

    __slots__ = ()


class Value(NamedTuple):
    """What stands for an image: data, its bytes; reference, a URL, path or data URL; or other."""

    data: bytes | memoryview | None = None
    reference: str | None = None
    other: str | None = None


def layout_in(names: Collection[str]) -> tuple[str, str] | None:
    """The columns of text and of images, where those of a published layout are there.

    >>> layout_in(["url", "text_list", "image_info"])
    ('text_list', 'image_info')
    """
    for text, columns in LAYOUTS.items():
        images = next((column for column in columns if column in names), None)
        if text in names and images is not None:
            return text, images
    return None


def laid_out(text: Any, images: Any, name: str) -> tuple[Any, Any]:
    """Text and images of a document, as JSON, as lists of equal length or as `Woven`; others as
    they are.

    name: of the column of text.
    UnreadableError: an image has no place ("unequal_lists").
    """
    if not isinstance(text, list):
        return text, images
    if text and all(isinstance(t, dict) and isinstance(t.get(TURN), str) for t in text):
        return conversation([turn[TURN] for turn in text]), images
    if name.endswith(SENTENCES):
        images = images or []
        if isinstance(images, list) and all(isinstance(image, dict) for image in images):
            return matched(text, images, [image.get(MATCHED) for image in images])
    return text, images


def matched(
    sentences: Sequence[str | None], images: Sequence[Any], places: Sequence[Any]
) -> tuple[list[str | None], list[Any]]:
    """Sentences and images as lists of equal length, each image before its sentence.

    >>> matched(["a", "b", "c"], ["x", "y"], [1, 1])
    (['a', None, None, 'b c'], [None, 'x', 'y', None])
    """
    before: dict[int, list[Any]] = {}
    for number, (image, place) in enumerate(zip(images, places, strict=True)):
        if not isinstance(place, int) or not 0 <= place < len(sentences):
            message = f"image {number} stands at sentence {place} of {len(sentences)}"
            raise UnreadableError("unequal_lists", message)
        before.setdefault(place, []).append(image)
    texts: list[str | None] = []
    values: list[Any] = []
    at = 0
    for place in [*sorted(before), len(sentences)]:
        if together := " ".join(s for s in sentences[at:place] if s):
            texts.append(together)
            values.append(None)
        texts += [None] * len(before.get(place, ()))
        values += before.get(place, ())
        at = place
    return texts, values


def conversation(turns: Sequence[str | None]) -> str:
    """A conversation as one text; as a caption where no turn says where its images stand."""
    text = BREAK.join(own_text(turn) for turn in turns if turn)
    return Woven(text.replace(IMAGE_TAG, PLACEHOLDER)) if IMAGE_TAG in text else text


def value_of(value: Any) -> Value | None:
    """The image that JSON stands for: an address, or an object with bytes or an address."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return Value(reference=value)
    if not isinstance(value, dict):
        return Value(other=json_type(value))
    data, reference = (next((v for n in of if (v := value.get(n))), None) for of in (BYTES, PATHS))
    if isinstance(data, str):
        return _decoded(data)
    if isinstance(reference, str):
        return Value(reference=reference)
    said = {*BYTES, *PATHS} & value.keys()
    if said and all(value[name] in (None, "") for name in said):
        return None
    return Value(other=f"an object without {BYTES[0]} or {PATHS[0]}")


def _decoded(data: str) -> Value:
    if data.startswith("b'"):  # as OpenFlamingo's script for MMC4 writes it
        data = data[2:].rstrip("'")
    try:
        return Value(base64.b64decode(data, validate=True))
    except binascii.Error as e:
        return Value(other=f"bytes that are not base64 ({e})")


def json_type(value: Any) -> str:
    names = {bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return "null" if value is None else names.get(type(value), "a number")


def described(fields: Mapping[str, Any]) -> str:
    """What an object holds, for messages.

    >>> described({"n": 1, "parts": [{"type": "text"}, {"image": 0}]})
    'n: a number, parts: 2 objects with type'
    """
    return ", ".join(f"{n}: {shape(v)}" for n, v in list(fields.items())[:SHOWN_FIELDS])


def shape(value: Any) -> str:
    """What a value of JSON is, for messages."""
    if not isinstance(value, list) or not value:
        return json_type(value)
    first = json_type(value[0]).partition(" ")[2] or "null"
    fields = f" with {', '.join(list(value[0])[:SHOWN_FIELDS])}" if first == "object" else ""
    return f"{len(value)} {first}s{fields}"
