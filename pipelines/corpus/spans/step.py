"""The step that takes out what stands twice inside documents: its settings.

pass before:  documents, as always
corpus-wide:  n-grams that repeat ──► runs of them, by shard        (pipelines.spans.*)
pass behind:  documents, runs ──cut──► documents, receipts          (pipelines.corpus.spans.apply)
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from tokenmill.dedup.spans import Ngrams
from tokenmill.pipelines.core.step import Step


class RepeatedSpans(Step):
    r"""Take out stretches of words that stood in the corpus before.

    ngram: words in a row that must be equal: all substrings of so many words, or more, that repeat
        are found, wherever they begin.
    words: "unicode" are runs of `\w`, "whitespace" what stands between white space; lower-cased,
        so that copies that differ in capitals (and, with "unicode", in marks) are copies.
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

    ngram: Annotated[int, Field(ge=2, le=256)] = 50
    words: Literal["unicode", "whitespace"] = "unicode"
    keep: Literal["first", "none"] = "first"
    action: Literal["cut", "paragraph", "document", "both"] = "cut"
    share: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.8
    least_chars: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _shares_are_of_what_stood_before(self) -> "RepeatedSpans":
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

    def ngrams(self) -> Ngrams:
        return Ngrams(ngram=self.ngram, words=self.words)
