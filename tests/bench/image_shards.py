"""Tar shards of images to measure with: the real ones repeated, or made ones where those are not.

photos.tar   JPEG of some 200 KB      clipart.tar   PNG of some 6 KB
warm-photos.tar, warm-clipart.tar     one turn of each
"""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

VERSION = 1  # raise it when a shard would come out otherwise: older ones are made again
REAL = {"photos": "coco_ccby_wds.tar", "clipart": "openclipart_400.tar"}
MADE = {"photos": ("JPEG", "jpg", (640, 480), 50), "clipart": ("PNG", "png", (60, 40), 400)}
TURNS = {"photos": 20, "clipart": 15}
SEED = 20


def image_shards(folder: Path, data: Path) -> Path:
    """The folder of the shards; made if it is not there.

    data: of text; images lie in the folder beside it.
    """
    made = folder / f"images-v{VERSION}"
    if not (made / "complete").is_file():
        made.mkdir(parents=True, exist_ok=True)
        for name, real in REAL.items():
            source = data.parent / "images" / real
            members = read(source) if source.is_file() else drawn(name)
            write(made / f"{name}.tar", members, TURNS[name])
            write(made / f"warm-{name}.tar", members, 1)
        (made / "complete").touch()
    return made


def read(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as tar:
        return [(m.name, tar.extractfile(m).read()) for m in tar]


def drawn(name: str) -> list[tuple[str, bytes]]:
    """Samples of noise, with a caption and a JSON each."""
    kind, suffix, (width, height), n = MADE[name]
    draw = np.random.default_rng(SEED)
    members = []
    for i in range(n):
        out = io.BytesIO()
        Image.fromarray(draw.integers(0, 256, (height, width, 3), np.uint8)).save(out, kind)
        fields = {"caption": f"noise {i}", "url": f"https://example.com/{i}.{suffix}"}
        members += [
            (f"{i:06}.{suffix}", out.getvalue()),
            (f"{i:06}.txt", f"noise {i}".encode()),
            (f"{i:06}.json", json.dumps(fields).encode()),
        ]
    return members


def write(path: Path, members: list[tuple[str, bytes]], turns: int) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for turn in range(turns):
            for name, content in members:
                info = tarfile.TarInfo(f"{turn:03}-{name}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
