"""The step that takes out images that the corpus has too often."""

from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from tokenmill.pipelines.corpus.counted.count import CountedStep
from tokenmill.pipelines.corpus.step import ImageRule, Probing
from tokenmill.pipelines.corpus.units import ImageStep
from tokenmill.pipelines.filters.images.keys import ImageKeys, Keys, image_keys
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images


class RepeatedImages(CountedStep, ImageStep):
    """Take out images that the corpus has too often, more than 10 times unless told, by URL or
    MD5: all copies, or all but one.

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

    by: ImageKeys = ("url", "md5")
    more_than: Annotated[int, Field(ge=1)] = 10
    keep: Literal["none", "first"] = "none"
    no_images_left: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return self.by

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(f"repeated_{by}" for by in self.by)

    @property
    def image_rule(self) -> ImageRule:
        return ImageRule(self.by, self.more_than, self.keep, self.no_images_left)

    def parameters(self) -> dict[str, Any]:
        return {"by": list(self.by)}

    def keys_of(
        self, documents: pa.RecordBatch, blobs: Blobs | None, images: Images | None
    ) -> list[Keys]:
        return [image_keys(documents, by) for by in self.by]

    def probe(self, probing: Probing) -> Any:
        return probing.unchanged()
