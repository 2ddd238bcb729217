"""The own header parsers say what Pillow says, or leave it to Pillow."""

import io
import zlib

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin, UnidentifiedImageError

from tests.pipelines.read.images.shards import encoded, gif, jpeg, picture, png, webp
from tokenmill.pipelines.read.batch import Lost
from tokenmill.pipelines.read.images.facts import image_facts, opened
from tokenmill.pipelines.read.images.headers import canvas, exif_orientation, read_header
from tokenmill.pipelines.read.options import Images

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore::ResourceWarning")
MODES = {
    "JPEG": ("1", "L", "RGB", "CMYK"),
    "PNG": ("1", "L", "LA", "I;16", "P", "RGB", "RGBA"),
    "WEBP": ("L", "RGB", "RGBA", "P"),
    "GIF": ("1", "L", "P", "RGB", "RGBA"),
}
ORIENTATION = 0x0112


@pytest.fixture(scope="module", autouse=True)
def pixels_without_bound():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image, "MAX_IMAGE_PIXELS", None)
        yield


def of_pillow(data: bytes) -> tuple[str, str, int, int] | None:
    """Format, mode, width and height by `PIL.Image.open`; None where it opens nothing."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return (str(image.format).lower(), image.mode, *image.size)
    except (UnidentifiedImageError, OSError, ValueError, EOFError):
        return None


def exif(orientation: int) -> Image.Exif:
    made = Image.Exif()
    made[ORIENTATION] = orientation
    return made


@st.composite
def files(draw) -> tuple[str, bytes]:
    kind = draw(st.sampled_from(sorted(MODES)))
    mode = draw(st.sampled_from(MODES[kind]))
    size = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    colour = tuple(draw(st.lists(st.integers(0, 255), min_size=3, max_size=3)))
    made = Image.new("RGB", size, colour).convert(mode if mode != "I;16" else "I").convert(mode)
    options = {
        "JPEG": {"progressive": st.booleans(), "comment": st.binary(max_size=20)},
        "PNG": {"icc_profile": st.one_of(st.none(), st.binary(min_size=1, max_size=300))},
        "WEBP": {"lossless": st.booleans(), "quality": st.integers(0, 100)},
        "GIF": {"comment": st.binary(max_size=600), "loop": st.integers(0, 3)},
    }[kind]
    chosen = {name: draw(values) for name, values in options.items() if draw(st.booleans())}
    if kind in ("JPEG", "PNG", "WEBP") and draw(st.booleans()):
        chosen["exif"] = exif(draw(st.integers(1, 8)))
    return kind, encoded(made, kind, **chosen)


@given(files())
def test_plain_files_are_told_without_pillow(file):
    kind, data = file
    found = read_header(data)
    if found is None:
        assert kind == "WEBP"  # extended ones are left to Pillow
    else:
        assert found[:4] == of_pillow(data)
        assert found == read_header(memoryview(data))


@given(files(), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_files_are_never_told_otherwise_than_pillow_does(file, data):
    damaged = bytearray(file[1])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, min(len(damaged) - 1, 400)))
        match data.draw(st.sampled_from(("byte", "cut", "drop", "insert"))):
            case "byte":
                damaged[at] = data.draw(st.integers(0, 255))
            case "cut":
                del damaged[max(at, 1) :]
            case "drop" if len(damaged) > 8:
                del damaged[at : at + 3]
            case "insert":
                damaged[at:at] = data.draw(st.binary(min_size=1, max_size=4))
    found = read_header(bytes(damaged))
    if found is not None:
        assert found[:4] == of_pillow(bytes(damaged))


@given(files(), st.data())
def test_a_file_cut_anywhere_is_told_or_named(file, data):
    cut = file[1][: data.draw(st.integers(1, len(file[1])))]
    found = read_header(cut) or opened(cut, Images().max_pixels)
    if isinstance(found, Lost):
        assert of_pillow(cut) is None
        assert found.cause in ("not_an_image", "truncated_header", "damaged_header")
    else:
        assert found[:4] == of_pillow(cut)


def chunk(name: bytes, body: bytes, *, right: bool = True) -> bytes:
    total = zlib.crc32(name + body) ^ (not right)
    return len(body).to_bytes(4) + name + body + total.to_bytes(4)


def png_of(*chunks: bytes, depth: int = 8, colour: int = 2, width: int = 3, height: int = 2):
    head = width.to_bytes(4) + height.to_bytes(4) + bytes((depth, colour, 0, 0, 0))
    data = zlib.compress(bytes(64))
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            *chunks,
            chunk(b"IDAT", data),
            chunk(b"IEND", b""),
        )
    )


PNGS = {
    "plain": png_of(),
    "16-bit": png_of(depth=16, colour=0),
    "16-bit colour": png_of(depth=16, colour=2),
    "16-bit grey with alpha": png_of(depth=16, colour=4),
    "2-bit": png_of(depth=2, colour=0),
    "4-bit": png_of(depth=4, colour=0),
    "long background": png_of(chunk(b"bKGD", bytes(6)), chunk(b"tIME", bytes(7))),
    "empty background": png_of(chunk(b"bKGD", b"")),
    "1-bit": png_of(depth=1, colour=0),
    "palette": png_of(chunk(b"PLTE", bytes(9)), depth=4, colour=3),
    "no such depth": png_of(depth=3),
    "no width": png_of(width=0),
    "wrong sum": png_of(chunk(b"tEXt", b"a\0b", right=False)),
    "private chunk": png_of(chunk(b"abCd", b"?")),
    "no name of a chunk": png_of(chunk(b"\x00\x01\x02\x03", b"?")),
    "short gamma": png_of(chunk(b"gAMA", b"\0\0")),
    "short transparency": png_of(chunk(b"tRNS", b"\0\0")),
    "transparency": png_of(chunk(b"tRNS", bytes(6))),
    "unknown compression of a profile": png_of(chunk(b"iCCP", b"x\0\1?")),
    "damaged profile": png_of(chunk(b"iCCP", b"x\0\0?")),
    "profile without end of its name": png_of(chunk(b"iCCP", b"xyz")),
    "bomb in a profile": png_of(chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(2**21)))),
    "bomb in a text": png_of(chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(2**21)))),
    "text": png_of(chunk(b"tEXt", b"a\0b"), chunk(b"iTXt", b"a\0\0\0\0\0b")),
    "odd text": png_of(chunk(b"iTXt", b"a"), chunk(b"iTXt", b"a\0"), chunk(b"tEXt", b"")),
    "compressed text": png_of(chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(bytes(2**21)))),
    "animation": png_of(chunk(b"acTL", (1).to_bytes(4) + bytes(4))),
    "two headers": png_of(chunk(b"IHDR", bytes(7) + b"\1\0\0\0\1\x08\2\0\0\0")),
    "no pixels": png_of()[:33] + chunk(b"IEND", b""),
}


@pytest.mark.parametrize("name", PNGS)
def test_odd_png_is_told_as_pillow_does(name):
    found = read_header(PNGS[name])
    assert found is None or found[:4] == of_pillow(PNGS[name])


def test_which_pngs_need_no_pillow():
    taken = {name for name, data in PNGS.items() if read_header(data) is not None}
    assert taken == {
        "plain", "16-bit", "16-bit colour", "16-bit grey with alpha", "2-bit", "4-bit", "1-bit",
        "palette", "long background", "empty background",
        "transparency", "damaged profile", "text", "odd text",
    }  # fmt: skip


@pytest.mark.parametrize("over", [0, 1])
def test_up_to_a_mebibyte_of_a_png_is_text(over):
    """Bounds of Pillow, which opens what is more."""
    texts = chunk(b"tEXt", bytes(2**19)), chunk(b"iTXt", bytes(2**19 + over))
    profile = chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(2**20 + over)))
    for data in (png_of(*texts), png_of(profile)):
        assert (read_header(data) is None) == bool(over)


def segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(body) + 2).to_bytes(2) + body


JPEGS = {
    "padding": b"\xff\xff",
    "junk": b"\x00\x01",
    "several pictures": segment(0xE2, b"MPF\0" + bytes(20)),
    "short profile": segment(0xE2, b"ICC_PROFILE\0\1"),
    "profile of two parts": segment(0xE2, b"ICC_PROFILE\0\1\2abc"),
    "short JFIF": segment(0xE0, b"JFIF\0"),
    "short Adobe": segment(0xEE, b"Adobe\0"),
    "Photoshop": segment(0xED, b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x02ab"),
    "Photoshop, cut in its name": segment(0xED, b"Photoshop 3.0\x008BIM\x04\x04"),
    "Photoshop, cut in its size": segment(0xED, b"Photoshop 3.0\x008BIM\x04\x04\0\0\0"),
    "empty table": segment(0xDB, b""),
    "short table": segment(0xDB, b"\0" + bytes(60)),
    "table of words": segment(0xDB, b"\x12" + bytes(128)),
    "length of one": b"\xff\xfe\0\1",
    "comment": segment(0xFE, b"hello"),
    "12-bit frame": segment(0xC0, b"\x0c\0\1\0\1\1\1\x11\0"),
    "two components": segment(0xC0, b"\x08\0\1\0\1\2\1\x11\0\2\x11\0"),
    "frame cut in a component": segment(0xC0, b"\x08\0\1\0\1\1\1\x11"),
    "restart": b"\xff\xd0",
    "end": b"\xff\xd9",
}


@pytest.mark.parametrize("name", JPEGS)
def test_odd_jpeg_is_told_as_pillow_does(name):
    data = jpeg(5, 4)
    odd = data[:2] + JPEGS[name] + data[2:]
    found = read_header(odd)
    assert found is None or found[:4] == of_pillow(odd)


def test_which_jpegs_need_no_pillow():
    data = jpeg(5, 4)
    taken = {name for name, odd in JPEGS.items() if read_header(data[:2] + odd + data[2:])}
    assert taken == {
        "profile of two parts", "Photoshop", "Photoshop, cut in its size", "empty table",
        "table of words", "comment",
    }  # fmt: skip


def gif_of(*extensions: bytes, frames: int = 1) -> bytes:
    picture = b",\0\0\0\0\3\0\2\0\0\2\2\x44\1\0"
    palette = bytes(range(6))
    return b"GIF89a\3\0\2\0\x80\0\0" + palette + b"".join(extensions) + picture * frames + b";"


GIFS = {
    "plain": gif_of(),
    "greys": gif_of().replace(bytes(range(6)), b"\0\0\0\1\1\1"),
    "control": gif_of(b"!\xf9\4\0\0\0\0\0"),
    "transparency": gif_of(b"!\xf9\4\1\0\0\0\0"),
    "short control": gif_of(b"!\xf9\2\0\0\0"),
    "control without colour": gif_of(b"!\xf9\3\0\0\0\0"),
    "transparency without colour": gif_of(b"!\xf9\3\1\0\0\0"),
    "empty control": gif_of(b"!\xf9\0"),
    "comment": gif_of(b"!\xfe\2hi\3you\0"),
    "empty comment": gif_of(b"!\xfe\0"),
    "loops": gif_of(b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0"),
    "loops without number": gif_of(b"!\xff\x0bNETSCAPE2.0\0"),
    "other application": gif_of(b"!\xff\x0bXMP DataXMP\0"),
    "empty application": gif_of(b"!\xff\0"),
    "text": gif_of(b"!\x01\2hi\0"),
    "empty text": gif_of(b"!\x01\0"),
    "junk": gif_of(b"?"),
    "no picture": gif_of(frames=0),
}


@pytest.mark.parametrize("name", GIFS)
def test_odd_gif_is_told_as_pillow_does(name):
    found = read_header(GIFS[name])
    assert found is None or found[:4] == of_pillow(GIFS[name])


def test_which_gifs_need_no_pillow():
    assert {name for name, data in GIFS.items() if read_header(data)} == {
        "plain", "greys", "control",
        "transparency", "control without colour", "comment", "empty comment",
        "loops", "other application", "text",
    }  # fmt: skip


def test_greys_in_order_are_no_palette():
    assert read_header(GIFS["greys"]).mode == "L"
    assert read_header(GIFS["plain"]).mode == "P"


def test_an_extended_webp_says_what_it_takes_to_open_it():
    assert canvas(encoded(picture(700, 300), "WEBP", exif=exif(1))) == (700, 300)
    assert canvas(webp()) is None


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("lossless", [True, False])
def test_plain_webps_need_no_pillow(size, lossless):
    data = encoded(picture(size, size, (9 * size, 0, 0)), "WEBP", lossless=lossless)
    assert read_header(data)[:4] == of_pillow(data) == ("webp", "RGB", size, size)
    assert read_header(data + b"rest") is not None
    assert read_header(data[:-1]) is None


def as_exif(orientation: int, order: str = "little", kind: int = 3, times: int = 1) -> bytes:
    """Exif by its bytes: the entry, as often as said, of a kind: 3 are SHORT, 4 LONG."""
    size = 2 if kind == 3 else 4
    parts = [(42, 2), (8, 4), (times, 2)]
    parts += [(ORIENTATION, 2), (kind, 2), (1, 4), (orientation, size), (0, 4 - size)] * times
    body = b"".join(value.to_bytes(n, order) for value, n in parts)
    return b"Exif\0\0" + (b"II" if order == "little" else b"MM") + body + bytes(4)


def as_xmp(orientation: int) -> bytes:
    return f'<x:xmpmeta><rdf:Description tiff:Orientation="{orientation}"/></x:xmpmeta>'.encode()


def asks_to_be_turned(data: bytes) -> bool:
    """By Pillow, of the file as it is stored."""
    with Image.open(io.BytesIO(data)) as image:
        return Image.Image.getexif(image).get(ORIENTATION, 1) in range(2, 9)


def turned_files(orientation: int):
    """(what it is, file) of all ways in which a picture says which way up it is."""
    kinds = ("JPEG", "PNG", "WEBP", "TIFF", "AVIF", "MPO")
    for kind in kinds:
        yield f"{kind} Exif", encoded(picture(9, 4), kind, exif=exif(orientation).tobytes())
    for name, options in {
        "big": {"order": "big"},
        "long": {"kind": 4},
        "long big": {"kind": 4, "order": "big"},
        "twice": {"times": 2},
    }.items():
        for kind in ("JPEG", "PNG", "WEBP"):
            data = as_exif(orientation, **options)
            yield f"{kind} {name}", encoded(picture(9, 4), kind, exif=data)
    about = PngImagePlugin.PngInfo()
    about.add_itxt("XML:com.adobe.xmp", as_xmp(orientation).decode())
    yield "PNG XMP", encoded(picture(9, 4), "PNG", pnginfo=about)
    hexed = as_exif(orientation).hex()
    about = PngImagePlugin.PngInfo()
    about.add_text("Raw profile type exif", f"\nexif\n{len(hexed) // 2:8}\n{hexed}\n")
    yield "PNG raw profile", encoded(picture(9, 4), "PNG", pnginfo=about)
    for kind in ("JPEG", "WEBP"):
        xmp = as_xmp(orientation)
        yield f"{kind} XMP", encoded(picture(9, 4), kind, xmp=xmp)
        both = {"exif": as_exif(1), "xmp": xmp}
        yield f"{kind} Exif before XMP", encoded(picture(9, 4), kind, **both)


@pytest.mark.parametrize("orientation", range(10))
def test_what_is_stored_turned_is_told_whatever_tells_it(orientation):
    told = set()
    for what, data in turned_files(orientation):
        wanted = asks_to_be_turned(data)
        assert ("exif_rotated" in image_facts(data, Images()).notes) == wanted, what
        told |= {what} if wanted else set()
    assert len(told) == (22 if 2 <= orientation <= 8 else 0)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("order", ["little", "big"])
def test_plain_exif_needs_no_pillow(kind, order):
    found = read_header(encoded(picture(9, 4), kind, exif=as_exif(6, order)))
    assert found == (kind.lower(), "RGB", 9, 4, ("exif_rotated",))


@pytest.mark.parametrize(("said", "turned"), [(3, 6), (2, 0)])
def test_orientation_is_looked_for_among_the_entries_that_there_are(said, turned):
    other, wanted = b"\1\0\3\0\1\0\0\0\6\0\0\0", b"\x12\1\3\0\1\0\0\0\6\0\0\0"
    data = b"Exif\0\0II\x2a\0\x08\0\0\0" + bytes((said, 0)) + other + other + wanted
    assert exif_orientation(data) == turned


@given(st.binary(max_size=40))
@example(b"II\x2a\0\x08\0\0\0\xff\xff")
def test_broken_exif_tells_nothing(junk):
    made = encoded(picture(9, 4), "JPEG", exif=b"Exif\0\0" + junk)
    found = read_header(made)
    assert found is None or found[:4] == of_pillow(made) == ("jpeg", "RGB", 9, 4)


def test_a_gif_is_as_large_as_its_first_picture():
    data = bytearray(gif(10, 10))
    at = data.index(b",\0\0\0\0\x0a\0\x0a\0")
    data[at + 5] = 30
    assert read_header(bytes(data))[:4] == of_pillow(bytes(data)) == ("gif", "P", 30, 10)


@pytest.mark.parametrize("frames", [1, 2, 5])
def test_a_gif_moves_if_it_has_more_pictures(frames):
    first, *more = (picture(9, 4, (40 * i, 0, 0)) for i in range(frames))
    data = encoded(first, "GIF", save_all=True, append_images=more, loop=0)
    assert read_header(data).notes == (("animated",) if frames > 1 else ())


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_pillow_tells_which_others_move(kind):
    more = [picture(9, 4, (0, 99, 0))]
    data = encoded(picture(9, 4), kind, save_all=True, append_images=more)
    assert read_header(data) is None
    assert opened(data, 10**6) == (kind.lower(), "RGB", 9, 4, ("animated",))


@pytest.mark.parametrize("make", [jpeg, png, webp, gif], ids=lambda m: m.__name__)
def test_the_first_bytes_alone_tell_nothing(make):
    data = make()
    assert all(read_header(data[:n]) is None for n in range(13))


def webp_of(name: bytes, body: bytes) -> bytes:
    size = len(body).to_bytes(4, "little")
    return b"RIFF" + (12 + len(body)).to_bytes(4, "little") + b"WEBP" + name + size + body


FRAME = segment(0xC0, b"\x08\0\4\0\5\1\1\x11\0") + segment(0xC4, bytes(17))
SCAN = segment(0xDA, b"\1\1\0\0\x3f\0") + b"\0\xff\xd9"
# The file, then how many of its changes need no Pillow, and of how many of these a note is told.
CHANGED = {
    "jpeg": (
        b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + JPEGS["table of words"]
        + FRAME + SCAN, 1634, 0,
    ),
    "jpeg of applications": (
        b"".join((
            b"\xff\xd8", segment(0xE1, as_exif(6)), segment(0xE2, b"ICC_PROFILE\0\1\1"),
            segment(0xEE, b"Adobe\0\0"), JPEGS["Photoshop"], FRAME, SCAN,
        )), 1005, 902,
    ),
    "jpeg of XMP": (
        b"\xff\xd8" + segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + as_xmp(8)) + FRAME + SCAN,
        1286, 780,
    ),
    "png": (png_of(chunk(b"eXIf", as_exif(6)[6:]), chunk(b"iTXt", b"a\0\0\0\0\0b")), 397, 397),
    "lossy webp": (webp_of(b"VP8 ", b"\x30\0\0\x9d\x01\x2a\5\0\4\0\0\0"), 67, 0),
    "shortest webp": (webp_of(b"VP8 ", b"\x30\0\0\x9d\x01\x2a\5\0\4\0"), 0, 0),
    "lossless webp": (webp_of(b"VP8L", b"\x2f\4\xc0\0\0\0"), 48, 0),
    "gif": (
        gif_of(GIFS["transparency"][19:27], b"!\xfe\2hi\0", GIFS["loops"][19:38], frames=2),
        714, 649,
    ),
    "gif of a grey palette": (
        b"GIF89a\3\0\2\0\0\0\0,\0\0\0\0\3\0\2\0\x80\0\0\0\1\1\1\2\2\x44\1\0;", 305, 0
    ),
}  # fmt: skip


def changed(data: bytes):
    """Each byte another, near and far, dropped, doubled; and the file cut before it."""
    for at, byte in enumerate(data):
        for new in {*(byte ^ 1 << bit for bit in range(8)), 0, 255, (byte + 1) % 256} - {byte}:
            yield data[:at] + bytes((new,)) + data[at + 1 :]
        yield from (data[:at] + data[at + 1 :], data[: at + 1] + data[at:], data[:at])


@pytest.mark.parametrize("name", CHANGED)
def test_each_changed_byte_is_told_as_pillow_does_or_left_to_it(name):
    data, *counts = CHANGED[name]
    told = [(made, found) for made in changed(data) if (found := read_header(made)) is not None]
    assert all(found[:4] == of_pillow(made) for made, found in told)
    assert [len(told), sum(bool(found.notes) for _, found in told)] == counts


LEAST = {
    "PLTE": 0, "tEXt": 0, "iTXt": 0, "bKGD": 0, "sBIT": 0, "tIME": 0, "hIST": 0, "sPLT": 0,
    "cICP": 0, "oFFs": 0, "vpAg": 0, "gAMA": 4, "cHRM": 32, "sRGB": 1, "pHYs": 9, "iCCP": 2,
    "eXIf": 34, "abCd": 34,
}  # fmt: skip


@pytest.mark.parametrize("name", LEAST)
def test_which_chunks_need_no_pillow_by_their_length(name):
    made = [png_of(chunk(name.encode(), bytes(n))) for n in range(34)]
    found = [read_header(data) for data in made]
    assert found == [None] * LEAST[name] + [read_header(png_of())] * (34 - LEAST[name])
    assert all(of_pillow(data) for data in made[LEAST[name] :])


def test_how_long_the_transparency_of_a_plain_png_is():
    of = {(1, 0): 2, (8, 0): 2, (16, 0): 2, (8, 2): 6, (16, 2): 6, (8, 3): 0, (8, 4): 0, (8, 6): 0}
    for (depth, colour), least in of.items():
        made = [png_of(chunk(b"tRNS", bytes(n)), depth=depth, colour=colour) for n in range(9)]
        assert [read_header(data) is None for data in made] == [n < least for n in range(9)]
