"""The steps that count images and paragraphs over the whole corpus, or compare by them: settings.

same_url, same_images                  of equal documents one is kept, as `exact` does
repeated_images, repeated_paragraphs   parts of documents are taken out, documents stay; the
                                       latter is in `pipelines.corpus.counted.paragraphs`
"""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from tokenmill.dedup.images import MOST_DISTANCE
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.core.urls import LIBRARY, TRACKING
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs

ImageKey = Literal["url", "md5"]
MostTimes = Annotated[int, Field(ge=1)]


class SameUrl(Step):
    """Keep one of all documents with the same URL.

    keep: the last in input order, or the first, or the newest by date of the crawl, whatever the
        order of the inputs: of equal dates the last, and any that has a date before those without.
        The last is the newest where the inputs, and the files of each in order of their paths, are
        listed oldest first, as crawls are named.
    url: "exact" are URLs equal letter by letter; "normalized", in the form that
        `pipelines.core.urls` has for them, by w3lib (`pip install tokenmill[web]`).
    drop_parameters: of normalized URLs, those that count for nothing: names, whatever their case;
        "*" at the end of one is any end.

    A document without a URL equals no other.

    Source: OBELICS, arXiv:2306.16527, which keeps the greatest `warc_filename` (08_01), letter by
    letter.
    """

    name: ClassVar[str] = "same_url"

    keep: Literal["first", "last", "newest"] = "last"
    url: Literal["exact", "normalized"] = "exact"
    drop_parameters: tuple[str, ...] = TRACKING

    @model_validator(mode="after")
    def _library_is_there(self) -> "SameUrl":
        if self.url == "normalized" and find_spec(LIBRARY) is None:
            raise ValueError(f"needs the {LIBRARY} library; pip install 'tokenmill[web]'")
        return self

    @model_validator(mode="after")
    def _parameters_of_normalized_urls(self) -> "SameUrl":
        if self.url == "exact" and "drop_parameters" in self.model_fields_set:
            raise ValueError("drop_parameters are those of url: normalized; add it")
        return self

    @model_serializer(mode="wrap")
    def _as_before_urls_were_normalized(
        self, dump: SerializerFunctionWrapHandler
    ) -> dict[str, Any]:
        """Leave out what says nothing: runs keep the identity they had."""
        unsaid = {"url", "drop_parameters"} if self.url == "exact" else set()
        return {name: value for name, value in dump(self).items() if name not in unsaid}

    @property
    def needs_dates(self) -> bool:
        """Whether documents must have a column `date`."""
        return self.keep == "newest"

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its column of keys."""
        if self.url == "exact":
            return {}
        dropped = sorted(set(map(str.lower, self.drop_parameters)))
        return {"url": self.url, "drop_parameters": dropped, **self.versions()}

    def versions(self) -> dict[str, str]:
        """Of the library that decides how URLs are compared."""
        return {} if self.url == "exact" else {LIBRARY: version(LIBRARY)}


class SameImages(Step):
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


class RepeatedImages(Step):
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


class NearImages(Step):
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


Counted = RepeatedImages | RepeatedParagraphs
Repeats = Counted | NearImages
SAME = (SameUrl, SameImages)
REPEATS = (RepeatedImages, NearImages, RepeatedParagraphs)
