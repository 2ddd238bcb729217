"""Steps that keep one of all documents with the same key: text, URL, set of images.

keys ── spill, by range ── equal keys, a range a work ── pairs ── verdicts, a group a work

exact         the same text
same_url      the same URL, letter by letter or normalized
same_images   the same set of images
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import model_validator

from tokenmill.dedup.arrays import F32, I64, U64
from tokenmill.dedup.same.digest import (
    digests,
    first_occurrence,
    last_occurrence,
    newest_occurrence,
    span_digests,
)
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.urls import LIBRARY, TRACKING, normalized
from tokenmill.pipelines.corpus.pairs import (
    FOREST,
    FORESTS,
    cluster_facts,
    merged_facts,
    write_kept,
    write_pairs,
)
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import Part, Range, Room, parts
from tokenmill.pipelines.corpus.spill import KeyedStep, spilled
from tokenmill.pipelines.corpus.step import (
    KEY,
    Chain,
    Pass,
    Probing,
    Shuffled,
    Size,
    Told,
    facts_of,
    fixed_size_list,
    group_works,
)
from tokenmill.pipelines.corpus.verdicts import VerdictStep
from tokenmill.pipelines.filters.images.keys import (
    ImageKey,
    has_key,
    image_set_keys,
    known,
    text_keys,
)
from tokenmill.pipelines.read.images.nodes import counts_of
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases

ROWS_AT_ONCE = 1 << 20
DOC_BYTES = 24  # of a range: it and the one kept 16, their order 8
ROW_BYTES = 52  # of a part: row number 8, digest 16, first row 16, partition 4, on the way 8
# to go through them backwards: digest 16, first row 16; for dates, date 8, the newest 8, twice
MORE_ROW_BYTES = {"first": 0, "last": 32, "newest": 32}
LARGEST_BYTES = 32  # digest 16, of a hash table at most 16

Keep = Literal["first", "last", "newest"]


class EqualStep(KeyedStep, VerdictStep):
    """Keep one of all documents whose keys, of 128 bits, are the same.

    similarity: what the verdicts say of equal documents; NaN if they may differ otherwise.
    """

    similarity: ClassVar[float] = np.nan

    @property
    def kept(self) -> Keep:
        """Which of equal documents stays: as its setting `keep` says, if it has one."""
        kept: Keep = getattr(self, "keep", "first")
        return kept

    def key_fields(self) -> list[pa.Field]:
        return [pa.field(column.keys, KEY) for column in self.shuffled]

    @property
    def shuffled(self) -> tuple[Shuffled, ...]:
        return (Shuffled(self.name, 2),)

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        name = self.name
        yield from self.spill(chain, size)
        ranges = {f"range-{n:05d}": (name, n) for n in range(size.ranges)}
        yield from chain.phase(name, name, find_equal, ranges)
        works = group_works(size.new, name)
        yield from chain.phase(f"{name} kept", f"kept-{name}", write_equal, works)

    def probe(self, probing: Probing) -> Any:
        # what is newest is not looked for
        keep = "first" if self.kept == "first" else "last"
        (column,) = self.shuffled
        zeros, texts = column.zeros_are_a_key, self.compares_texts
        return probing.equal(column.keys, keep=keep, zeros_are_a_key=zeros, texts=texts)

    def scratch_bytes(self, text_bytes: float, docs: float) -> float:
        return docs * 64  # key 16 twice, row 4, verdict 13, half a pair 8, heads

    def refusal_of_earlier_runs(self) -> str:
        if self.kept == "first":
            return ""
        return (
            f"{self.name} keeps the {self.kept} of equal documents, and what earlier runs hold"
            " stays; give it keep: first"
        )


class ExactDedup(EqualStep):
    """Keep the first of all documents with the same text, byte for byte, across the whole corpus,
    by MD5 or `digest: xxh3`.

    digest: of the text as it stands at this step; two texts of one digest are taken as equal.

    samples: of documents with images, "images" asks for equal images too, by MD5, or URL where
        there are no bytes; "captions" for equal text alone.

    Images without a word beside them equal nothing: `same_images` compares those.
    """

    name: ClassVar[str] = "exact"
    reason: ClassVar[str] = "exact_duplicate"
    similarity: ClassVar[float] = 1.0
    compares_texts: ClassVar[bool] = True
    copies: ClassVar[str] = "copies_exact"

    digest: Literal["md5", "xxh3"] = "md5"
    samples: Literal["images", "captions"] = "images"

    @property
    def shuffled(self) -> tuple[Shuffled, ...]:
        return (Shuffled("digest", 2, zeros_are_a_key=True),)

    def key_parameters(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            **({"samples": self.samples} if self.samples != "images" else {}),
        }

    def counting(self) -> "ExactDedup":
        return self.model_copy(update={"digest": "xxh3"})

    def key_columns(self, documents: pa.RecordBatch, source: str) -> list[pa.Array]:
        of_images = self.samples == "images"
        return [fixed_size_list(_text_digests(documents, self.digest, of_images=of_images))]

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        facts = facts_of(receipts, self.name)
        return {"duplicates": {self.name: merged_facts(facts)}} if facts else {}


class SameUrl(EqualStep):
    """Keep the last of all documents with the same URL, letter by letter or `url: normalized`:
    list inputs oldest first. Or `keep: first`, or of web archives `keep: newest`.

    keep: the last in input order, or the first, or the newest by date of the crawl, whatever the
        order of the inputs: of equal dates the last, and any that has a date before those without.
        The last is the newest where the inputs, and the files of each in order of their paths, are
        listed oldest first, as crawls are named.
    url: "exact" are URLs equal letter by letter; "normalized", in the form that
        `pipelines.core.urls` has for them, by w3lib (`pip install tokenmill[web]`).
    drop_parameters: of normalized URLs, those that count for nothing: names, whatever their case;
        "*" at the end of one is any end.

    A document without a URL equals no other.

    Source: OBELICS, arXiv:2306.16527, which keeps the greatest `warc_filename` (08_01), letter by
    letter.
    """

    name: ClassVar[str] = "same_url"

    keep: Keep = "last"
    url: Literal["exact", "normalized"] = "exact"
    drop_parameters: tuple[str, ...] = TRACKING

    @property
    def asks_urls(self) -> bool:
        return True

    @model_validator(mode="after")
    def _can_normalize(self) -> "SameUrl":
        if self.url == "normalized" and find_spec(LIBRARY) is None:
            raise ValueError(f"needs the {LIBRARY} library; pip install 'tokenmill[web]'")
        if self.url == "exact" and self.drop_parameters != TRACKING:
            raise ValueError("drop_parameters are those of url: normalized; add it")
        return self

    @property
    def needs_dates(self) -> bool:
        return self.keep == "newest"

    def versions(self) -> dict[str, str]:
        return {} if self.url == "exact" else {LIBRARY: version(LIBRARY)}

    @property
    def shuffled(self) -> tuple[Shuffled, ...]:
        return (Shuffled(self.name, 2, beside=DATE if self.needs_dates else None),)

    def key_parameters(self) -> dict[str, Any]:
        if self.url == "exact":
            return {}
        dropped = sorted(set(map(str.lower, self.drop_parameters)))
        return {"url": self.url, "drop_parameters": dropped, **self.versions()}

    def key_fields(self) -> list[pa.Field]:
        # greater the newer, 0 for a document without a date
        dates = [pa.field(DATE, pa.uint64())] if self.needs_dates else []
        return [*super().key_fields(), *dates]

    def key_columns(self, documents: pa.RecordBatch, source: str) -> list[pa.Array]:
        urls = documents["url"]
        compared = urls if self.url == "exact" else normalized(urls, self.drop_parameters)
        keys = [fixed_size_list(text_keys(compared))]
        if not self.needs_dates:
            return keys
        since_1970 = documents["date"].cast(pa.int64()).fill_null(np.iinfo(np.int64).min)
        return [*keys, pa.array(np.asarray(since_1970).view(np.uint64) ^ np.uint64(1 << 63))]


class SameImages(EqualStep):
    """Keep the last of all documents with the same set of images, by URL or `by: md5`; or
    `keep: first`.

    by: URLs or MD5s are what is the same.  keep: as in `SameUrl`.

    A document without images, or with one whose URL or MD5 is not known, equals no other.

    Source: OBELICS (11_01), by URL, keep the last.
    """

    name: ClassVar[str] = "same_images"
    needs_images: ClassVar[bool] = True

    by: ImageKey = "url"
    keep: Literal["first", "last"] = "last"

    def key_parameters(self) -> dict[str, Any]:
        return {"by": self.by}

    def key_columns(self, documents: pa.RecordBatch, source: str) -> list[pa.Array]:
        return [fixed_size_list(image_set_keys(documents, self.by))]


DATE = "same_url_date"


def _text_digests(
    documents: pa.RecordBatch, kind: Literal["md5", "xxh3"], *, of_images: bool
) -> U64:
    """(n_docs, 2); of images without a word beside them one that no other document has.

    of_images: one for text and images; if it is not known what these are, one of its own as well.
    """
    pairs = digests(documents["text"], kind)
    if "images" not in documents.schema.names:
        return pairs
    made = pairs.copy()
    without = pc.utf8_trim_whitespace(pc.replace_substring(documents["text"], PLACEHOLDER, ""))
    pictured = counts_of(documents) > 0
    alone = pictured & np.asarray(pc.equal(without, ""))
    compared = pictured & ~alone & of_images
    if compared.any():
        sets = known(image_set_keys, documents)
        alone |= compared & ~has_key(sets)
        made[compared] = _spans(np.hstack((pairs, sets))[compared], kind)
    made[alone] = _spans(np.asarray(documents["doc_id"])[alone, None], "xxh3")
    return made


def _spans(rows: U64, kind: Literal["md5", "xxh3"]) -> U64:
    """(n, 2) digests of rows of numbers."""
    ends = np.arange(len(rows) + 1) * rows.shape[1] * rows.itemsize
    return span_digests(np.ascontiguousarray(rows).reshape(-1).view(np.uint8), ends, kind)


def find_equal(run: RunFolder, part: Pass, name: str, number: int) -> Done:
    """Write the documents that equal the one kept in their place, of a range of keys."""
    corpus, step = Corpus(run, part), part.step(name, EqualStep)
    keys = spilled(corpus, name, 0, number)
    left = corpus.memory_left(name, keys.n, DOC_BYTES, works=corpus.n_ranges)
    per_row = ROW_BYTES + MORE_ROW_BYTES[step.kept]
    going, n = np.empty((keys.n, 2), np.int64), 0
    for equal in parts(keys, Room(left, per_row, LARGEST_BYTES)):
        for pairs in _going(equal, _kept(equal, keys, step.kept), corpus.shards.first_new_row):
            going[n : n + len(pairs)] = pairs
            n += len(pairs)
    going = going[:n]
    order = np.argsort(going[:, 0])
    path = corpus.path(FORESTS, step=name, level=0, number=number)
    starts = range(0, n, ROWS_AT_ONCE)
    write_pairs(path, FOREST, (going[order[at : at + ROWS_AT_ONCE]] for at in starts))
    return Done(files=[path], facts=cluster_facts(corpus, going[:, 1].copy()))


def _kept(part: Part, keys: Range, keep: Keep) -> I64:
    """(n,) of each row of a part the one kept of those that equal it."""
    rows, bits = part.rows, prefix_bits(keys.n)
    if part.all_equal:
        only = _newest(rows, keys) if keep == "newest" else rows[0 if keep == "first" else -1]
        return np.broadcast_to(only, len(rows))
    if keep == "newest":
        return rows[newest_occurrence(part.keys, _dates(keys, rows), bits)]
    occurrence = first_occurrence if keep == "first" else last_occurrence
    return rows[occurrence(part.keys, bits)]


def _dates(keys: Range, rows: I64) -> U64:
    dates: U64 = keys.take("key", rows)[:, -1]
    return dates


def _newest(rows: I64, keys: Range) -> np.int64:
    """The newest of many rows, of equal ones the last."""
    newest, date = rows[-1], np.uint64(0)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        dates = _dates(keys, some)
        if dates.max() >= date:
            date = dates.max()
            newest = some[len(some) - 1 - dates[::-1].argmax()]
    return np.int64(newest)


def _going(part: Part, kept: I64, first_new_row: int) -> Iterator[I64]:
    """(n, 2) rows that are not kept, and those kept in their place; of this run alone."""
    for start in range(0, len(kept), ROWS_AT_ONCE):
        rows, of = part.rows[start : start + ROWS_AT_ONCE], kept[start : start + ROWS_AT_ONCE]
        gone = (rows != of) & (rows >= first_new_row)
        yield np.column_stack([rows[gone], of[gone]])


def write_equal(run: RunFolder, part: Pass, name: str, group: int) -> Done:
    corpus, step = Corpus(run, part), part.step(name, EqualStep)
    paths = [corpus.path(FORESTS, step=name, level=0, number=n) for n in range(corpus.n_ranges)]

    def similarity(pairs: I64, _: int) -> F32:
        return np.full(len(pairs), step.similarity, np.float32)

    return write_kept(corpus, step, group, paths, similarity)
