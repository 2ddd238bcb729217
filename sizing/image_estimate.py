"""What an estimate says of the images of a run that is not made yet."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tokenmill.sizing.figure import AnyFigure


class FormatEstimate(BaseModel):
    """Images of one format that reach the dataset. bytes, pixels: of all whose are known."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, strict=True
    )

    images: AnyFigure
    bytes: AnyFigure
    pixels: AnyFigure


class ImageEstimate(BaseModel):
    """Images of a run: those of the inputs, and those that reach the dataset.

    images_in, image_bytes_in: of the inputs, those that cannot be read included.
    images, image_bytes, image_tokens: of the dataset.  formats: the same by format.
    kept_frac: of images, by step: those that every document went through, and repeated_images.
    unique_frac: of images that duplicates are looked for among, by "url" and "md5": were each kept
        once. Of images without the one nothing is told.
    repeated_frac: of the same images, those that the corpus has more than `more_than` times.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, strict=True
    )

    images_in: AnyFigure
    image_bytes_in: AnyFigure
    images: AnyFigure
    image_bytes: AnyFigure
    image_tokens: AnyFigure
    formats: dict[str, FormatEstimate] = Field(default_factory=dict)
    kept_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    unique_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    repeated_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    more_than: Annotated[int, Field(ge=1)]
