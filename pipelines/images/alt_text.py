"""Alt texts that say nothing of their image: URLs, names of files, and words such as "image"."""

from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

SAYS_SOMETHING, EMPTY, URL, FILE_NAME, BOILERPLATE = range(5)

# of lines without whitespace around, ASCII's capitals made small; what RE2 and `re` both read alike
URLS = r"^(?:[a-z][a-z0-9+.-]*://|www\.)[^ \t\f\r]+$"
TIMES = "\u00d7"
FILE_NAMES = "|".join(
    [
        r"^.+\.(?:jpe?g|png|gif|webp|bmp|tiff?|svg|heic|avif|ico)$",  # of any name
        # as cameras, telephones and screenshots name them: IMG_1234, DSC01234-2, P1000123 (1)
        r"^(?:img|dscn?|dscf|pxl|gopr|mvi|vid|wp|p|whatsapp image|screen ?shot)[ _-]*[0-9]{3,}"
        r"[a-z0-9_.-]*(?: ?\([0-9]+\))?$",
        r"^[0-9a-f]{16,}$",  # digests
        rf"^[0-9]+ ?[x{TIMES}] ?[0-9]+(?: ?px)?$",  # sizes: 1920x1080
    ]
)

# What stands there once all but letters is taken out, in lower case. A list of ours.
PHRASES = """
image images img imgs picture pictures pic pics photo photos photograph photographs photography
foto fotos bild bilder imagen imagenes imagem imagens immagine immagini afbeelding obraz zdjęcie
изображение фото картинка 图片 图像 画像 写真 이미지 사진 صورة

icon logo banner thumbnail thumb avatar cover header background wallpaper screenshot slide
slideshow gallery untitled unnamed placeholder spacer blank pixel null none undefined nan unknown
default caption title description alt loading zoom enlarge play download share advertisement ad ads
"""
LONGER_PHRASES = (
    "alt text", "alt img", "alt image", "image alt", "image alt text", "image description",
    "image title", "image caption", "image not found", "image not available", "image unavailable",
    "image may contain", "no image", "no image available", "no photo", "no photo available",
    "no picture", "no description", "no description available", "no caption", "no title",
    "no alt text", "default image", "featured image", "main image", "hero image", "header image",
    "background image", "banner image", "cover image", "cover photo", "thumbnail image",
    "preview image", "post image", "blog image", "article image", "product image",
    "product photo", "gallery image", "image gallery", "photo gallery", "slider image",
    "stock photo", "stock image", "stock photography", "profile photo", "profile picture",
    "profile image", "user avatar", "author avatar", "embedded image", "embedded image permalink",
    "loading image", "placeholder image", "screen shot", "click to enlarge",
    "click to enlarge image", "click to enlarge picture", "click to view", "view larger image",
    "view full size image", "image result", "picture of", "photo of", "image of", "n a",
)  # fmt: skip
BARE = frozenset(chain(PHRASES.split(), LONGER_PHRASES))


def kinds(text: pa.Array) -> npt.NDArray[np.uint8]:
    r"""(n_texts,) uint8, what is wrong with each: EMPTY, URL, FILE_NAME, BOILERPLATE, or nothing.

    text: (n_texts,) large_string. Of several lines, each a caption, one that says something is
    enough; else the first that is not blank tells.
    """
    lists = pc.split_pattern(text, "\n")
    of_line = _kinds_of_lines(pc.utf8_trim_whitespace(lists.flatten()))
    ends = np.cumsum(np.asarray(lists.value_lengths()).astype(np.int64))
    owners = np.repeat(np.arange(len(text)), np.diff(ends, prepend=0))
    found = np.full(len(text), EMPTY, np.uint8)
    told = np.flatnonzero(of_line != EMPTY)[::-1]
    found[owners[told]] = of_line[told]  # the first line is written last
    found[owners[of_line == SAYS_SOMETHING]] = SAYS_SOMETHING
    return found


def _kinds_of_lines(lines: pa.Array) -> npt.NDArray[np.uint8]:
    bare = pc.utf8_trim_whitespace(
        pc.replace_substring_regex(pc.utf8_lower(lines), r"[^\pL]+", " ")
    )
    conditions = [
        pc.equal(lines, ""),
        pc.match_substring_regex(pc.ascii_lower(lines), URLS),
        pc.match_substring_regex(pc.ascii_lower(lines), FILE_NAMES),
        pc.is_in(bare, pa.array(sorted(BARE), bare.type)),
    ]
    given = [np.asarray(condition) for condition in conditions]
    return np.select(given, [EMPTY, URL, FILE_NAME, BOILERPLATE], SAYS_SOMETHING).astype(np.uint8)
