"""What repeated spans are: settings of the step, and where its works leave what they find."""

from typing import Annotated, ClassVar, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.overlap.ngrams import Ngrams
from tokenmill.pipelines.core.schema import needed, versioned
from tokenmill.pipelines.corpus.step import CuttingStep, SideTable
from tokenmill.pipelines.runs.folder import Folder

SPANS = Folder("8-spans", "{what}-{number:05d}.arrow")
FOUND_SPANS = Folder("9-spans", "part-{key}.arrow")
REMOVED_SPANS = Folder("removed-spans", "part-{key}.{pass_index}.parquet", of_pass=False)

SPAN = versioned(
    "removed_span",
    *needed(doc_id=pa.uint64()),
    *needed(id=pa.string()),  # of the document
    # bytes of the text as it came to the step, the end not included
    *needed(start=pa.int64(), end=pa.int64()),
    # n-grams in it that stand elsewhere
    *needed(ngrams=pa.uint32()),
    # the document where the first of them stands first
    *needed(of_doc_id=pa.uint64()),
)


class SpanSettings(CuttingStep):
    r"""Cut out stretches of words, 50 or more unless told, that stood in the corpus before; or drop
    lines, or documents, by their share of such n-grams.

    ngram: words in a row that must be equal: all substrings of so many words, or more, that repeat
        are found, wherever they begin.
    words: "unicode" are runs of `\w`, "whitespace" what stands between white space; lower-cased,
        so that copies that differ in capitals (and, with "unicode", in marks) are copies.
        "scripts" are as "unicode", but one character, or grapheme cluster, a word where a script
        sets no spaces: 50 words of Chinese are 50 characters.
    keep: "first" leaves what stands first in input order, "none" leaves no copy of it.
    action: "cut" cuts stretches out, of whatever length, within a document and across its lines;
        "paragraph" drops lines of which more than `share` of the n-grams stood in a line before,
        "document" documents of which so many stood in a document before, and "both" lines, and
        documents of which more than `share` of all lines' n-grams stood before. Lines, or
        documents, of fewer words than `ngram` stay.
    share: for these three. Nothing that stands in the same line, or document, counts as before.
    least_chars: documents that lose something here and have fewer characters left, white space at
        their ends not counted, are removed.

    "Before" is by input order, whatever is removed there by this same step. A document takes some
    13 times its bytes of memory at one moment (see `limits.max_document_bytes`).

    Sources: ngram 50, action cut: ExactSubstr of Lee et al. 2022, arXiv:2107.06499, with 50 tokens
    of BPE; the paper removes a substring "from one" of two documents, as `keep: first`, the code
    all copies, as `keep: none`. ngram 13, share 0.8, action both: BFF as DCLM ran it,
    `old-both`; its words are those of UAX 29, marks among them, by case; n-grams of lines that it
    dropped itself do not count as standing before; and its filter has 1 % of false positives.
    """

    name: ClassVar[str] = "repeated_spans"
    side_tables = (SideTable(REMOVED_SPANS, SPAN),)

    ngram: Annotated[int, Field(ge=2, le=256)] = 50
    words: Literal["scripts", "unicode", "whitespace"] = "scripts"
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

    def ngrams(self) -> Ngrams:
        return Ngrams(ngram=self.ngram, words=self.words)
