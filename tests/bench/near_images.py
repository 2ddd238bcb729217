"""Near images of six kinds: which variants made by rule are found, and what leaves that is not.

    python -m tests.bench.near_images --images FOLDER --repositories FOLDER

Photos and clip art are those of the tars in --images; icons, flags, screenshots, scans and more
photos are files of clones (FOLDER/OWNER+NAME/repo, a git directory). Of each kind the images, and
behind them their variants, go through the hashes and looks of `near_images` as in a run. What
leaves is right if the image it names is a variant of the same one, or looks like it: by truth, two
images are near whose every 16 x 16 of 128 x 128 pixels differ by less than MOST of 255 levels in
the mean, on white and on grey. Beside it stands `imagehash.phash` within 4 bits, as it was used.
"""

import argparse
import io
import random
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import imagehash
import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from tokenmill.dedup.same.images import stars
from tokenmill.pipelines.filters.images.looks import ON_GREY, ON_WHITE, PLAIN, Views, looks_of

TARS = {"photos": "coco_ccby_wds.tar", "clip art": "openclipart_400.tar"}
CLONES = {  # kind: repository, commit, what its names begin with
    "photos": [("EliSchwartz/imagenet-sample-images", "bc69043e2862", "n")],
    "icons": [("markjames/famfamfam-silk-icons", "ae40eb194a6e", "icons/")],
    "flags": [("hjnilsson/country-flags", "5746d5a0b5a9", "png250px/")],
    "screenshots": [
        ("Zettlr/zettlr-docs", "f29e768ea69c", "docs/en/"),
        ("obsidianmd/obsidian-help", "fa179e91e86e", "en/"),
    ],
    "scans": [
        ("tesseract-ocr/test", "232ff181c665", ""),
        ("tmbarchive/ocropy", "fe78a044691d", ""),
    ],
}
ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
SEED, MOST, MOST_PIXELS, DISTANCE = 25, 32.0, 10**8, 4

Rule = Callable[[Image.Image], Image.Image]


def plain(image: Image.Image) -> Image.Image:
    """As RGB, or RGBA."""
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def on(image: Image.Image, level: int) -> Image.Image:
    if image.mode != "RGBA":
        return image
    back = Image.new("RGBA", image.size, (level, level, level, 255))
    return Image.alpha_composite(back, image).convert("RGB")


def coded(image: Image.Image, kind: str, **options: int) -> Image.Image:
    file = io.BytesIO()
    (on(image, 255) if kind == "JPEG" else image).save(file, kind, **options)
    return Image.open(file)


def opaque(rule: Rule) -> Rule:
    """A rule of colours, which leaves what is transparent."""

    def ruled(image: Image.Image) -> Image.Image:
        made = rule(image.convert("RGB"))
        if image.mode == "RGBA":
            made.putalpha(image.getchannel("A"))
        return made

    return ruled


def sized(times: float) -> Rule:
    return lambda image: image.resize(
        (max(round(image.width * times), 1), max(round(image.height * times), 1)),
        Image.Resampling.BICUBIC,
    )


def cropped(share: float) -> Rule:
    def crop(image: Image.Image) -> Image.Image:
        dx, dy = image.width * share / 2, image.height * share / 2
        box = round(dx), round(dy), round(image.width - dx), round(image.height - dy)
        return image.crop(box)

    return crop


def corner(image: Image.Image) -> Image.Image:
    return image.crop((0, 0, round(image.width * 0.95), round(image.height * 0.95)))


RULES: dict[str, Rule] = {
    "JPEG 75": lambda image: coded(image, "JPEG", quality=75),
    "JPEG 20": lambda image: coded(image, "JPEG", quality=20),
    "WebP 50": lambda image: coded(image, "WEBP", quality=50),
    "64 colours": lambda image: on(image, 255).quantize(64),
    "half": sized(0.5),
    "two thirds": sized(2 / 3),
    "double": sized(2),
    "grey": opaque(lambda image: image.convert("L").convert("RGB")),
    "brighter 20 %": opaque(lambda image: ImageEnhance.Brightness(image).enhance(1.2)),
    "darker 20 %": opaque(lambda image: ImageEnhance.Brightness(image).enhance(0.8)),
    "contrast 20 %": opaque(lambda image: ImageEnhance.Contrast(image).enhance(1.2)),
    "crop 1 %": cropped(0.01),
    "crop 2.5 %": cropped(0.025),
    "crop 5 %": cropped(0.05),
    "corner 5 %": corner,
    "flip": ImageOps.mirror,
    "turned 90": lambda image: image.transpose(Image.Transpose.ROTATE_90),
}
BY_OPTION = ("crop 5 %", "corner 5 %", "flip", "turned 90")  # not asked of the defaults


def sources(kind: str, images: Path, clones: Path, most: int) -> Iterator[Image.Image]:
    """Images of a kind that decode, each once."""
    found = [*_of_tar(images / TARS[kind])] if kind in TARS else []
    for repository, commit, begin in CLONES.get(kind, ()):
        git = clones / repository.replace("/", "+") / "repo"
        if git.exists():
            found += _of_clone(git, commit, begin)
    random.Random(SEED).shuffle(found)
    for data in list(dict.fromkeys(found))[:most]:
        try:
            image = Image.open(io.BytesIO(data))
            if image.width * image.height <= MOST_PIXELS // 20:
                yield plain(image)
        except OSError:
            continue


def _of_tar(path: Path) -> Iterator[bytes]:
    with tarfile.open(path) as tar:
        for member in tar:
            if member.name.endswith(ENDINGS):
                yield tar.extractfile(member).read()


def _of_clone(git: Path, commit: str, begin: str) -> Iterator[bytes]:
    command = ["git", f"--git-dir={git}"]
    tree = subprocess.check_output([*command, "ls-tree", "-r", commit], text=True)
    for line in tree.splitlines():
        facts, name = line.split("\t")
        if name.startswith(begin) and name.lower().endswith(ENDINGS):
            blob = [*command, "cat-file", "blob", facts.split()[2]]
            yield subprocess.run(blob, capture_output=True).stdout  # b"" of one that is absent


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def truly_near(one: np.ndarray, other: np.ndarray) -> bool:
    apart = np.abs(one.astype(np.float64) - other).mean(axis=-1)
    return bool(apart.reshape(2, 8, 16, 8, 16).mean(axis=(2, 4)).max() < MOST)


def shown(image: Image.Image) -> np.ndarray:
    """(2, 128, 128, 3) on white, on grey."""
    each = [on(image, level).resize((128, 128), Image.Resampling.BOX) for level in (255, 128)]
    return np.stack([np.asarray(one, np.uint8) for one in each])


def first_near(hashes: list[int], distance: int) -> np.ndarray:
    """Of each hash the first that is near, though that may leave too."""
    every = np.array(hashes, np.uint64)
    return np.array([np.argmax(np.bitwise_count(every ^ one) <= distance) for one in every])


def measure(kind: str, found: list[Image.Image], views: Views) -> None:
    rules = {name: rule for name, rule in RULES.items() if any(views) or name not in BY_OPTION}
    looks, owners, pictures, peer = [], [], [], []
    for name, rule in {"itself": lambda image: image, **rules}.items():
        for owner, image in enumerate(found):
            made = rule(image)
            as_file = coded(image, "JPEG", quality=75) if name == "JPEG 75" else made
            looks.append(looks_of(png(as_file), MOST_PIXELS, views))
            peer.append(int(str(imagehash.phash(made)), 16))
            owners.append(owner)
            pictures.append(shown(plain(made)) if name == "itself" else None)
    kinds = np.array([look.kind for look in looks], np.uint8)
    there = np.flatnonzero((kinds == ON_WHITE) | (kinds == ON_GREY))
    hashes = np.stack([looks[i].hashes for i in there])
    small = np.stack([looks[i].looks for i in there])
    of = np.arange(len(looks))
    of[there] = there[stars(hashes, small, kinds[there], DISTANCE).of]
    n = len(found)
    print(f"{kind}: {n} images, {(kinds[:n] == PLAIN).sum()} plain")
    for title, named in {"near_images": of, "pHash": first_near(peer, DISTANCE)}.items():
        going = np.flatnonzero(named != np.arange(len(named)))
        right = [
            owners[i] == owners[named[i]]
            or truly_near(pictures[owners[i]], pictures[owners[named[i]]])
            for i in going
        ]
        among = going < n
        wrong = int((~np.array(right, bool) & among).sum())
        print(
            f"  {title}: precision {np.mean(right):.4f} of {len(going):,} that leave;"
            f" among the images themselves {wrong} of {among.sum()} are wrong"
        )
        shares = [
            f"{name} {(named[n * k : n * (k + 1)] != np.arange(n * k, n * (k + 1))).mean():.3f}"
            for k, name in enumerate(rules, 1)
        ]
        print("    " + ", ".join(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--most", type=int, default=300, help="images of a kind")
    parser.add_argument("--views", action="store_true", help="flips, rotations and crops too")
    parser.add_argument("kinds", nargs="*")
    asked = parser.parse_args()
    for kind in asked.kinds or dict.fromkeys((*TARS, *CLONES)):
        found = list(sources(kind, asked.images, asked.repositories, asked.most))
        measure(kind, found, Views(*[asked.views] * 3))


if __name__ == "__main__":
    main()
