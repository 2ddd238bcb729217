"""The corpus to store and train on: one, or several sources mixed."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Count, Section, Size
from tokenmill.sizing.tables.row import NotNegative, Positive, Share, Whole


class ImageText(Section):
    """Samples of images with text; without any stated figure, a captioned photograph.

    image_bytes: of one as stored.  tokens_per_image: that the model sees of it.
    text_tokens, text_bytes: of one sample.
    """

    image_bytes: Annotated[Size, Assumed("bytes", f"{OUR_CHOICE}: a JPEG photograph")] = 250e3
    images_per_sample: Annotated[Positive, Assumed("images", OUR_CHOICE)] = 1.0
    tokens_per_image: Annotated[Count, Assumed("tokens", f"{OUR_CHOICE}: 32 x 32 patches")] = 1024.0
    text_tokens: Annotated[NotNegative, Assumed("tokens", OUR_CHOICE)] = 100.0
    text_bytes: Annotated[
        NotNegative, Assumed("bytes", "4 bytes a token, English web text (OpenAI, Lockwood)")
    ] = 400.0


class Corpus(Section):
    """What is stored of a corpus, and measured facts in its place where there are any.

    path: of a run directory, report.json or estimate.json, relative to the plan's folder.
    tokens: to store, each counted once; more than were measured scales every stage up.
    vocab_size: of the tokenizer; decides the width of a token id unless that is given.
    kept_frac: of the documents that come in, those that reach the tokenizer.
    raw_bytes: of the files that come in, if known.
    """

    path: Annotated[Path | None, Assumed("path", "nothing was measured"), Field(strict=False)] = (
        None
    )
    tokens: Annotated[Count | None, Assumed("tokens", "those measured, else 20 a parameter")] = None
    text_bytes_per_token: Annotated[
        Positive, Assumed("bytes/token", "English web text, a rule of thumb (OpenAI, Lockwood)")
    ] = 4.0
    token_width_bytes: Annotated[
        Whole | None,
        Assumed("bytes/token", "2 for vocabularies under 65,500, else 4 (Megatron-LM)"),
    ] = None
    vocab_size: Annotated[Whole, Assumed("tokens", "Llama 3")] = 128_256
    tokens_per_doc: Annotated[
        Positive, Assumed("tokens/document", f"{OUR_CHOICE}: web pages", verified=False)
    ] = 700.0
    kept_frac: Annotated[
        Share,
        Assumed(
            "fraction", f"{OUR_CHOICE}: two of three web documents are removed", verified=False
        ),
    ] = 1 / 3
    compression_ratio: Annotated[
        Positive,
        Assumed("ratio", "measured for this project: gzip -6, C4 2.6, documentation 3.7 to 4.1"),
    ] = 2.6
    raw_bytes: Annotated[
        Size | None, Assumed("bytes", "the text of all documents that come in, compressed")
    ] = None
    image_text: Annotated[ImageText | None, Assumed("samples", "text only")] = None


class Source(Corpus):
    """One of several corpora that are mixed.

    weight: share of the training tokens, relative to the other sources' weights.
    epochs: times that it is seen; of all sources either weights are given, or epochs.
    """

    name: Annotated[str, Assumed("name", "")]
    weight: Annotated[Positive | None, Assumed("ratio", "as its tokens")] = None
    epochs: Annotated[Positive | None, Assumed("epochs", "training.epochs")] = None

    @model_validator(mode="after")
    def _name_can_be_a_key(self) -> "Source":
        if not self.name or not self.name.replace("-", "").replace("_", "").isalnum():
            raise ValueError(
                f"{self.name!r} is no name of a source; write letters, digits, - and _"
            )
        if self.weight is not None and self.epochs is not None:
            raise ValueError(f"source {self.name!r} has a weight and epochs; give one")
        return self
