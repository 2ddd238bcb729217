"""What it takes to read images and look at them: CPU seconds and memory of a process for each.

    python -m tests.bench.pictured [--data FOLDER] [--beside PYTHON] [--rounds 5] [STEP …]

The shards are those of `tests.bench`, and of its clip art one with bombs between the samples, lines
and a table. PYTHON is that of another checkout's environment, whose code does each step in turn
with ours. Bombs: an image that claims 2.5 billion pixels, one of 169 million that are really there,
and a TIFF that says of one page 5,000 times that it is the next.
"""

import argparse
import base64
import io
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from tests.bench.cases import TOOLS
from tests.bench.image_shards import image_shards, read, write
from tests.bench.measure import ONE_THREAD, ROOT, WORKER
from tests.bench.tools.images_ours import STEPS

TURNS, SIDE, PAGES = 15, 13_000, 5_000


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def claiming(side: int) -> bytes:
    """A PNG of so many pixels a side, of which there are none."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(10**6), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def saved(image: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def one_page_again() -> bytes:
    """A TIFF whose pages all have the same 10 kB of pixels."""
    tags = {256: 100, 257: 100, 258: 8, 259: 1, 262: 1, 273: 8, 278: 100, 279: 10**4}
    page = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    page, start = struct.pack("<H", len(tags)) + page, 8 + 10**4
    ends = [start + n * (len(page) + 4) for n in range(1, PAGES)]
    pages = [page + struct.pack("<I", end) for end in (*ends, 0)]
    return struct.pack("<2sHI", b"II", 42, start) + bytes(10**4) + b"".join(pages)


def bombs() -> list[tuple[str, bytes]]:
    made = {
        "0.png": claiming(50_000),
        "1.png": saved(Image.new("L", (SIDE, SIDE)), "PNG"),
        "2.tiff": one_page_again(),
    }
    captions = [(f"bomb{name[0]}.txt", b"a caption") for name in made]
    return sorted([*((f"bomb{name}", data) for name, data in made.items()), *captions])


def shards(folder: Path, data: Path) -> None:
    """Those of the benchmark, and beside them `bombs.tar`, `lines.jsonl` and `table.parquet`."""
    of_bench = image_shards(folder, data)
    members = read(of_bench / "warm-clipart.tar")
    pictures = [content for name, content in members if name.endswith(".png")]
    captions = [content.decode() for name, content in members if name.endswith(".txt")]
    for warm, turns in (("warm-", 1), ("", TURNS)):
        for name in ("photos.tar", "clipart.tar"):
            (folder / f"{warm}{name}").symlink_to(of_bench / f"{warm}{name}")
        write(folder / f"{warm}bombs.tar", [*members, *bombs()], turns)
        with (folder / f"{warm}lines.jsonl").open("w", encoding="utf-8") as file:
            for caption, picture in zip(captions * turns, pictures * turns, strict=True):
                url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
                file.write(json.dumps({"text": caption, "image": url}) + "\n")
        table = pa.table({"text": captions * turns, "image": pictures * turns})
        pq.write_table(table, folder / f"{warm}table.parquet")


def cost(python: str, step: str, folder: Path) -> dict[str, Any]:
    """Of one step in a process of its own, behind a small turn of it."""
    given = {"tool": str(TOOLS / "images_ours.py"), "step": step, "core": None}
    given |= dict.fromkeys(("warm", "part", "scratch"), str(folder))
    around = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "BENCH_IMAGES": str(folder)}
    command = [python, str(WORKER), json.dumps(given)]
    ended = subprocess.run(command, env=around, stdout=subprocess.PIPE, check=True, cwd=folder)
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m tests.bench.pictured", description=__doc__)
    ask.add_argument("steps", nargs="*", help="some of them")
    ask.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    ask.add_argument("--beside", help="Python of another checkout's environment")
    ask.add_argument("--rounds", type=int, default=5)
    args = ask.parse_args()
    pythons = [sys.executable, *([args.beside] if args.beside else [])]
    with tempfile.TemporaryDirectory() as scratch:
        shards(Path(scratch), args.data)
        for step in args.steps or STEPS:
            turns = [[cost(p, step, Path(scratch)) for p in pythons] for _ in range(args.rounds)]
            for name, found in zip(("ours", "beside"), zip(*turns, strict=True), strict=False):
                cpu = statistics.median(c["cpu_s"] for c in found)
                each = 1e3 * cpu / found[0]["counts"]["images"]
                peak = max(c["peak_mb"] for c in found)
                print(f"{step:28}{name:8}{cpu:7.2f} CPU s {each:6.2f} ms an image {peak:6.0f} MB")
            if args.beside:
                ratios = [mine["cpu_s"] / other["cpu_s"] for mine, other in turns]
                low, high = min(ratios), max(ratios)
                print(f"{'':28}ratio {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
