"""What is known of the images of a corpus: how many, how large, and what decoding them takes."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from tokenmill.sizing.figure import AnyFigure, Figure, from_error


class CorpusImages(BaseModel):
    """Facts of the images of documents that reach the tokenizer; a document is a sample.

    images_per_sample: mean over documents, those without any included.
    image_bytes: of one, as encoded; None where nobody knows.  pixels_per_image: likewise.
    tokens_per_image: that stand for one.  text_tokens, text_bytes: of one document.
    in_dataset: whether the dataset holds the images' bytes, rather than where they stand.
    samples_per_batch: documents of a record batch of the dataset.
    images_per_core_s: that a core decodes wholly each second; None where it was not measured.
    decoded_on: the processor and the library that it was measured with.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, strict=True
    )

    images: AnyFigure
    images_per_sample: AnyFigure
    tokens_per_image: AnyFigure
    text_tokens: AnyFigure
    text_bytes: AnyFigure
    image_bytes: AnyFigure | None = None
    pixels_per_image: AnyFigure | None = None
    in_dataset: bool = True
    samples_per_batch: AnyFigure | None = None
    images_per_core_s: AnyFigure | None = None
    decoded_on: str | None = None

    def figures(self) -> list[Figure]:
        """All that is known."""
        own = [getattr(self, key) for key in type(self).model_fields]
        return [f for f in own if isinstance(f, Figure)]


def images_of_report(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """The images of a run as data of `CorpusImages`; None of a run of text, or without any left.

    Raises:
        KeyError, TypeError: it is no report of a run.
    """
    measured = report["measurement"]["total"].get("images")
    if measured is None or not measured["images"]:
        return None
    told = report["images"]
    decoding, on = told["decoding"], told["decoding"]["machine"]
    ratios = {
        "images_per_sample": measured["images_per_doc"],
        "tokens_per_image": measured["tokens_per_image"],
        "text_tokens": measured["text_tokens_per_doc"],
        "text_bytes": measured["text_bytes_per_doc"],
        "image_bytes": measured["bytes_per_image"],
        "pixels_per_image": measured["pixels_per_image"],
        "images_per_core_s": decoding["images_per_core_s"],
    }
    return {
        "images": measured["images"],
        **{
            key: from_error(ratio["value"], ratio["se"])
            for key, ratio in ratios.items()
            if ratio is not None and ratio["value"] is not None
        },
        "in_dataset": told["store"] == "bytes",
        "samples_per_batch": decoding["docs_per_batch"],
        "decoded_on": f"{on['processor']}, Pillow {on['pillow']}",
    }
