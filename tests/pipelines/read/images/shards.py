"""Small images and tar shards to read, made on the spot."""

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Colour = tuple[int, int, int]
Members = Mapping[str, bytes] | Iterable[tuple[str, bytes]]


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """An image as a file of the kind that Pillow calls "JPEG", "PNG", …"""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def picture(width: int, height: int, colour: Colour = (200, 30, 30), mode: str = "RGB") -> Any:
    """A plain picture: one colour, another image for another colour."""
    return Image.new("RGB", (width, height), colour).convert(mode)


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    """A picture that does not compress."""
    values = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return Image.fromarray(values)


def jpeg(width: int = 32, height: int = 24, colour: Colour = (200, 30, 30)) -> bytes:
    return encoded(picture(width, height, colour), "JPEG")


def png(
    width: int = 32, height: int = 24, colour: Colour = (200, 30, 30), mode: str = "RGB"
) -> bytes:
    return encoded(picture(width, height, colour, mode), "PNG")


def webp(width: int = 32, height: int = 24, colour: Colour = (200, 30, 30)) -> bytes:
    return encoded(picture(width, height, colour), "WEBP", lossless=True)


def gif(width: int = 32, height: int = 24, colour: Colour = (200, 30, 30)) -> bytes:
    return encoded(picture(width, height, colour), "GIF")


def tar_bytes(members: Members, *, kind: int = tarfile.USTAR_FORMAT) -> bytes:
    """An uncompressed tar; members as a mapping, or as pairs where a name comes twice."""
    out = io.BytesIO()
    pairs = members.items() if isinstance(members, Mapping) else members
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        for name, data in pairs:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sample(
    key: str, image: bytes, caption: str | None = None, /, *, ext: str = "jpg", **fields: Any
) -> dict[str, bytes]:
    """The members of one sample: image, caption, and a .json where there are fields for it."""
    members = {f"{key}.{ext}": image}
    if caption is not None:
        members[f"{key}.txt"] = caption.encode()
    if fields:
        members[f"{key}.json"] = json.dumps(fields).encode()
    return members


def sample_members(
    n: int, *, first: int = 0, width: int = 200, height: int = 160
) -> dict[str, bytes]:
    """n samples, each with an image of its own, a caption, and its URL in a .json."""
    members: dict[str, bytes] = {}
    for i in range(first, first + n):
        colour = (i % 256, i // 256 % 256, 100)
        url = f"https://example.com/{i:06}.jpg"
        members |= sample(
            f"{i:06}", jpeg(width, height, colour), f"A picture of {i} things", url=url
        )
    return members


def sample_tar(path: Path, n: int, *, first: int = 0, width: int = 200, height: int = 160) -> Path:
    """Write `sample_members` as a tar; .tar.gz and .tgz are compressed."""
    data = tar_bytes(sample_members(n, first=first, width=width, height=height))
    packed = path.name.endswith((".gz", ".tgz"))
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    return path
