r"""The step that takes out paragraphs, or lines, that the corpus has too often: its settings.

The published rules, as settings:

    OBELICS   {within: domain, more_than: 2}, the defaults
    CCNet     {unit: line, normalize: ccnet, digest: sha1, within: {shards: 50}, count: documents,
              more_than: 1, empty: count}
    Llama 3   {unit: line, within: {docs: 30_000_000}, more_than: 6}
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from pydantic import Field, field_validator

from tokenmill.dedup.arrays import I64, text_buffers
from tokenmill.dedup.same.digest import digests, first_occurrence, sha1_prefixes
from tokenmill.dedup.text.simplified import ccnet_form
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.schema import PLACEHOLDER, needed, versioned
from tokenmill.pipelines.core.step import Rule, with_texts
from tokenmill.pipelines.corpus.counted.count import CountedStep
from tokenmill.pipelines.corpus.step import Applied, SideTable, fixed_size_list
from tokenmill.pipelines.corpus.units import UnitsOf, numbers_of, rows_of
from tokenmill.pipelines.filters.images.edit import edited_where
from tokenmill.pipelines.filters.images.keys import KEY_BYTES, Keys, has_key
from tokenmill.pipelines.filters.text.parts import Parts, split_at
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.nodes import counts_of
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import Folder

Many = Annotated[int, Field(ge=1)]
PARAGRAPH = versioned(
    "removed_paragraph",
    *needed(doc_id=pa.uint64()),
    *needed(id=pa.string()),  # of the document
    # place among the paragraphs, or lines, of the text as it came to the step, from 0
    *needed(number=pa.int32(), text_bytes=pa.int64()),
    # times that its domain, the corpus, … has it, or documents that do; of a later copy that
    # leaves its document by `count: documents`: times that this has it
    *needed(count=pa.uint32()),
    # the first of them, which stays by `keep: first`, and in its document
    *needed(of_doc_id=pa.uint64(), of_number=pa.int32()),
)
REMOVED_PARAGRAPHS = Folder("removed-paragraphs", "part-{key}.{pass_index}.parquet", of_pass=False)
NO_TEXT = "no_text_left"  # a reason
BYTES_PER_UNIT = {"paragraph": 100, "line": 40}  # documentation: 170 and 48
SCRATCH_BYTES_PER_UNIT = 64  # name and key 28, by shard and again by range; some of them leave
# odd multipliers with well-spread bits: 2**64 / golden ratio, the second of SplitMix64
SALTS = np.array([0x9E3779B97F4A7C15, 0x94D049BB133111EB], np.uint64)
ONE, HALF = np.uint64(1), np.uint64(32)


class BucketOfDocs(Config):
    """So many consecutive documents, in input order; the last bucket may have fewer."""

    docs: Many


class GroupOfShards(Config):
    """So many consecutive shards, in input order; the last group may have fewer."""

    shards: Many


class RepeatedParagraphs(CountedStep):
    r"""Take out paragraphs, or lines, that a host, or the corpus, has too often, more than twice
    unless told; within buckets of documents or groups of shards too, and by CCNet's normalization.

    Those in which images stand never count. Documents left without text and images are removed
    ("no_text_left").

    unit: a paragraph is what stands between "\n\n", a line what stands between "\n".
    within: counted for each host of the documents' URLs, port included; over the whole corpus;
        over each bucket of {docs: N} documents, or each group of {shards: N} shards of the run,
        see `shard_bytes`. Of buckets each is counted by itself; a document that a step directly
        before this one removes counts for nothing, but has its place in a bucket. A document
        without a host keeps its paragraphs, and they count for none.
    normalize: "ccnet" takes units for the same whose forms are (`dedup.text.simplified`): lower
        case, digits to 0, some punctuation dropped. What leaves and what stays is whole either way.
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
    columns: ClassVar[tuple[str, ...]] = ("paragraph",)
    side_tables = (SideTable(REMOVED_PARAGRAPHS, PARAGRAPH),)

    within: Literal["domain", "corpus"] | BucketOfDocs | GroupOfShards = "domain"
    more_than: Many = 2
    keep: Literal["none", "first"] = "none"
    unit: Literal["paragraph", "line"] = "paragraph"
    normalize: Literal["none", "ccnet"] = "none"
    digest: Literal["xxh3", "sha1"] = "xxh3"
    count: Literal["copies", "documents"] = "copies"
    empty: Literal["stay", "count"] = "stay"

    @property
    def asks_urls(self) -> bool:
        return self.within == "domain"

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

    @property
    def units(self) -> str:
        return f"{self.unit}s"

    @property
    def separator(self) -> str:
        """What stands between units."""
        return "\n" if self.unit == "line" else "\n\n"

    @property
    def unit_fields(self) -> list[pa.Field]:
        """first: number of the first copy in the document, where later ones leave it."""
        return [pa.field("first", pa.int32())] if self.has_copies else []

    @property
    def has_copies(self) -> bool:
        return self.count == "documents"

    @property
    def docs_in_bucket(self) -> int | None:
        return self.within.docs if isinstance(self.within, BucketOfDocs) else None

    @property
    def shards_in_bucket(self) -> int | None:
        return self.within.shards if isinstance(self.within, GroupOfShards) else None

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        return {"paragraphs": {"removed": 0, "bytes": 0}}

    def parameters(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in DECIDING}
        return {"within": "domain" if self.within == "domain" else "corpus", **said}

    def units_of(self, schema: pa.Schema, images: Images | None) -> UnitsOf:
        def made(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
            found = keyed_paragraphs(documents, self)
            columns = [
                documents["doc_id"].take(pa.array(found.rows)),
                pa.array(found.numbers.astype(np.int32)),
                fixed_size_list(found.keys),
                pa.array(found.firsts.astype(np.int32)),
            ]
            return pa.record_batch(columns[: len(schema)], schema=schema)

        return made

    def without(self, documents: pa.RecordBatch, found: pa.RecordBatch) -> Applied:
        """Take out the paragraphs, or lines, found; a document that goes has as value how many."""
        of = rows_of(documents, found)
        touched, which = np.unique(of, return_inverse=True)
        paragraphs = split_at(documents["text"].take(pa.array(touched)), self.separator)
        places = paragraphs.starts[which] + numbers_of(found)
        stays = np.ones(len(paragraphs.text), np.bool_)
        stays[places] = False
        edited = (
            with_texts(documents, touched, paragraphs.joined(stays)) if len(touched) else documents
        )
        lost = np.bincount(of, minlength=documents.num_rows)
        blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(edited["text"]), ""))
        empty = blank & (counts_of(edited) == 0)
        rule = Rule(NO_TEXT, lost.astype(np.float64), (lost > 0) & empty)
        result = edited_where(self.name, documents, edited, [rule], None)
        if len(places):
            result = result._replace(notes={f"{self.unit}s_taken_out": len(places)})
        sizes = text_buffers(paragraphs.text).lengths[places]
        rows = _receipts(documents, found, pa.array(of), pa.array(sizes))
        taken = {"removed": len(places), "bytes": int(sizes.sum())}
        return Applied(result, tables={REMOVED_PARAGRAPHS.name: rows}, counts={"paragraphs": taken})

    def scratch_bytes(self, text_bytes: float, docs: float) -> float:
        return text_bytes * SCRATCH_BYTES_PER_UNIT / BYTES_PER_UNIT[self.unit]


DECIDING = ("unit", "normalize", "digest", "count", "empty")  # what of the settings keys rest on


class Paragraphs(NamedTuple):
    """The paragraphs, or lines, of some documents, in order.

    rows: (n,) int64, of the document of each.  numbers: (n,) int64, of each in its document.
    keys: (n, 2) uint64, zeros for those that do not count.
    firsts: (n,) int64, number of the first in the document with the same key.
    """

    rows: I64
    numbers: I64
    keys: Keys
    firsts: I64


def keyed_paragraphs(documents: pa.RecordBatch, step: RepeatedParagraphs) -> Paragraphs:
    """The paragraphs of documents; by `count: documents` later copies in one have no key."""
    units = split_at(documents["text"], step.separator)
    rows = units.owners
    numbers = np.arange(len(rows)) - units.starts[rows]
    keys = paragraph_keys(documents, units, step)
    firsts = numbers
    if step.count == "documents":
        firsts = first_copies(rows, numbers, keys)
        keys[firsts != numbers] = 0
    return Paragraphs(rows, numbers, keys, firsts)


def paragraph_keys(documents: pa.RecordBatch, units: Parts, step: RepeatedParagraphs) -> Keys:
    """(n, 2) of the paragraphs of documents.

    No key for those in which images stand, and the empty ones if they stay; within domains, for
    those of documents without a host neither, and equal ones of two hosts have two keys.
    """
    forms = ccnet_form(units.text) if step.normalize == "ccnet" else units.text
    keys = _digests(forms, step)
    if step.empty == "stay":
        keys[np.asarray(pc.equal(forms, pa.scalar("", forms.type)))] = 0
    keys[np.asarray(pc.match_substring(units.text, PLACEHOLDER))] = 0
    if step.within != "domain":
        return keys
    salts = host_keys(documents["url"])[units.owners]
    return np.where((has_key(keys) & has_key(salts))[:, None], keys ^ salts, np.uint64(0))


def _digests(forms: pa.Array, step: RepeatedParagraphs) -> Keys:
    if step.digest == "xxh3":
        return digests(forms, "xxh3").copy()
    prefixes = sha1_prefixes(forms)
    return np.column_stack((prefixes, prefixes))  # tables go by the one and by the other word


def first_copies(rows: I64, numbers: I64, keys: Keys) -> I64:
    """(n,) number of the first in the same document with the same key; its own without a key.

    Documents are told apart by 128 bits that each mixes into its keys.
    """
    keyed = np.flatnonzero(has_key(keys))
    salts = (rows[keyed].astype(np.uint64) + ONE)[:, None] * SALTS
    salts ^= salts >> HALF
    salts *= SALTS[::-1]
    firsts = numbers.copy()
    firsts[keyed] = numbers[keyed[first_occurrence(keys[keyed] ^ salts)]]
    return firsts


def host_keys(urls: pa.Array) -> Keys:
    """(n, 2) of the hosts of URLs, ports included, as `urllib.parse` finds them."""
    hosts = [host_of(url) for url in urls.to_pylist()]
    # another seed than that of paragraphs: one that is a host's name must not undo its key
    made = b"".join(
        xxhash.xxh3_128_digest(host.encode(), seed=1) if host else bytes(KEY_BYTES)
        for host in hosts
    )
    return np.frombuffer(made, np.uint64).reshape(-1, 2)


def host_of(url: str | None) -> str:
    """The host of a URL, and its port; "" where there is none.

    >>> host_of("https://www.example.org:8080/a?b"), host_of("a picture"), host_of("http://[::1")
    ('www.example.org:8080', '', '')
    """
    try:
        return urlsplit(url).netloc if url else ""
    except ValueError:  # brackets of an IPv6 address that do not match, and the like
        return ""


def _receipts(
    documents: pa.RecordBatch, found: pa.RecordBatch, rows: pa.Array, sizes: pa.Array
) -> pa.RecordBatch:
    columns = {
        **{name: found[name] for name in ("doc_id", "number", "of_doc_id", "of_number")},
        "count": found["value"],
        "id": documents["id"].take(rows),
        "text_bytes": sizes,
    }
    return pa.record_batch([columns[f.name] for f in PARAGRAPH], schema=PARAGRAPH)
