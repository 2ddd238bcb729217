"""The steps that find out which documents are the same, exactly or nearly."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tokenmill.dedup.lsh import Bands
from tokenmill.dedup.minhash import MinHash
from tokenmill.pipelines.core.step import Step


class ExactDedup(Step):
    """Keep the first of all documents with the same text, byte for byte.

    digest: of the text as it stands at this step; two texts of one digest are taken as equal.

    Images without a word beside them equal nothing: `same_images` compares those.
    """

    name: ClassVar[str] = "exact"

    digest: Literal["md5", "xxh3"] = "md5"

    def parameters(self) -> dict[str, Any]:
        """What decides the content of a digest column."""
        return {"digest": self.digest}


class NearDedup(Step):
    """Keep the first of each cluster of documents that share most of their word n-grams.

    MinHash LSH: documents that agree on all rows of a band become candidate pairs; a pair
    whose signatures agree in a share of at least `verify` is an edge; clusters are
    connected by edges, and the first document of a cluster, in input order, is kept.

    ngram, words: the shingles; see `dedup.shingle`.
    num_perm, seed: of the signatures.
    bands, rows: of the LSH (defaults: FineWeb, Penedo et al. 2024, 14 bands of 8).
    threshold: instead of bands and rows: the Jaccard similarity for which datasketch's
        optimiser chooses them.
    verify: least estimated Jaccard similarity of an edge.
    scope: documents meet across the whole corpus, or only within their source.
    """

    name: ClassVar[str] = "near"

    ngram: Annotated[int, Field(ge=1, le=64)] = 5
    words: Literal["unicode", "whitespace"] = "unicode"
    num_perm: Annotated[int, Field(ge=1, le=16384)] = 112
    bands: Annotated[int, Field(ge=1, le=1024)] = 14
    rows: Annotated[int, Field(ge=1, le=256)] = 8
    threshold: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    verify: Annotated[float, Field(ge=0.0, le=1.0)] = 0.7
    scope: Literal["corpus", "source"] = "corpus"
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1

    @model_validator(mode="after")
    def _bands_fit(self) -> "NearDedup":
        if self.threshold is not None and {"bands", "rows"} & self.model_fields_set:
            raise ValueError("give bands and rows, or a threshold that chooses them, not both")
        lsh = self.lsh()  # a threshold that no bands can serve is told here
        if lsh.num_perm > self.num_perm:
            raise ValueError(
                f"{lsh.bands} bands of {lsh.rows} rows need {lsh.num_perm} permutations,"
                f" num_perm is {self.num_perm}"
            )
        return self

    def minhash(self) -> MinHash:
        return MinHash(num_perm=self.num_perm, seed=self.seed, ngram=self.ngram, words=self.words)

    def lsh(self) -> Bands:
        if self.threshold is not None:
            return Bands.for_threshold(self.threshold, self.num_perm)
        return Bands(bands=self.bands, rows=self.rows)

    def parameters(self) -> dict[str, Any]:
        """What decides the content of a signature or band key column."""
        lsh = self.lsh()
        return {
            "ngram": self.ngram,
            "words": self.words,
            "num_perm": self.num_perm,
            "seed": self.seed,
            "bands": lsh.bands,
            "rows": lsh.rows,
            "scope": self.scope,
        }
