r"""The step that takes out paragraphs, or lines, that the corpus has too often: its settings.

The published rules, as settings:

    OBELICS   {within: domain, more_than: 2}, the defaults
    CCNet     {unit: line, normalize: ccnet, digest: sha1, within: {shards: 50}, count: documents,
              more_than: 1, empty: count}
    Llama 3   {unit: line, within: {docs: 30_000_000}, more_than: 6}
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.step import Step

Many = Annotated[int, Field(ge=1)]
SINCE_FIRST = {
    "unit": "paragraph",
    "normalize": "none",
    "digest": "xxh3",
    "count": "copies",
    "empty": "stay",
}  # settings that the step began without, and what it did


class BucketOfDocs(Config):
    """So many consecutive documents, in input order; the last bucket may have fewer."""

    docs: Many


class GroupOfShards(Config):
    """So many consecutive shards, in input order; the last group may have fewer."""

    shards: Many


class RepeatedParagraphs(Step):
    r"""Take out paragraphs, or lines, that a site, or the corpus, has too often.

    Those in which images stand never count. Documents left without text and images are removed
    ("no_text_left").

    unit: a paragraph is what stands between "\n\n", a line what stands between "\n".
    within: counted for each host of the documents' URLs, port included; over the whole corpus;
        over each bucket of {docs: N} documents, or each group of {shards: N} shards of the run,
        see `shard_bytes`. Of buckets each is counted by itself; a document that a step directly
        before this one removes counts for nothing, but has its place in a bucket. A document
        without a host keeps its paragraphs, and they count for none.
    normalize: "ccnet" takes units for the same whose forms are (`dedup.ccnet`): lower case, digits
        to 0, some punctuation dropped. What leaves and what stays is whole in either case.
    digest: by which units are told apart, 128 bits of xxh3, or the first 64 bits of SHA-1.
    count: "copies" counts all; "documents" counts a unit once for each document that has it, and
        of its copies in one document leaves the first alone, however rare it is.
    empty: whether units of which nothing is left (after `normalize`) "stay", or "count" as others.
    more_than: times, or documents, that are not too many yet.
    keep: "none" takes all copies out, "first" all but the first of the corpus, bucket or group.

    Source: OBELICS (09_04 to 09_06), which counts empty paragraphs too. CCNet, arXiv:1911.00359
    (cc_net, dedup.py and flat_hash_set.py): its lines leave if two documents of the 50 shards of
    a group have them. There, too, a document without text leaves; here one with nothing but
    white space left does, and one that came without text stays. Its `min_len` is step `length`,
    before this one. Llama 3, arXiv:2407.21783, section 3.1.1.
    """

    name: ClassVar[str] = "repeated_paragraphs"

    within: Literal["domain", "corpus"] | BucketOfDocs | GroupOfShards = "domain"
    more_than: Many = 2
    keep: Literal["none", "first"] = "none"
    unit: Literal["paragraph", "line"] = "paragraph"
    normalize: Literal["none", "ccnet"] = "none"
    digest: Literal["xxh3", "sha1"] = "xxh3"
    count: Literal["copies", "documents"] = "copies"
    empty: Literal["stay", "count"] = "stay"

    @field_validator("within", mode="before")
    @classmethod
    def _of_a_kind(cls, within: Any) -> Any:
        is_bucket = isinstance(within, dict) and list(within) in (["docs"], ["shards"])
        known = within in ("domain", "corpus") or isinstance(within, BucketOfDocs | GroupOfShards)
        if not (is_bucket or known):
            raise ValueError(
                f"expected domain, corpus, {{docs: N}} or {{shards: N}}, got {within!r}"
            )
        return within

    @model_serializer(mode="wrap")
    def _as_it_began(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what says nothing: runs keep the identity they had."""
        return {k: v for k, v in dump(self).items() if SINCE_FIRST.get(k) != v}

    @property
    def columns(self) -> tuple[str, ...]:
        """Key columns of its sidecar."""
        return ("paragraph",)

    @property
    def separator(self) -> str:
        """What stands between units."""
        return "\n" if self.unit == "line" else "\n\n"

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its sidecar."""
        of_domain = self.within == "domain"
        said = {name: getattr(self, name) for name in SINCE_FIRST}
        changed = {name: value for name, value in said.items() if value != SINCE_FIRST[name]}
        return {"within": "domain" if of_domain else "corpus", **changed}
