"""The settings of the step that takes out what stands twice inside documents; its files."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.pipelines.core.schema import SCHEMA_VERSION
from tokenmill.pipelines.corpus.step import (
    CorpusStep,
    SideTable,
)
from tokenmill.pipelines.runs.folder import Folder

if TYPE_CHECKING:
    from tokenmill.dedup.overlap.ngrams import Ngrams

SPANS = Folder("8-spans", "{what}-{number:05d}.arrow")
FOUND_SPANS = Folder("9-spans", "part-{key}.arrow")
REMOVED_SPANS = Folder("removed-spans", "part-{key}.{pass_index}.parquet", of_pass=False)

SPAN = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),  # of the document
        # bytes of the text as it came to the step, the end not included
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        # n-grams in it that stand elsewhere
        pa.field("ngrams", pa.uint32(), nullable=False),
        # the document where the first of them stands first
        pa.field("of_doc_id", pa.uint64(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"removed_span/{SCHEMA_VERSION}"},
)


class SpanSettings(CorpusStep):
    """See `RepeatedSpans`."""

    name: ClassVar[str] = "repeated_spans"
    folders = (SPANS, FOUND_SPANS)
    side_tables = (SideTable(REMOVED_SPANS, SPAN),)

    ngram: Annotated[int, Field(ge=2, le=256)] = 50
    words: Literal["unicode", "whitespace"] = "unicode"
    keep: Literal["first", "none"] = "first"
    action: Literal["cut", "paragraph", "document", "both"] = "cut"
    share: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.8
    least_chars: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _shares_are_of_what_stood_before(self) -> "SpanSettings":
        if self.keep == "none" and self.action != "cut":
            raise ValueError(
                f"action {self.action!r} asks what stood before, and keeps that; leave out keep:"
                " none, or take action: cut"
            )
        return self

    @property
    def of_lines(self) -> bool:
        """Whether n-grams stand within one line."""
        return self.action in ("paragraph", "both")

    @property
    def cuts_text(self) -> bool:
        return self.action == "cut"

    @property
    def without_cutting(self) -> str:
        return "action: document"

    def ngrams(self) -> "Ngrams":
        from tokenmill.dedup.overlap.ngrams import Ngrams  # compiles; settings must not

        return Ngrams(ngram=self.ngram, words=self.words)
