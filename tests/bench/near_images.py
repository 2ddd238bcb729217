"""Near images of six kinds: which variants made by rule are found, and what leaves that is not.

    python -m tests.bench.near_images --from FOLDER FOLDER [--set chosen] [--views] [KIND ...]

Each FOLDER holds some of the sources: tars, clones (OWNER+NAME/repo, a git directory) and Debian's
packages (NAME, by `dpkg-deb -x`). Limits were chosen on one set, the other is held out. Of each
kind all images go through the hashes and looks of `near_images` as in a run, and behind them
variants of some. What leaves is right if the image it names is a variant of the same one, or looks
like it, turned as was asked for: by truth, two images are near whose every 16 x 16 of 128 x 128
pixels differ by less than MOST of 255 levels in the mean, on white and on grey, or in brightness if
one is grey. Beside it stands `imagehash.phash` within 4 bits. Printed is the table of the page, and
sets whose names tell which images are of one.
"""

import argparse
import io
import random
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import imagehash
import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from tests.bench.truth import interval
from tokenmill.dedup.same.images import stars
from tokenmill.pipelines.corpus.looks import (
    ON_GREY,
    ON_WHITE,
    PLAIN,
    TURNS,
    Views,
    looks_of,
)

HELP = "gimp-help-en/usr/share/gimp/2.0/help/en/images"
SETS = {  # set, kind: tar, package/folder, or repository@commit/folder
    "chosen": {
        "photos": [
            "coco_ccby_wds.tar",
            "EliSchwartz/imagenet-sample-images@bc69043e2862/",
        ],
        "clip art": ["openclipart_400.tar"],
        "icons": ["markjames/famfamfam-silk-icons@ae40eb194a6e/icons/"],
        "flags": ["hjnilsson/country-flags@5746d5a0b5a9/png250px/"],
        "screenshots": [
            "Zettlr/zettlr-docs@f29e768ea69c/docs/en/",
            "obsidianmd/obsidian-help@fa179e91e86e/en/",
        ],
        "scans": ["tesseract-ocr/test@232ff181c665/", "tmbarchive/ocropy@fe78a044691d/"],
    },
    "held out": {
        "photos": ["BIDS/BSDS500@a04b7c6c3a9f/BSDS500/data/images/"],
        "clip art": ["openclipart-png/usr/share/openclipart/png/"],
        "icons, 48 px": ["mate-icon-theme/usr/share/icons/mate/48x48/"],
        "screenshots": [
            f"{HELP}/{part}/" for part in ("dialogs", "menus", "preferences", "using", "toolbox")
        ],
        "scans": ["zzzDavid/ICDAR-2019-SROIE@27be4271b251/data/img/"],
    },
}
LABELLED = {  # title: sources, and what of a name says which image it is
    "icons of one name, 32 to 256 px": (
        ["gnome-icon-theme/usr/share/icons/gnome/", "mate-icon-theme/usr/share/icons/mate/"],
        r"icons/\w+/(?:32x32|48x48|256x256)/(.+)\.png",
    ),
    "a photo in 12 versions (PDQ)": (
        ["facebook/ThreatExchange@baefb4ed67b6/pdq/data/"],
        r"pdq/data/(bridge)-mods/",
    ),
    "a photo turned and mirrored (PDQ)": (
        ["facebook/ThreatExchange@baefb4ed67b6/pdq/data/"],
        r"pdq/data/reg-test-input/dih/(bridge)",
    ),
    "photos resized, grey (imagededup)": (
        ["idealo/imagededup@57a7e855eb00/tests/data/"],
        r"tests/data/(?:base_images/|mixed_images/|)(ukbench\d+)(?:_resize|_gray|)\.jpg",
    ),
}
ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
SEED, MOST, MOST_PIXELS, DISTANCE = 25, 32.0, 10**8, 4
GREY = 2.0  # levels between the channels of a pixel, in the mean: less is grey

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


JPEG_75 = "JPEG, quality 75"
RULES: dict[str, Rule] = {
    JPEG_75: lambda image: coded(image, "JPEG", quality=75),
    "JPEG, quality 20": lambda image: coded(image, "JPEG", quality=20),
    "WebP, quality 50": lambda image: coded(image, "WEBP", quality=50),
    "64 colours": lambda image: on(image, 255).quantize(64),
    "half the size": sized(0.5),
    "two thirds": sized(2 / 3),
    "double": sized(2),
    "grey": opaque(lambda image: image.convert("L").convert("RGB")),
    "brighter by 20 %": opaque(lambda image: ImageEnhance.Brightness(image).enhance(1.2)),
    "darker by 20 %": opaque(lambda image: ImageEnhance.Brightness(image).enhance(0.8)),
    "contrast by 20 %": opaque(lambda image: ImageEnhance.Contrast(image).enhance(1.2)),
    "crop by 1 %": cropped(0.01),
    "crop by 2.5 %": cropped(0.025),
    "crop by 5 %": cropped(0.05),
    "crop by 5 % from two sides": corner,
    "mirrored": ImageOps.mirror,
    "turned by 90 degrees": lambda image: image.transpose(Image.Transpose.ROTATE_90),
}
BY_OPTION = (
    "crop by 5 %",
    "crop by 5 % from two sides",
    "mirrored",
    "turned by 90 degrees",
)  # not asked of the defaults


def files(source: str, folders: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of a source's images."""
    owner, _, rest = source.partition("@")
    commit, _, begin = rest.partition("/")
    for folder in folders:
        git = folder / owner.replace("/", "+") / "repo"
        if rest and git.exists():
            yield from _of_clone(git, commit, begin)
        elif source.endswith(".tar") and (folder / source).exists():
            yield from _of_tar(folder / source)
        elif not rest and (folder / source).is_dir():
            for path in sorted((folder / source).rglob("*")):
                if path.suffix.lower() in ENDINGS and not path.is_symlink():
                    yield str(path.relative_to(folder)), path.read_bytes()


def _of_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as tar:
        for member in tar:
            if member.name.endswith(ENDINGS):
                yield member.name, tar.extractfile(member).read()


def _of_clone(git: Path, commit: str, begin: str) -> Iterator[tuple[str, bytes]]:
    command = ["git", f"--git-dir={git}"]
    tree = subprocess.check_output([*command, "ls-tree", "-r", commit], text=True)
    for line in tree.splitlines():
        facts, name = line.split("\t")
        if name.startswith(begin) and name.lower().endswith(ENDINGS):
            blob = [*command, "cat-file", "blob", facts.split()[2]]
            yield name, subprocess.run(blob, capture_output=True).stdout  # b"" of one not there


def opened(data: bytes) -> Image.Image | None:
    try:
        image = Image.open(io.BytesIO(data))
        return plain(image) if image.width * image.height <= MOST_PIXELS // 20 else None
    except (OSError, Image.DecompressionBombError):
        return None


def sources(of: list[str], folders: list[Path], most: int) -> list[bytes]:
    """Images that decode, each once, by chance."""
    found = [data for source in of for _, data in files(source, folders)]
    random.Random(SEED).shuffle(found)
    return list(islice((one for one in dict.fromkeys(found) if opened(one) is not None), most))


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def truly_near(one: np.ndarray, other: np.ndarray) -> bool:
    """Of which the one may be the other's grey copy."""
    colours = [np.ptp(shown, axis=-1).mean() for shown in (one, other)]
    if min(colours) < GREY <= max(colours):
        one, other = (shown @ np.array([0.299, 0.587, 0.114])[:, None] for shown in (one, other))
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


def near_of(data: list[bytes], views: Views) -> tuple[np.ndarray, np.ndarray]:
    """Of each image the one it leaves for, else itself; and its kind."""
    found = [looks_of(one, MOST_PIXELS, views) for one in data]
    kinds = np.array([look.kind for look in found], np.uint8)
    there = np.flatnonzero((kinds == ON_WHITE) | (kinds == ON_GREY))
    of = np.arange(len(data))
    hashes = np.stack([found[i].hashes for i in there])
    looks = np.stack([found[i].looks for i in there])
    of[there] = there[stars(hashes, looks, kinds[there], DISTANCE).of]
    return of, kinds


class Told(NamedTuple):
    """What a column of the table says. recall: by variant."""

    kind: str
    right: int
    leaving: int
    precision_of_phash: float
    wrong: str
    wrong_of_phash: str
    recall: dict[str, float]


def measure(kind: str, found: list[bytes], most: int, views: Views) -> Told:
    n, m = len(found), min(most, len(found))
    rules = {name: rule for name, rule in RULES.items() if any(views) or name not in BY_OPTION}
    data, owners = list(found), list(range(n))
    peer = [int(str(imagehash.phash(opened(one))), 16) for one in found]
    for name, rule in rules.items():
        for owner, one in enumerate(found[:m]):
            made = rule(opened(one))
            data.append(png(coded(made, "JPEG", quality=75) if name == JPEG_75 else made))
            peer.append(int(str(imagehash.phash(made)), 16))
            owners.append(owner)
    of, kinds = near_of(data, views)
    print(f"{kind}: {n} images, {(kinds[:n] == PLAIN).sum()} plain; variants of {m}", flush=True)
    told = []
    for named in (of, first_near(peer, DISTANCE)):
        going = np.flatnonzero(named != np.arange(len(named)))
        right = np.array([_right(found, owners[i], owners[named[i]], views) for i in going], bool)
        among = going < n
        wrong = f"{(~right & among).sum()} of {among.sum()}"
        told.append((int(right.sum()), len(right), wrong))
    recall = {
        name: float((of[begin : begin + m] != np.arange(begin, begin + m)).mean())
        for name, begin in zip(rules, range(n, len(data), m), strict=True)
    }
    (right, leaving, wrong), (peer_right, peer_leaving, peer_wrong) = told
    return Told(kind, right, leaving, peer_right / peer_leaving, wrong, peer_wrong, recall)


def table(columns: list[Told]) -> str:
    """As it stands on the page."""

    def share(value: float, digits: int) -> str:
        return f"{value:.{digits}f}".removeprefix("0")

    rows = [
        ["", *(c.kind for c in columns)],
        ["---"] * (len(columns) + 1),
        [
            "precision of what leaves",
            *(f"{share(c.right / c.leaving, 3)} of {c.leaving:,}" for c in columns),
        ],
        ["95 % interval, from", *(share(interval(c.right, c.leaving)[0], 4) for c in columns)],
        ["of pHash", *(share(c.precision_of_phash, 3) for c in columns)],
        ["among the images themselves, wrong of removed", *(c.wrong for c in columns)],
        ["of pHash", *(c.wrong_of_phash for c in columns)],
    ]
    for name in columns[0].recall:
        first = "found: " if name == JPEG_75 else ""
        rows.append([first + name, *(share(c.recall[name], 2) for c in columns)])
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows)


def _right(found: list[bytes], one: int, other: int, views: Views) -> bool:
    """Whether two are of one image, or look alike, the one turned as was asked for."""
    if one == other:
        return True
    this, that = (shown(opened(found[owner])) for owner in (one, other))
    turned = (np.stack([TURNS[turn](each) for each in this]) for turn in views.turns)
    return any(truly_near(each, that) for each in (this, *turned))


def labelled(title: str, folders: list[Path], views: Views) -> None:
    of, pattern = LABELLED[title]
    every = {
        data: match.groups()
        for source in of
        for name, data in files(source, folders)
        if (match := re.search(pattern, name)) and opened(data) is not None
    }
    data, labels = list(every), list(every.values())
    named, _ = near_of(data, views)
    first = {label: i for i, label in reversed(list(enumerate(labels)))}
    going = np.flatnonzero(named != np.arange(len(data)))
    same = sum(labels[i] == labels[named[i]] for i in going)
    wrong = [
        i for i in going if labels[i] != labels[named[i]] and not _right(data, i, named[i], views)
    ]
    print(
        f"{title}: {len(data)} images of {len(first)}; {same} of {len(data) - len(first)} leave"
        f" for one of theirs, {len(going) - same} for another, of which {len(wrong)} are wrong"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="folders", type=Path, nargs="+", required=True)
    parser.add_argument("--set", default="held out", choices=list(SETS))
    parser.add_argument("--images", type=int, default=400, help="of a kind, by chance")
    parser.add_argument("--most", type=int, default=100, help="of these with variants")
    parser.add_argument("--views", action="store_true", help="flips, rotations and crops too")
    parser.add_argument("kinds", nargs="*")
    asked = parser.parse_args()
    views = Views(*[asked.views] * 3)
    columns = []
    for kind, of in SETS[asked.set].items():
        if not asked.kinds or kind.partition(",")[0] in asked.kinds:
            found = sources(of, asked.folders, asked.images)
            columns.append(measure(kind, found, asked.most, views))
    print(table(columns))
    for title in LABELLED if not asked.kinds else ():
        labelled(title, asked.folders, views)


if __name__ == "__main__":
    main()
