"""The step that keeps one of documents that are nearly the same.

    cluster: stars        see `corpus.stars`
    cluster: components   keys ── spill ── edges: a range of a band a work ── forests, joined in a
                          tree until there is one ── verdicts, a group a work

    edges of every band and range ── 16 of them ── a forest ┐
                                     16 of them ── a forest ┴─ 16 of them ── … ── the clusters

A forest is edges again, and fewer than joined it: no more than there are documents in pairs.
With `keep: leading` counts go beside it: of how many edges each document is the earlier one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import F32, I64, U8, U32
from tokenmill.dedup.same.images import PICTURE_BYTES, pictures
from tokenmill.dedup.same.lsh import Bands, Buckets, band_keys, count_pairs
from tokenmill.dedup.same.minhash import MinHash, pair_similarity, signatures, signed_shingles
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.dedup.same.sets import Ratio, distinct, pack
from tokenmill.dedup.same.verify import CONTEXT_ROWS, Forest, Touched, cut_large, verified_edges
from tokenmill.dedup.text.shingle import Shingles
from tokenmill.dedup.text.simplified import simplified
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.buckets import works_of
from tokenmill.pipelines.corpus.edges import ALIKE, PACKED, PICTURES, SHINGLES, Comparing
from tokenmill.pipelines.corpus.looks import BACKGROUNDS, Views, seen
from tokenmill.pipelines.corpus.pairs import (
    FOREST,
    FORESTS,
    PAIRS_AT_ONCE,
    Clusters,
    Pairs,
    cluster_facts,
    merged_facts,
    merged_pairs,
    read_pairs,
    write_kept,
    write_pairs,
)
from tokenmill.pipelines.corpus.rows import LEAST_BYTES, Corpus
from tokenmill.pipelines.corpus.shuffle import Range, Room, parts
from tokenmill.pipelines.corpus.spill import KeyedStep, spilled
from tokenmill.pipelines.corpus.stars import GONE_BYTES, decided, found_edges, told_of, write_stars
from tokenmill.pipelines.corpus.step import (
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
from tokenmill.pipelines.filters.images.keys import image_keys, image_set_keys, known
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.nodes import are_samples, counts_of
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases

EDGES = Folder("2-edges", "band-{band:03d}-{number:05d}.arrow")
EDGE = pa.schema([pa.field("left", pa.int64()), pa.field("right", pa.int64())])
PICTURE_FIELD = pa.field(PICTURES, pa.list_(pa.uint8()))
LEADS = Folder("2-leads", "{level}-{number:05d}.arrow")
LEAD = pa.schema([pa.field("row", pa.int64()), pa.field("pairs", pa.int64())])
FAN_IN = 16
ROW_BYTES = 44  # row numbers and key 16, partition 4, members 8, in order 8, ends 4, trees 4
LARGEST_BYTES = 36  # of a hash table at most 16, keys 8, members' places 12
SIGNED_BYTES = 400  # besides a signature: its row, sorting, place 32; at most 15.5 edges, twice
TOUCHED_BYTES = 28  # of a row in pairs: its number 8, its tree 4, the row kept for it twice 16
LEAD_BYTES = 12  # of a row in pairs: of how many it is the earlier 8, who leads its tree 4
PAIR_BYTES = 64  # of a pair besides its signatures: row numbers, sorting them, places
# bytes of shingle hashes for a byte of text: a word of 4 bytes for each character of 3, as Chinese
# comes near to; of English prose 0.6. Only words of a digit or a Latin letter each have more.
SHINGLES_FRAC = 4 / 3
MOST_JOINED = 1 << 32  # rows that forests can hold: trees are numbered by 32 bits
MOST_SIGNED = 1 << 20  # signatures at a time: more do not read faster
MOST_PAIRS = 1 << 19  # pairs at a time: more do not read faster
MOST_MEMBERS = 1 << 20  # of a bucket that is looked at whole: its trees take memory


class NearDedup(KeyedStep, VerdictStep):
    """Remove documents that share most of their word n-grams with an earlier one that is kept:
    found by MinHash LSH, told by their exact Jaccard similarity.

    MinHash LSH: documents that agree on all rows of a band are candidate pairs, and compared. In
    input order a document leaves if an earlier one that stays is a candidate and as similar as
    `verify`; its receipt names the most similar of these, and how similar it is.

    ngram: words of a shingle; 5 are 5 characters where each is a word.
    words: "scripts" are runs of letters and digits, and one character a word in Chinese and
        Japanese, one grapheme cluster in Thai and its like, one Tibetan syllable, whatever spaces
        stand between; "unicode" such runs in every script; "whitespace" what stands between spaces.
    normalize: "none", or "datatrove" to compare texts in the form in which it does: numbers as 0,
        no punctuation, no diacritics (`dedup.text.simplified`), and none of fewer words than
        `ngram`, which otherwise are compared as a whole; with words: whitespace.
    num_perm, seed: of the signatures.
    bands, rows: of the LSH. Two documents of similarity s share a band with probability
        1 - (1 - s^rows)^bands: 14 bands of 5 bring .996 of the pairs of 0.8 together, .924 of
        0.7; the 14 of 8 of FineWeb .924 and .565.
    verify: least Jaccard similarity of a pair; 0 takes every candidate pair.
    similarity: "exact" of the sets of distinct 32-bit shingle hashes, in integers; or "estimate",
        the share of slots in which two signatures agree, as published pipelines have it.
    cluster: "stars", as told above; or "components", as published pipelines have it: the first
        document of all that pairs connect is kept, though it need not be like each of them.
    keep: of such components, "first"; or "leading", the document that is the earlier one in most
        pairs, counted in each band: of all datatrove keeps, by the order of its pairs, most often.
    scope: documents meet across the whole corpus, or only within their source.
    samples: of images beside a caption, "images" asks for near captions and equal images, by MD5,
        or URL where there are no bytes; "alike" for near captions and images of which each is equal
        to one of the other's or near it, as `near_images` tells, so that all are decoded;
        "captions" for near captions alone. Where images stand in the text, that is compared, but
        by "documents", which asks for equal images there too.
    """

    name: ClassVar[str] = "near"
    reason: ClassVar[str] = "near_duplicate"
    compares_texts: ClassVar[bool] = True
    copies: ClassVar[str] = "copies_near"

    ngram: Annotated[int, Field(ge=1, le=64)] = 5
    words: Literal["scripts", "unicode", "whitespace"] = "scripts"
    normalize: Literal["none", "datatrove"] = "none"
    num_perm: Annotated[int, Field(ge=1, le=16384)] = 70
    bands: Annotated[int, Field(ge=1, le=1024)] = 14
    rows: Annotated[int, Field(ge=1, le=256)] = 5
    verify: Annotated[float, Field(ge=0.0, le=1.0)] = 0.7
    similarity: Literal["exact", "estimate"] = "exact"
    cluster: Literal["stars", "components"] = "stars"
    keep: Literal["first", "leading"] = "first"
    scope: Literal["corpus", "source"] = "corpus"
    samples: Literal["images", "alike", "captions", "documents"] = "images"
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1

    @model_validator(mode="after")
    def _settings_that_go_together(self) -> "NearDedup":
        lsh = self.lsh()
        if lsh.num_perm > self.num_perm:
            raise ValueError(
                f"{lsh.bands} bands of {lsh.rows} rows need {lsh.num_perm} permutations,"
                f" num_perm is {self.num_perm}; give that too"
            )
        Ratio.of(self.verify)  # a short decimal
        if self.keep == "leading" and self.cluster == "stars":
            raise ValueError("keep: leading is of cluster: components; stars keep the first")
        if self.looks_at_images and self.cluster == "components":
            raise ValueError(
                "samples: alike is of cluster: stars; of components many would look like none kept"
            )
        return self

    @property
    def looks_at_images(self) -> bool:
        return self.samples == "alike"

    @property
    def joined_bytes(self) -> int:
        """Memory of a row in pairs."""
        return TOUCHED_BYTES + (LEAD_BYTES if self.keep == "leading" else 0)

    @property
    def exact(self) -> bool:
        """Whether similarities are those of sets of shingles, not estimates."""
        return self.similarity == "exact"

    def minhash(self) -> MinHash:
        return MinHash(num_perm=self.num_perm, seed=self.seed, ngram=self.ngram, words=self.words)

    def lsh(self) -> Bands:
        return Bands(bands=self.bands, rows=self.rows)

    @classmethod
    def verdict_folder(cls) -> Folder:
        return Folder(f"4-{cls.name}", "{group:05d}.arrow")

    @property
    def shuffled(self) -> tuple[Shuffled, ...]:
        return tuple(Shuffled(f"band_{band:03d}") for band in range(self.joined_columns))

    @property
    def joined_columns(self) -> int:
        """Bands of captions; if images may be near, behind them those of equal images too, since of
        a caption that many have not all are compared.
        """
        return self.lsh().bands * (2 if self.looks_at_images else 1)

    def key_parameters(self) -> dict[str, Any]:
        lsh = self.lsh()
        return {
            "ngram": self.ngram,
            "words": self.words,
            "num_perm": self.num_perm,
            "seed": self.seed,
            "bands": lsh.bands,
            "rows": lsh.rows,
            "scope": self.scope,
            "similarity": self.similarity,
            **({} if self.normalize == "none" else {"normalize": self.normalize}),
            **({"samples": self.samples} if self.samples != "images" else {}),
        }

    def key_fields(self) -> list[pa.Field]:
        """Band keys: uint64, 0 for a document without shingles; and what similarity is told by.

        `pictures` are those of a sample, as `dedup.same.images.pictures` has them.

        Exact: its shingle hashes, as often as they occur and as they come, or, if `packed` is not
        0, the set of so many as `dedup.same.sets` packs it. Else a signature of num_perm uint32.
        """
        if self.exact:
            hashes = pa.field(SHINGLES, pa.list_(pa.uint32()))
            fields = [hashes, pa.field(PACKED, pa.uint32())]
        else:
            fields = [pa.field("signature", pa.list_(pa.uint32(), self.num_perm))]
        fields += [pa.field(column.keys, pa.uint64()) for column in self.shuffled]
        return [*fields, *([PICTURE_FIELD] if self.looks_at_images else [])]

    def key_columns(self, documents: pa.RecordBatch, source: str) -> list[pa.Array]:
        texts = documents["text"]
        if self.normalize == "datatrove":
            forms = simplified(texts)
            short = pc.less(pc.count_substring(forms, " "), self.ngram - 1)
            texts = pc.if_else(short, "", forms)
        if self.exact:
            signed, found = signed_shingles(texts, self.minhash())
            told = [_lists(found.hashes, found.offsets), pa.array(np.zeros(len(signed), np.uint32))]
        else:
            signed = signatures(texts, self.minhash())
            told = [fixed_size_list(signed)]
        keys = band_keys(signed, self.lsh())
        if self.scope == "source":
            keys = _within_source(keys, source)
        if self.samples != "captions":
            pictured = counts_of(documents) > 0
            of = pictured if self.samples == "documents" else are_samples(documents)
            of_samples = of[:, None]
            of_images = _with_images(keys, documents) if of.any() else keys
            if self.looks_at_images:
                keys = np.hstack((keys, np.where(of_samples, of_images, np.uint64(0))))
            else:
                keys = np.where(of_samples, of_images, keys)
        columns = [pa.array(np.ascontiguousarray(keys[:, b])) for b in range(keys.shape[1])]
        return [*told, *columns]

    def image_columns(
        self, documents: pa.RecordBatch, blobs: Blobs | None, images: Images | None
    ) -> list[pa.Array]:
        if not self.looks_at_images:
            return []
        of_samples = are_samples(documents)
        sizes = np.zeros(len(of_samples), np.int64)
        found = np.empty(0, np.uint8)
        if of_samples.any():
            some = documents.filter(pa.array(of_samples))
            sizes[of_samples] = counts_of(some) * PICTURE_BYTES
            kinds, hashes, looks = seen(some, blobs, Views(), images.max_pixels if images else 0)
            hashed = np.where(np.isin(kinds, list(BACKGROUNDS)), kinds, 0).astype(np.uint8)
            found = pictures(known(image_keys, some), hashed, hashes[:, 0], looks[:, 0]).ravel()
        return [_lists(found, np.concatenate(([0], np.cumsum(sizes))))]

    @property
    def decides_in_order(self) -> bool:
        return self.cluster == "stars"

    @property
    def keys_frac(self) -> float:
        return SHINGLES_FRAC if self.exact else 0.0

    def kept_keys(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        if not self.exact:
            return keys
        lists = keys[SHINGLES]
        lengths = np.asarray(lists.value_lengths()).astype(np.int64)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        packed = pack(distinct(Shingles(np.asarray(lists.flatten()), offsets)))
        columns = {name: keys[name] for name in keys.schema.names}
        columns[SHINGLES] = _lists(packed.words, packed.offsets)
        columns[PACKED] = pa.array(packed.sizes.astype(np.uint32))
        return pa.record_batch(list(columns.values()), schema=keys.schema)

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        yield from self.spill(chain, size)
        n_bands = self.joined_columns
        if self.cluster == "stars":
            last, largest = yield from decided(chain, self.name, n_bands, size)
            by_group = group_works(size.new, self.name, last, largest)
            yield from chain.phase("near kept", "kept-near", write_stars, by_group)
            return
        if self.exact:
            yield from found_edges(chain, self.name, n_bands, size)
            counts = levels(len(works_of(n_bands, size)))
        else:
            bands = {
                f"band-{band:03d}-{n:05d}": (band, n)
                for band in range(n_bands)
                for n in range(size.ranges)
            }
            yield from chain.phase("bands", "bands", find_edges, bands)
            counts = levels(len(bands))
        for level, n_files in enumerate(counts[1:-1], 1):
            forests = {f"forest-{level}-{n:05d}": (level, n) for n in range(n_files)}
            yield from chain.phase("forests", "forests", join_forests, forests)
        whole = {"all": (len(counts) - 1, 0)}
        made = yield from chain.phase("near", "near", join_forests, whole)
        largest = tuple((doc_id, n) for doc_id, n in made["all"].facts["largest"])
        yield from chain.phase("near kept", "kept-near", write_near, group_works(size.new, largest))

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        if self.cluster == "stars":
            return {"duplicates": told_of(receipts, self.name, self.lsh(), self.verify)}
        of_bands, of_all = facts_of(receipts, "bands"), facts_of(receipts, self.name)
        found: dict[str, Any] = {}
        if of_bands:
            names = ("candidates", "edges")
            found["bands"] = {name: sum(facts[name] for facts in of_bands) for name in names}
        if of_all:
            pairs = merged_pairs(facts_of(receipts, "kept-near"))
            found[self.name] = {**merged_facts(of_all), **pairs, "verify": self.verify}
        return {"duplicates": found}

    def scratch_bytes(self, text_bytes: float, docs: float) -> float:
        of_sets = self.keys_frac * text_bytes if self.exact else docs * self.num_perm * 4
        of_images = docs * PICTURE_BYTES if self.looks_at_images else 0.0
        return of_sets + of_images + docs * self.joined_columns * 28

    def limit(self, memory_budget: int) -> str:
        if self.cluster == "stars":
            return (
                f"near: up to {memory_budget // GONE_BYTES:,} documents that leave, of up to"
                f" {memory_budget * 8:,}"
            )
        return (
            f"near: up to {memory_budget // self.joined_bytes:,} documents that are like others,"
            f" of up to {memory_budget * 8 // 3:,}"
        )

    def probe(self, probing: Probing) -> Any:
        columns = [column.keys for column in self.shuffled]
        if self.looks_at_images:
            return None  # images are not drawn
        if self.cluster == "stars":
            return probing.stars(
                columns, minhash=self.minhash(), exact=self.exact, verify=self.verify
            )
        if self.exact:
            return None  # of components only signatures are followed
        return probing.near(columns, num_perm=self.num_perm, verify=self.verify)

    @property
    def what_tells_instead(self) -> str:
        if self.looks_at_images:
            return "with samples: images it is"
        return "with similarity: estimate, or cluster: stars, it is"


def _lists(values: U8 | U32, offsets: I64) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(values))


def _within_source(keys: Any, source: str) -> Any:
    """Band keys that only meet keys of the same source; 0, no key, stays 0."""
    import xxhash

    salt = np.uint64(xxhash.xxh3_64_intdigest(source.encode()))
    salted = keys ^ salt
    return np.where(keys == 0, keys, np.where(salted == 0, salt, salted))


def _with_images(keys: Any, documents: pa.RecordBatch) -> Any:
    """Band keys of samples that only meet those with the same images; 0 where these have no key."""
    sets = known(image_set_keys, documents)
    salts = (sets[:, 0] ^ sets[:, 1])[:, None]
    return np.where((keys == 0) | (salts == 0), np.uint64(0), keys ^ salts)


def find_edges(run: RunFolder, part: Pass, band: int, number: int) -> Done:
    """Write the pairs that meet in one band and verify, of a range (`number`) of its keys."""
    corpus = Corpus(run, part)
    path = corpus.path(EDGES, band=band, number=number)
    tally = {"candidates": 0}
    keys = spilled(corpus, NearDedup.name, band, number)
    edges = write_pairs(path, EDGE, _edges(corpus, keys, tally))
    return Done(files=[path], facts={**tally, "edges": edges})


def _edges(corpus: Corpus, keys: Range, tally: dict[str, int]) -> Iterator[Pairs]:
    """The edges of a range, some at a time; candidates are added to the tally."""
    rows, near = corpus.rows(), corpus.part.step(NearDedup.name, NearDedup)
    left = corpus.memory_left(near.name, keys.n, 0, works=n_edges_files(corpus))
    per_signature = near.num_perm * 4 + SIGNED_BYTES
    at_once = max(min(left // 4 // per_signature, MOST_SIGNED), CONTEXT_ROWS)
    room = Room(left - at_once * per_signature, ROW_BYTES, LARGEST_BYTES)
    for part in parts(keys, room):
        whole = Buckets(*part.buckets(prefix_bits(keys.n)))
        tally["candidates"] += count_pairs(whole.ends)
        for same in cut_large(whole, MOST_MEMBERS):
            yield from verified_edges(
                same,
                lambda wanted: rows.take("signature", wanted),
                num_perm=near.num_perm,
                verify=near.verify,
                rows_at_once=at_once,
            )


def levels(n_edges: int) -> list[int]:
    """Files of each level: of edges, and of forests until there is one.

    >>> levels(14), levels(280), levels(1)
    ([14, 1], [280, 18, 2, 1], [1, 1])
    """
    made = [n_edges]
    while len(made) == 1 or made[-1] > 1:
        made.append(-(-made[-1] // FAN_IN))
    return made


def n_edges_files(corpus: Corpus) -> int:
    step = corpus.part.step(NearDedup.name, NearDedup)
    n_bands = step.lsh().bands
    return len(works_of(n_bands, corpus.size)) if step.exact else n_bands * corpus.n_ranges


def join_forests(run: RunFolder, part: Pass, level: int, number: int) -> Done:
    """Join some of the files of the level below; the last one of all also tells what was found.

    Documents of earlier runs join others, but in the last forest none of them has a row: they
    stay, whatever they are like.
    """
    corpus, near = Corpus(run, part), part.step(NearDedup.name, NearDedup)
    counts = levels(n_edges_files(corpus))
    below = range(number * FAN_IN, min((number + 1) * FAN_IN, counts[level - 1]))
    paths = [_path(corpus, level - 1, n) for n in below]
    touched = Touched(corpus.n, first=int(corpus.shards.starts[0]))
    for path in paths:
        for pairs in read_pairs(path):
            touched.mark(pairs)
    if touched.n > MOST_JOINED:
        raise ConfigError(
            f"near: {touched.n:,} documents in pairs are more than can be joined, {MOST_JOINED:,};"
            " put exact before it, raise verify or split the corpus"
        )
    least, works = LEAST_BYTES + corpus.n * 3 // 8, counts[level]
    corpus.memory_left(
        near.name, touched.n, near.joined_bytes, least=least, works=works, of="documents in pairs"
    )
    forest = Forest(touched)
    for path in paths:
        for pairs in read_pairs(path):
            forest.join(pairs)
    path, is_last = _path(corpus, level, number), level == len(counts) - 1
    files = [path]
    if near.keep == "leading":
        files += _led(corpus, forest, level, below, None if is_last else number)
    kept: list[I64] = [np.empty(0, np.int64)]

    def trees() -> Iterator[Pairs]:
        for found in forest.trees(PAIRS_AT_ONCE):
            if is_last:
                found = found[found[:, 0] >= corpus.shards.first_new_row]
                kept.append(found[:, 1].copy())
            yield found

    write_pairs(path, FOREST, trees())
    facts = cluster_facts(corpus, np.concatenate(kept)) if is_last else {}
    return Done(files=files, facts=facts)


def _led(
    corpus: Corpus, forest: Forest, level: int, below: range, number: int | None
) -> list[Path]:
    """Count of how many pairs, in files of the level below, each row is the earlier one.

    Write that to a file (`number`), or, at the end (None), let those lead that are most often.
    """
    rows = forest.rows
    leads = np.zeros(len(rows), np.int64)
    for n in below:
        if level == 1:
            for pairs in read_pairs(_path(corpus, 0, n)):
                np.add.at(leads, np.searchsorted(rows, pairs[:, 0]), 1)
        else:
            for pairs in read_pairs(corpus.path(LEADS, level=level - 1, number=n)):
                leads[np.searchsorted(rows, pairs[:, 0])] += pairs[:, 1]
    if number is None:
        forest.lead(leads, corpus.shards.first_new_row)
        return []
    path = corpus.path(LEADS, level=level, number=number)
    write_pairs(path, LEAD, [np.column_stack((rows, leads))])
    return [path]


def _path(corpus: Corpus, level: int, number: int) -> Path:
    """A file of a level: of edges, band by band and range by range; of forests in order."""
    if level:
        return corpus.path(FORESTS, step=NearDedup.name, level=level, number=number)
    if corpus.part.step(NearDedup.name, NearDedup).exact:
        return corpus.path(ALIKE, round=0, level=0, number=number)
    band, of_range = divmod(number, corpus.n_ranges)
    return corpus.path(EDGES, band=band, number=of_range)


def write_near(run: RunFolder, part: Pass, largest: Clusters, group: int) -> Done:
    """Write the verdicts on every shard of a group; largest: clusters of which a pair is told."""
    corpus, step = Corpus(run, part), part.step(NearDedup.name, NearDedup)
    clusters = _path(corpus, len(levels(n_edges_files(corpus))) - 1, 0)

    def similarity(pairs: Pairs, left: int) -> F32:
        if step.exact:
            comparing = Comparing(corpus.rows(), step.minhash(), exact=True, verify=0.0, room=left)
            every = comparing.edges(pairs[:, 1], pairs[:, 0])
            told = [np.empty(0), *(edges.shared / edges.union for edges in every)]
            return np.concatenate(told).astype(np.float32)
        at_once = min(left // (2 * step.num_perm * 4 + PAIR_BYTES), MOST_PAIRS)
        return _similarities(corpus, pairs, at_once)

    return write_kept(corpus, step, group, [clusters], similarity, largest)


def _similarities(corpus: Corpus, pairs: Pairs, pairs_at_once: int) -> F32:
    """(n,) estimated Jaccard similarity of the documents of each pair."""
    rows, alike = corpus.rows(), np.empty(len(pairs), np.float32)
    for start in range(0, len(pairs), pairs_at_once):
        gone, kept = pairs[start : start + pairs_at_once].T
        wanted, where = np.unique(np.concatenate((kept, gone)), return_inverse=True)
        signed = rows.take("signature", wanted)
        here = pair_similarity(signed, where[: len(gone)], where[len(gone) :])
        alike[start : start + pairs_at_once] = here
    return alike
