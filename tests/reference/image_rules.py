"""The rules for images the slow, obvious way: documents as dictionaries, one image at a time."""

from tests.reference.filters import above, below, first_broken


def url_part(url, f):
    if url is None:
        return None
    return next((p for p in f.url_parts or () if p in url), None)


def unknown(image, f):
    sides = (f.min_side, f.max_side, f.min_ratio, f.max_ratio)
    asked = ["format"] if f.formats is not None else []
    asked += ["width", "height"] if any(s is not None for s in sides) else []
    asked += ["bytes"] if f.min_bytes is not None else []
    return f.unknown == "remove" and any(image[name] is None for name in asked)


def judge_image(image, f):
    """(reason or None, value or None, detail or None)."""
    w, h = image["width"], image["height"]
    sized = w is not None and h is not None
    shorter, longer = (min(w, h), max(w, h)) if sized else (None, None)
    wide = w / h if sized and h else None
    part, kind = url_part(image["url"], f), image["format"]
    other = f.formats is not None and kind is not None and kind not in f.formats
    reason, value = first_broken(
        [
            ("url_part", part is not None, None),
            ("unknown", unknown(image, f), None),
            ("format", other, None),
            ("too_small", below(shorter, f.min_side), shorter),
            ("too_large", above(longer, f.max_side), longer),
            ("too_narrow", below(wide, f.min_ratio), wide),
            ("too_wide", above(wide, f.max_ratio), wide),
            ("too_few_bytes", below(image["bytes"], f.min_bytes), image["bytes"]),
        ]
    )
    size = f"{w}x{h}"
    sizes = dict.fromkeys(("too_small", "too_large", "too_narrow", "too_wide"), size)
    return reason, value, {"url_part": part, "format": kind, **sizes}.get(reason)


def images(document, f):
    """(reason or None, value, [verdict of each image]) of one document."""
    verdicts = [judge_image(image, f) for image in document["images"]]
    left = sum(reason is None for reason, _, _ in verdicts)
    few, many = below(left, f.min_images), above(left, f.max_images)
    reason, value = first_broken([("too_few_images", few, left), ("too_many_images", many, left)])
    return reason, value, verdicts


def image_once(document, f):
    """[(reason or None, number of the image in its place or None)] of one document."""
    items = document["images"]
    verdicts = [(None, None)] * len(items)
    for key in f.by:
        first = {}
        for i, image in enumerate(items):
            value = image[key]
            if verdicts[i][0] is not None or not value:
                continue
            if value in first:
                verdicts[i] = (f"same_{key}", items[first[value]]["number"])
            first.setdefault(value, i)
    by_number = {image["number"]: verdict for image, verdict in zip(items, verdicts, strict=True)}
    return [follow(verdict, by_number) for verdict in verdicts]


def follow(verdict, by_number):
    """A copy's place is taken by an image that is left itself."""
    reason, number = verdict
    while number is not None and by_number[number][0] is not None:
        number = by_number[number][1]
    return reason, number
