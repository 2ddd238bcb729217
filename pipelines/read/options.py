"""What a recipe says of reading: pages of the web (`html`), images, and the most it may cost."""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from tokenmill.pipelines.core.config import Bytes, Config

LIBRARIES = ("resiliparse", "brotli", "chardet", "lz4")


class Html(Config):
    """The `html` section of a recipe; without it a run reads no web archives.

    extractor: what makes text of HTML. Both leave out scripts, styles and navigation; trafilatura
        leaves out more of it (7 and 12 points of precision in two collections of pages), and takes
        twelve times as long.
    main_content: the main text of a page alone, else all of its text.
    comments: keep what readers commented, where the extractor can tell.
    favor: of trafilatura alone: "precision" leaves out what is in doubt, "recall" keeps it.
    links: write where links of the text lead to, as the extractor does.
    tables: of trafilatura alone: keep the text of tables; resiliparse always does.
    formatting: of trafilatura alone: headings, bold and code with their marks of Markdown.
    statuses: of HTTP, whose responses are documents.
    types: of content, whose responses and resources are documents; those with "html" in their name
        go through the extractor, the others are text.
    max_bytes: of a page, without its codings.
    max_tags, max_attributes, max_depth: tags of a page, attributes of a tag, elements in one
        another; pages with more are bombs as a rule, and count as failed.
    """

    extractor: Literal["resiliparse", "trafilatura"] = "resiliparse"
    main_content: bool = True
    comments: bool = False
    favor: Literal["precision", "recall"] | None = None
    links: bool = False
    tables: bool = True
    formatting: bool = False
    statuses: Annotated[tuple[int, ...], Field(min_length=1)] = (200,)
    types: Annotated[tuple[str, ...], Field(min_length=1)] = (
        "text/html",
        "application/xhtml+xml",
        "text/plain",
    )
    max_bytes: Annotated[Bytes, Field(le=64 * 1024**2)] = 8 * 1024**2
    max_tags: Annotated[int, Field(ge=1, le=1_000_000)] = 250_000
    max_attributes: Annotated[int, Field(ge=1, le=4096)] = 256
    max_depth: Annotated[int, Field(ge=1, le=4096)] = 512

    @model_validator(mode="after")
    def _libraries_are_there(self) -> "Html":
        missing = [name for name in LIBRARIES if find_spec(name) is None]
        if missing:
            raise ValueError(
                f"web archives need {', '.join(missing)}; pip install 'tokenmill[web]'"
            )
        if find_spec(self.extractor) is None:
            raise ValueError("needs trafilatura; pip install 'tokenmill[trafilatura]'")
        return self

    @model_validator(mode="after")
    def _trafilatura_is_asked(self) -> "Html":
        asked = {
            f"favor: {self.favor}": self.favor is not None,
            "tables: false": not self.tables,
            "formatting: true": self.formatting,
            "links: true": self.links and self.extractor == "trafilatura",
        }
        for name, is_asked in asked.items():
            if is_asked and (self.extractor != "trafilatura" or not self.main_content):
                raise ValueError(f"{name} is of extractor: trafilatura and main_content: true")
        return self

    def versions(self) -> dict[str, str]:
        """Of the libraries that decide what text is made of a page."""
        names = {"chardet", "resiliparse", self.extractor} | (
            {"lxml", "justext"} if self.extractor == "trafilatura" else set()
        )
        return {name: version(name) for name in sorted(names)}


class Patches(Config):
    """Tokens by the size of an image: one for each patch, edges rounded up.

        ceil(width / (patch * merge)) * ceil(height / (patch * merge)), at most `most`

    patch: its side in pixels.  merge: patches on a side that become one token.
    longest: the longer side is scaled down to as many pixels first; None leaves it.
    most: tokens of an image; None is no limit.
    """

    patch: Annotated[int, Field(ge=1)] = 14
    merge: Annotated[int, Field(ge=1)] = 1
    longest: Annotated[int, Field(ge=1)] | None = None
    most: Annotated[int, Field(ge=1)] | None = None


READER_PIXELS = 178_956_970  # Pillow's own bound: 2 * PIL.Image.MAX_IMAGE_PIXELS


class Images(Config):
    """The `images` section of a recipe; without it a run reads text alone.

    store: the dataset holds the images' bytes, or says where in the input they stand.
    token: placeholder in the ids; the vocabulary's own token of that name, or one id more than
        the vocabulary has.
    tokens: placeholders for each image: so many, or by its size.
    verify: decode every image wholly, not its header alone. The dataset shows images as pictures
        then, else as their bytes, since one that is damaged would stop whoever reads it.
    max_bytes, max_pixels: what an image may have; a larger one counts as failed, and is never
        decoded. More than 178,956,970 pixels are refused by Pillow, and the dataset is of bytes.
    keep_text: keep the caption of a sample whose every image failed, as a document of text; else
        it fails as "no_image_left".
    webdataset: write what is left as tar shards too, in OUT/webdataset.
    """

    store: Literal["bytes", "reference"] = "bytes"
    token: Annotated[str, Field(min_length=1)] = "<image>"
    tokens: Annotated[int, Field(ge=0)] | Patches = 1
    verify: bool = False
    max_bytes: Bytes = 64 * 1024**2
    max_pixels: Annotated[int, Field(ge=1)] = READER_PIXELS
    keep_text: bool = False
    webdataset: bool = False

    @property
    def keeps_bytes(self) -> bool:
        """Whether anything at the end of a run needs the bytes."""
        return self.store == "bytes" or self.webdataset


BATCH_DOCS = 4096
BATCH_BYTES = 8 * 1024**2


class Limits(Config):
    """Bounds that keep one bad file from taking the machine's memory.

    max_document_bytes: a longer line or text is counted as failed ("too_large").
    max_window_bytes: memory a zstd file may ask for to be decompressed; 128 MiB is zstd's
        own default, `zstd --long=31` needs 2 GiB.
    failed_frac: a source of whose documents, or images, such a share fails is told at the end,
        and the exit code is 3; it changes nothing that is written.
    """

    max_document_bytes: Bytes = 64 * 1024**2
    max_window_bytes: Annotated[Bytes, Field(ge=1024, le=2**31)] = 128 * 1024**2
    failed_frac: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5


class Reading(NamedTuple):
    """What a reader is told besides the shard, as `readers.read_shard` has it."""

    limits: Limits
    run: str = ""
    images: Images | None = None
    html: Html | None = None
