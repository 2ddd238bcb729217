"""The step that frees documents from benchmark items: its settings.

The work is in three places, since which n-grams count is only known once the whole corpus has
been searched:

    pass before:  documents ──search──► found, a sidecar             (corpus.passes)
    corpus-wide:  found of all shards ──► n-grams that are ignored   (contamination.ignored)
    pass behind:  documents, found ──cut──► documents, receipts      (contamination.cleaner)
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from tokenmill.dedup.cut import Cutting
from tokenmill.pipelines.contamination.index import Matching
from tokenmill.pipelines.core.pieces import MOST_PIECES
from tokenmill.pipelines.core.step import Step

NAME = "decontaminate"
RENAMED = "'remove' is called 'document' now (drop it whole); the default, 'cut', drops less"


class Decontaminate(Matching, Step):
    """Free documents from what they have in common with benchmark items.

    The defaults are GPT-3's filtering (Brown et al. 2020, arXiv:2005.14165, appendix C), with N
    of its overlap analysis: items under 8 words count for nothing, n-grams of more than
    `most_docs` documents neither. Documents are counted as the steps before this one left them.

    action: "cut" cuts n-grams out, with the text around them, and goes on with the pieces, each a
        document of its own; "document" drops every document with an n-gram; "paragraph" drops
        paragraphs of at least 13 words that have half of theirs from benchmarks; "report" keeps
        everything as it is.
    window_chars: cut out on each side of an n-gram.
    least_chars: shorter pieces are dropped.
    most_pieces: a document that falls into more is dropped.
    """

    name: ClassVar[str] = NAME

    action: Literal["cut", "document", "paragraph", "report"] = "cut"
    window_chars: Annotated[int, Field(ge=0)] = 200
    least_chars: Annotated[int, Field(ge=0)] = 200
    most_pieces: Annotated[int, Field(ge=1, le=MOST_PIECES)] = 10

    @field_validator("action", mode="before")
    @classmethod
    def _renamed(cls, action: Any) -> Any:
        if action == "remove":
            raise ValueError(RENAMED)
        return action

    @property
    def cuts_text(self) -> bool:
        return self.action == "cut"

    @property
    def without_cutting(self) -> str:
        return "action: document"

    def cutting(self) -> Cutting:
        return Cutting(window_chars=self.window_chars, most_pieces=self.most_pieces)
