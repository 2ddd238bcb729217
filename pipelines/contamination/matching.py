"""How benchmark items are looked for: which benchmarks, by what n-grams, seen through what."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from tokenmill.dedup.fold import Folding
from tokenmill.dedup.gram_counts import MOST_DOCS
from tokenmill.dedup.ngram_index import MAX_NGRAM
from tokenmill.pipelines.benchmark.spec import Benchmark
from tokenmill.pipelines.config import Config


class Folds(Config):
    """Which disguises to see through; `dedup.fold` says what each does."""

    entities: bool = True
    line_breaks: bool = True
    compat: bool = True
    invisible: bool = True
    signs: bool = True
    marks: bool = False
    confusables: bool = True

    def folding(self) -> Folding:
        return Folding(**self.model_dump())


class Matching(Config):
    """How items are looked for; the defaults are GPT-3's (Brown et al. 2020, appendix C).

    Words are lower-cased, without punctuation, between white space (`dedup.gram_words`). An item's
    fields are matched each by itself and all together; a text of fewer words than an n-gram is
    matched as a whole, and not at all under 8 words unless the item has no longer one.

    ngram: words in an n-gram; "auto" is, of each benchmark, the 5th percentile of its items'
        lengths, at least 8 and at most 13.
    folding: disguises that documents and items are both freed from first.
    most_docs: an n-gram in more documents than these counts for nothing; None is no limit.
    """

    benchmarks: Annotated[tuple[Benchmark, ...], Field(min_length=1)]
    ngram: Annotated[int, Field(ge=1, le=MAX_NGRAM)] | Literal["auto"] = "auto"
    folding: Folds = Folds()
    most_docs: Annotated[int, Field(ge=1)] | None = MOST_DOCS

    @field_validator("benchmarks")
    @classmethod
    def _names_differ(cls, benchmarks: tuple[Benchmark, ...]) -> tuple[Benchmark, ...]:
        names = [b.name for b in benchmarks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"benchmark {twice[0]!r} stands twice; give each its own name")
        return benchmarks
