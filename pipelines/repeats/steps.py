"""The steps that count images and paragraphs over the whole corpus, or compare by them: settings.

same_url, same_images                  of equal documents one is kept, as `exact` does
repeated_images, repeated_paragraphs   parts of documents are taken out, documents stay
"""

from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from dedup.images import MOST_DISTANCE
from pipelines.config import Config

ImageKey = Literal["url", "md5"]
MostTimes = Annotated[int, Field(ge=1)]


class SameUrl(Config):
    """Keep one of all documents with the same URL, letter by letter.

    keep: the last in input order, or the first. The last is the newest where the inputs, and the
        files of each in order of their paths, are listed oldest first, as crawls are named.

    A document without a URL equals no other.

    Source: OBELICS, arXiv:2306.16527, which keeps the greatest `warc_filename` (08_01).
    """

    name: ClassVar[str] = "same_url"

    keep: Literal["first", "last"] = "last"

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its column of keys."""
        return {}


class SameImages(Config):
    """Keep one of all documents with the same set of images.

    by: URLs or MD5s are what is the same.  keep: as in `SameUrl`.

    A document without images, or with one whose URL or MD5 is not known, equals no other.

    Source: OBELICS (11_01), by URL, keep the last.
    """

    name: ClassVar[str] = "same_images"
    needs_images: ClassVar[bool] = True

    by: ImageKey = "url"
    keep: Literal["first", "last"] = "last"

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its column of keys."""
        return {"by": self.by}


class RepeatedImages(Config):
    """Take out images that the corpus has too often.

    by: counted by URL, by MD5, or both; an image is too frequent if one of them is. An image
        without the one is counted by the other alone.
    more_than: times that are not too many yet. All occurrences count: over all documents, and
        within one; so this step stands before any that keeps first copies within documents.
    keep: "none" takes all copies out, "first" all but the corpus' first of that URL or MD5
        (which the other key may still take out).
    no_images_left: remove documents that lose their last image here.

    Source: OBELICS (06_02, 06_03), by URL alone; MM1, arXiv:2403.09611, by URL and by MD5.
    """

    name: ClassVar[str] = "repeated_images"
    needs_images: ClassVar[bool] = True

    by: Annotated[tuple[ImageKey, ...], Field(min_length=1)] = ("url", "md5")
    more_than: MostTimes = 10
    keep: Literal["none", "first"] = "none"
    no_images_left: bool = True

    @field_validator("by")
    @classmethod
    def _each_once(cls, by: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(by))

    @property
    def columns(self) -> tuple[str, ...]:
        """Key columns of its sidecar."""
        return self.by

    @property
    def reasons(self) -> tuple[str, ...]:
        """Of images that leave, by the column that decided."""
        return tuple(f"repeated_{by}" for by in self.by)

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its sidecar."""
        return {"by": list(self.by)}


class NearImages(Config):
    """Take out images that look like one before them in the corpus.

    An image leaves if the hash of an earlier one, which may leave too, differs in few enough bits;
    of those that stay no two are as near. Images without bytes, and those that do not decode, have
    no hash: they stay, and are counted. Plain ones look alike whatever their colour.

    hash: `imagehash.phash` of ImageHash (`pip install tokenmill[images]`), 64 bits. It decodes
        every image wholly.
    distance: most bits that differ. Work grows with the square of the images that share one of
        `distance` + 1 parts of their bits: 10 million random hashes take half a minute at 4.
    no_images_left: remove documents that lose their last image here.
    """

    name: ClassVar[str] = "near_images"
    needs_images: ClassVar[bool] = True

    hash: Literal["phash"] = "phash"
    distance: Annotated[int, Field(ge=0, le=MOST_DISTANCE)] = 4
    no_images_left: bool = True

    @model_validator(mode="after")
    def _library_is_there(self) -> "NearImages":
        if find_spec("imagehash") is None:
            raise ValueError("needs the ImageHash library; pip install 'tokenmill[images]'")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Key columns of its sidecar."""
        return (self.hash,)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Of images that leave."""
        return ("near_image",)

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its sidecar."""
        return {"hash": self.hash}


class RepeatedParagraphs(Config):
    r"""Take out paragraphs that a site, or the corpus, has too often.

    A paragraph is what stands between "\n\n"; empty ones, and those in which images stand, never
    count. Documents left without text and images are removed ("no_text_left").

    within: counted for each host of the documents' URLs, port included, or over the whole corpus.
        A document without a host keeps its paragraphs, and they count for none.
    more_than, keep: as in `RepeatedImages`.

    Source: OBELICS (09_04 to 09_06), which counts empty paragraphs too.
    """

    name: ClassVar[str] = "repeated_paragraphs"

    within: Literal["domain", "corpus"] = "domain"
    more_than: MostTimes = 2
    keep: Literal["none", "first"] = "none"

    @property
    def columns(self) -> tuple[str, ...]:
        """Key columns of its sidecar."""
        return ("paragraph",)

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its sidecar."""
        return {"within": self.within}


Counted = RepeatedImages | RepeatedParagraphs
Repeats = Counted | NearImages
SAME = (SameUrl, SameImages)
REPEATS = (RepeatedImages, NearImages, RepeatedParagraphs)
