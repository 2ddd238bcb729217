"""Ids of documents with images, one document at a time."""

from collections.abc import Callable, Sequence
from typing import Any

PLACEHOLDER = "\ufffc"


def placeholders(image: dict[str, Any], rule: Any) -> int:
    if isinstance(rule, int):
        return rule
    width, height = image["width"], image["height"]
    if not width or not height:
        return 1 if rule.most is None else rule.most
    longer = max(width, height)
    if rule.longest is not None and longer > rule.longest:
        width, height = (max(half_up(side * rule.longest, longer), 1) for side in (width, height))
    side = rule.patch * rule.merge
    n = -(-width // side) * -(-height // side)
    return n if rule.most is None else min(n, rule.most)


def half_up(above: int, below: int) -> int:
    whole, left = divmod(above, below)
    return whole + (2 * left >= below)


def encoded(
    text: str,
    images: Sequence[dict[str, Any]],
    *,
    rule: Any,
    encode: Callable[[str], list[int]],
    image_id: int,
    bos: list[int],
    eos: list[int],
) -> list[int]:
    marks = [[image_id] * placeholders(image, rule) for image in images]
    ids = list(bos)
    if PLACEHOLDER not in text:
        for mark in marks:
            ids += mark
        return ids + encode(text) + eos
    pieces = text.split(PLACEHOLDER)
    ids += encode(pieces[0])
    for mark, piece in zip(marks, pieces[1:], strict=True):
        ids += mark + encode(piece)
    return ids + eos
