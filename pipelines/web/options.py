"""How pages of the web become documents: the `html` section of a recipe."""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from tokenmill.pipelines.config import Bytes, Config

LIBRARIES = ("resiliparse", "brotli", "lz4")


class Html(Config):
    """The `html` section of a recipe; without it a run reads no web archives.

    extractor: what makes text of HTML. Both leave out scripts, styles and navigation;
        trafilatura looks closer, and takes some thirty times as long.
    main_content: the main text of a page alone, else all of its text.
    comments: keep what readers commented, where the extractor can tell.
    favor: of trafilatura alone: "precision" leaves out what is in doubt, "recall" keeps it.
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
    def _trafilatura_favors(self) -> "Html":
        if self.favor is not None and (self.extractor != "trafilatura" or not self.main_content):
            raise ValueError(
                f"favor: {self.favor} is of extractor: trafilatura and main_content: true"
            )
        return self

    @model_serializer(mode="wrap")
    def _as_before_it_favored(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what says nothing: runs without keep the identity they had."""
        return {k: v for k, v in dump(self).items() if k != "favor" or v is not None}

    def versions(self) -> dict[str, str]:
        """Of the libraries that decide what text is made of a page."""
        names = {"resiliparse", self.extractor} | (
            {"lxml", "justext"} if self.extractor == "trafilatura" else set()
        )
        return {name: version(name) for name in sorted(names)}
