"""WebDataset by Python's tarfile and dictionaries; see `pipelines.read.images.webdataset`."""

import io
import json
import tarfile

from PIL import Image

IMAGE = ("jpg", "jpeg", "png", "webp", "gif")


def samples(data: bytes) -> list[dict]:
    """Samples of a tar in which nothing is wrong: key, text, url, and the facts of its images."""
    groups: dict[str, dict[str, bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            if not member.isreg():
                continue
            folder, slash, name = member.name.rpartition("/")
            key, _, suffix = name.partition(".")
            groups.setdefault(folder + slash + key, {})[suffix] = tar.extractfile(member).read()
    return [{"key": key, **sample(parts)} for key, parts in groups.items()]


def sample(parts: dict[str, bytes]) -> dict:
    captions = [data.decode() for suffix, data in parts.items() if suffix in ("txt", "caption")]
    fields = json.loads(parts.get("json", b"{}"))
    for name in ("caption", "captions", "text"):
        value = fields.get(name, [])
        captions += [value] if isinstance(value, str) else value
    once = []
    for caption in captions:
        if caption.strip() not in [c.strip() for c in once]:
            once.append(caption)
    images = [facts(data) for suffix, data in parts.items() if suffix.split(".")[-1] in IMAGE]
    return {
        "text": "\n".join(c for c in once if c),
        "url": fields.get("url"),
        "images": images,
    }


def facts(data: bytes) -> tuple:
    with Image.open(io.BytesIO(data)) as image:
        return (image.format.lower(), image.mode, *image.size, data)
