"""What the .json of an export (`pipelines.images.webdataset_out`) says of a document's images.

{"images": [{"file": "0.jpg", "url": …, "width": …, …}, …],     or these facts of one image alone
 "nodes": [{"text": "One "}, {"image": 0}, {"text": " two"}]}    the text, if images are in it
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tokenmill.pipelines.read.illustrated import Told, own_text
from tokenmill.pipelines.read.interleaved import told
from tokenmill.pipelines.schema import PLACEHOLDER

FACTS = ("url", "path", "md5", "format", "width", "height")  # of each image, known or null


class Shown(NamedTuple):
    """An image.  file: what its member is called behind the key; None where it is but a URL."""

    file: str | None
    url: str | None
    told: Told


class Export(NamedTuple):
    """images: in order.  text: with U+FFFC for each of them; None where the caption is the text."""

    images: list[Shown]
    text: str | None


def exported(fields: Mapping[str, Any]) -> Export | None:
    """What an export says; None where the object is none of its own.

    Raises:
        ValueError: its nodes do not have each image once, in order.
    """
    listed = fields.get("images")
    entries = listed if isinstance(listed, list) else [fields]
    if not entries or not all(isinstance(e, dict) and e.keys() >= set(FACTS) for e in entries):
        return None
    images = [Shown(_string(e.get("file")), _string(e["url"]), told(e)) for e in entries]
    nodes = fields.get("nodes")
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
