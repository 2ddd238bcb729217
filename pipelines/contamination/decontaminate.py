"""The step that frees documents from benchmark items: cut into pieces, dropped, or only reported.

Which n-grams count is only known once the whole corpus has been searched:

    pass before:  documents ──search──► found, a sidecar
    corpus-wide:  found of all shards, less duplicates ─┬─ documents of each n-gram ── ignored
                                                        └─ what of the benchmarks is in the corpus
    pass behind:  documents, found ──Cleaner──► kept and removed, overlaps, links of pieces

The detail of what is removed says why: what of benchmark items stands in the document, as a line.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import F64, I64, Bools, text_buffers
from tokenmill.dedup.overlap.containment_index import FORMAT, ContainmentIndex
from tokenmill.dedup.overlap.cut import Pieces, cut, drop_paragraphs, piece_texts
from tokenmill.dedup.overlap.find import Hits, find
from tokenmill.dedup.text.fold import fold
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.copies import (
    COPY,
    Copies,
    best_explained,
    find_copies,
    index_copies,
    passages,
    with_edited,
)
from tokenmill.pipelines.contamination.found import (
    FOUND,
    count_corpus,
    hits_of,
    ignored_grams,
    search,
)
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.items import read_items
from tokenmill.pipelines.contamination.items.rows import check_outside, files_of, is_hub
from tokenmill.pipelines.contamination.model import NAME
from tokenmill.pipelines.contamination.rows import (
    OVERLAP,
    copy_rows,
    overlap_file,
    overlap_rows,
    pairs_of,
)
from tokenmill.pipelines.contamination.shares import Units
from tokenmill.pipelines.contamination.summary import summarize
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.pieces import MOST_PIECES, PIECE, number_pieces
from tokenmill.pipelines.core.shard import Input, InputFile
from tokenmill.pipelines.core.step import KEEP, StageResult, keep_where, removed_rows, with_text
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.step import (
    Applied,
    Applier,
    Chain,
    CuttingStep,
    Pass,
    Rows,
    Sidecar,
    SideTable,
    Size,
    Told,
)
from tokenmill.pipelines.corpus.verdicts import removed_ids
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases, Work
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import atomic_path, write_json
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

COPIES, SOURCE = "copies.arrow", b"tokenmill.source"
WIDESPREAD = "widespread_items"  # names, beside what a summary has
BENCHMARKS = Folder("05-index", "", of_pass=False)
FOUND_FOLDER = Folder("5-found", "part-{key}.arrow")
IGNORED_FOLDER = Folder("6-ignored", "ngrams.arrow")
CONTAMINATION = Folder("6-ignored", "contamination.json")
OVERLAPS = Folder("overlaps", "part-{key}.parquet", of_pass=False)
PIECES = Folder("pieces", "part-{key}.parquet", of_pass=False)
IGNORED = pa.schema([pa.field("ngram", pa.int64(), nullable=False)])


class Decontaminate(Matching, CuttingStep):
    """Cut out of documents what they have in common with benchmark items, with 200 characters
    around, but not what stands in more than 10 documents. Or `action: document`, `paragraph`,
    `report`.

    The defaults are GPT-3's filtering (Brown et al. 2020, arXiv:2005.14165, appendix C), with N
    of its overlap analysis: items under 8 words count for nothing, n-grams of more than
    `most_docs` documents neither. Documents are counted as the steps before this one left them.

    benchmarks: well-known ones by name, as gsm8k, or {name: quiz, path: quiz.csv, fields: [text]}.
    ngram: words in an n-gram; "auto" is 8 to 13, by the lengths of a benchmark's items.
    words: "scripts" takes one character for a word in Chinese and Japanese, one grapheme cluster in
        Thai and its like, two of them for one in `ngram` and in lengths; GPT-3's are "whitespace".
    folding: disguises that documents and items are both freed from first, each true or false.
    most_docs: an n-gram in more documents is ignored; None is no limit.
    action: "cut" cuts n-grams out, with the text around them, and goes on with the pieces, each a
        document of its own; "document" drops every document with an n-gram; "paragraph" drops
        paragraphs of at least 13 words that have half of theirs from benchmarks; "report" keeps
        everything as it is.
    edited: "cut" or "document" does so with edited copies of items too, found by containment, and
        only with these whatever `action` is; None leaves them. A copy of an item counts that the
        document has no n-gram of, and half of whose n-grams count; that of a passage that is asked
        about only if the question stands near.
    window_chars: cut out on each side of an n-gram.
    least_chars: shorter pieces are dropped.
    most_pieces: a document that falls into more is dropped.
    """

    action: Literal["cut", "document", "paragraph", "report"] = "cut"
    edited: Literal["cut", "document"] | None = None
    window_chars: Annotated[int, Field(ge=0)] = 200
    least_chars: Annotated[int, Field(ge=0)] = 200
    most_pieces: Annotated[int, Field(ge=1, le=MOST_PIECES)] = 10

    name: ClassVar[str] = NAME
    makes_pieces: ClassVar[bool] = True
    makes_ready: ClassVar[bool] = True
    side_tables = (SideTable(OVERLAPS, OVERLAP, overlap_file), SideTable(PIECES, PIECE))

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.edited is not None and self.action not in ("cut", "document"):
            raise ValueError(
                f"edited {self.edited!r} does not go with action {self.action!r}; set action: cut"
                " or document, or leave edited out"
            )
        return self

    @property
    def only_own_run(self) -> bool:
        return bool(self.most_docs)

    def check(self, inputs: Sequence[Input]) -> None:
        check_outside(self.benchmarks, inputs)

    def versions(self) -> dict[str, str]:
        return {} if self.edited is None else {"edited copies": FORMAT}

    def look_into(self) -> None:
        for benchmark in self.benchmarks:
            if not is_hub(benchmark.path):
                read_items(benchmark)

    def files(self) -> Iterator[InputFile]:
        for benchmark in self.benchmarks:
            yield from files_of(benchmark)

    def build(self) -> BenchmarkIndex:
        return BenchmarkIndex.build(self, published=True)

    def setup(self, run: RunFolder, built: Any = None) -> Work:
        args = (self, built)
        return Work(step="index", key="all", inputs=run.identity, call=index_benchmarks, args=args)

    def sidecar(
        self, run: RunFolder, pass_index: int, key: str, *, source: str, images: Images | None
    ) -> Sidecar:
        index = self._index(run)

        def found(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
            return search(documents, index, source)

        told = FOUND.with_metadata({**FOUND.metadata, SOURCE: source})
        return Sidecar(run.path(FOUND_FOLDER, pass_index, key=key), told, found, "lz4")

    @property
    def pieces_at_most(self) -> int:
        return self.most_pieces if self.action == "cut" else 1

    def leaves(self, run: RunFolder) -> Callable[[pa.RecordBatch], Bools] | None:
        """Those with no n-gram of the benchmarks, ignored ones among them."""
        if self.edited is not None:
            return None
        if self.action == "report":
            return lambda documents: np.ones(documents.num_rows, np.bool_)
        index = self._index(run)

        def without(documents: pa.RecordBatch) -> Bools:
            found = find(fold(documents["text"], index.folding).text, index.ngrams)
            free = np.ones(documents.num_rows, np.bool_)
            free[found.docs] = False
            return free

        return without

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        yield from chain.phase(NAME, NAME, find_ignored, {"all": ()})

    def applier(self, run: RunFolder, pass_index: int, key: str) -> Applier:
        index = self._index(run)
        ignored = read_ignored(run.path(IGNORED_FOLDER, pass_index), len(index.ngrams.hashes))
        batches, schema = open_arrow(run.path(FOUND_FOLDER, pass_index, key=key))
        found, copies = iter(batches), None
        if self.edited is not None:
            copies = ContainmentIndex.load(
                run.out / BENCHMARKS.name / COPIES, gram_words=self.words
            )
        cleaner = Cleaner(self, index, ignored, copies, schema.metadata[SOURCE].decode())

        def apply(documents: pa.RecordBatch, rows: Rows) -> Applied:
            cleaned = cleaner(documents, next(found))
            tables = {OVERLAPS.name: cleaned.overlaps, PIECES.name: cleaned.pieces}
            return Applied(cleaned.result, tables=tables)

        return apply

    @property
    def what_tells_instead(self) -> str:
        return "tokenmill contamination says how many hold benchmark items"

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        found = mirror.read_json(run.path(CONTAMINATION, pass_index))
        widespread = found.pop(WIDESPREAD)
        if self.edited is not None:
            with_edited(found, widespread, self._taken_out(run))
        return {"contamination": found}

    def _taken_out(self, run: RunFolder) -> Iterator[pa.Table]:
        for path in mirror.find(run.out / OVERLAPS.name, "part-*.parquet"):
            columns = ["doc_id", "source", "item", "kind"]
            yield pq.read_table(bounded(mirror.present(path)), columns=columns)

    def _index(self, run: RunFolder) -> BenchmarkIndex:
        return BenchmarkIndex.load(run.out / BENCHMARKS.name, self)


def index_benchmarks(run: RunFolder, step: Decontaminate, built: Any) -> Done:
    """Read the benchmarks and index their n-grams, unless they are at hand."""
    index = built or step.build()
    facts = {"benchmarks": list(index.benchmarks)}
    files = index.save(run.out / BENCHMARKS.name)
    if step.edited is not None:
        files.append(run.out / BENCHMARKS.name / COPIES)
        with atomic_path(files[-1]) as partial:
            contexts = Units.build(index.texts, index.ngrams).contexts
            index_copies(index.texts, contexts).save(partial)
    return Done(files=files, facts=facts)


def find_ignored(run: RunFolder, part: Pass) -> Done:
    """Count n-grams of documents still there; write those that are ignored, and what is found."""
    corpus, step = Corpus(run, part), part.step(NAME, Decontaminate)
    index = step._index(run)
    counts = count_corpus(surviving(corpus), len(index.ngrams.hashes))
    ignored = ignored_grams(index, counts)
    analysis = Analysis(index.texts, index.ngrams, ignored, frequent=ignored & ~index.ignored)
    for found in surviving(corpus):
        analysis.add(found)
    paths = corpus.path(IGNORED_FOLDER), corpus.path(CONTAMINATION)
    write_ignored(paths[0], ignored | of_short_items(index))
    widespread = index.names_of(np.flatnonzero(analysis.widespread()))
    write_json(paths[1], {**summarize(index, analysis, counts).to_json(), WIDESPREAD: widespread})
    return Done(files=paths)


def surviving(corpus: Corpus) -> Iterator[pa.RecordBatch]:
    """What was found in all shards (schema FOUND), of documents that no step before drops."""
    for key in corpus.shard_keys():
        found = open_arrow(corpus.path(FOUND_FOLDER, key=key))[0]
        removed = removed_ids(corpus, NAME, key)
        if removed is None:
            yield from (batch for batch in found if batch.num_rows)
            continue
        for batch, gone in zip(found, removed, strict=True):
            if batch.num_rows:
                yield batch.filter(pa.array(~np.isin(batch["doc_id"], gone)))


def of_short_items(index: BenchmarkIndex) -> Bools:
    """(n_grams,) bool: the n-grams that are items under 8 words, whole.

    These are looked for and told, but no document is cut for them: GPT-3's appendix C on
    "examples less than 8 words long, which we ignored in our filtering process".
    """
    grams = index.ngrams
    # a text under N words and 8 is matched by one n-gram, shorter than all those of longer items
    of_short: Bools = index.texts.is_short[grams.items[grams.item_offsets[:-1]]]
    return of_short


def write_ignored(path: Path, ignored: Bools) -> None:
    """Write the n-grams of a (n_grams,) mask, as indices: they are few."""
    with arrow_file(path, IGNORED) as writer:
        grams = pa.array(np.flatnonzero(ignored))
        writer.write_batch(pa.record_batch([grams], schema=IGNORED))


def read_ignored(path: Path, n_grams: int) -> Bools:
    """(n_grams,) bool, what `write_ignored` wrote; ShardError where it is no whole Arrow file."""
    ignored = np.zeros(n_grams, bool)
    for batch in open_arrow(path)[0]:
        ignored[np.asarray(batch["ngram"])] = True
    return ignored


class Evidence(NamedTuple):
    """What of the benchmarks stands in the documents of a batch, and counts.

    hits: of the batch's texts.
    rows: of schema OVERLAP.
    ngrams: (n_docs,) int64, windows of each document that any item has.
    copies: (n_docs,) float64, the greatest containment of an edited copy; 0 where there is none.
    stretches: of each copy the document, and bytes of it from and to.
    details: (n_docs,) string, of each the longest span, as "gsm8k:17 n=11 'matched text' (and 2
        more items)", or the copy, as "gsm8k:17 edited copy 0.83 'matched text'"; null where there
        is none.
    """

    hits: Hits
    rows: pa.RecordBatch
    ngrams: I64
    copies: F64
    stretches: tuple[I64, I64, I64]
    details: pa.Array

    def values(self) -> F64:
        """(n_docs,) n-grams, or the containment of the copy where there are none."""
        return np.where(self.ngrams > 0, self.ngrams, self.copies)

    def reasons(self) -> list[str]:
        return [BY_OVERLAP if n else BY_COPY for n in self.ngrams.tolist()]


def _details(batch: pa.RecordBatch, spans: pa.RecordBatch) -> pa.Array:
    """(n_docs,) string: the longest span of each document, null where there is none."""
    details: list[str | None] = [None] * batch.num_rows
    docs = np.asarray(pc.index_in(spans["doc_id"], batch["doc_id"]), np.int64)
    items = np.unique(spans["item"].to_pylist(), return_inverse=True)[1]
    pairs = np.unique(np.stack([docs, items]), axis=1)
    n_items = np.bincount(pairs[0], minlength=batch.num_rows)
    ngrams = np.asarray(spans["ngrams"].fill_null(0))
    shares = np.asarray(spans["containment"].fill_null(0))
    longest_first = np.lexsort((-shares, -ngrams, docs))
    which, first = np.unique(docs[longest_first], return_index=True)
    longest = spans.take(pa.array(longest_first[first])).to_pylist()
    for doc, span in zip(which.tolist(), longest, strict=True):
        more = int(n_items[doc]) - 1
        others = f" (and {more} more item{'s' if more > 1 else ''})" if more else ""
        how = f"n={span['ngrams']}" if span["ngrams"] else f"edited copy {span['containment']:.2f}"
        details[doc] = f"{span['item']} {how} '{span['excerpt']}'{others}"
    return pa.array(details, pa.string())


# reasons
BY_OVERLAP, BY_COPY, MANY_PIECES, SHORT_PIECE = "overlap", "edited", "many_pieces", "short_piece"


class Cleaned(NamedTuple):
    """Documents after the step.

    overlaps: a row of schema OVERLAP for each span that repeats an item.
    pieces: a row of schema PIECE for each piece of a document, dropped ones too.
    """

    result: StageResult
    overlaps: pa.RecordBatch
    pieces: pa.RecordBatch


@dataclass(frozen=True, eq=False)
class Cleaner:
    """The step `config`, once it is known what counts.

    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    copies: what edited copies are found by; None leaves them.
    source: of the documents.
    """

    config: Decontaminate
    index: BenchmarkIndex
    ignored: Bools
    copies: ContainmentIndex | None = None
    source: str = ""

    def __call__(self, batch: pa.RecordBatch, found: pa.RecordBatch) -> Cleaned:
        """Free the documents of a batch from benchmark items.

        found: rows of schema FOUND, in the order of the batch; those of documents that are not
            in it any more count for nothing.

        A document with nothing that counts passes as it is. Receipts of what leaves:
        - overlap: a document that is dropped, or of which nothing is left; the value is its
          n-grams that any item has;
        - edited: likewise, for an edited copy alone; the value is the copy's containment;
        - many_pieces: a document that falls into more than allowed; the value is how many;
        - short_piece: a piece; the value is its characters.
        The detail is the longest overlap of the document.
        """
        copies = self._copies(batch)
        if found.num_rows == 0 and copies.num_rows == 0:
            return Cleaned(_untouched(batch), _empty(OVERLAP), _empty(PIECE))
        told, config = self._evidence(batch, found, copies), self.config
        if not (told.ngrams.any() or told.copies.any()):
            return Cleaned(_untouched(batch), told.rows, _empty(PIECE))
        whole = (told.ngrams > 0) & (config.action == "document")
        whole |= (told.copies > 0) & (config.edited == "document")
        if "cut" in (config.action, config.edited):
            result, pieces = self._cut(batch, told, whole)
            return Cleaned(result, told.rows, pieces)
        if config.action == "paragraph":
            return Cleaned(self._without_paragraphs(batch, told), told.rows, _empty(PIECE))
        return Cleaned(_dropped(batch, whole, told), told.rows, _empty(PIECE))

    def _copies(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Copies of items (schema COPY), verbatim ones too, half of whose n-grams count."""
        if self.copies is None:
            return _empty(COPY)
        folded = fold(batch["text"], self.index.folding)
        found = find_copies(batch, folded, self.copies, Copies(), self.source)
        counted = self._counted[np.asarray(found["item"])]
        is_context = self.copies.contexts[np.asarray(found["text"])]
        found = found.filter(pa.array(counted & ~is_context))
        none_is_dirty = np.zeros(len(self._counted), bool)
        return best_explained(found, self.index.texts, none_is_dirty, self._about)

    @cached_property
    def _about(self) -> I64:
        assert self.copies is not None
        return passages(self.index.texts, self.copies.contexts)

    @cached_property
    def _counted(self) -> Bools:
        """(n_items,) items half of whose n-grams count."""
        grams, n_items = self.index.ngrams, len(self.index.texts.lengths)
        left_out = np.repeat(self.ignored, np.diff(grams.item_offsets))
        n_ignored = np.bincount(grams.items[left_out], minlength=n_items)
        counted: Bools = 2 * n_ignored <= np.bincount(grams.items, minlength=n_items)
        return counted

    def _evidence(
        self, batch: pa.RecordBatch, found: pa.RecordBatch, copies: pa.RecordBatch
    ) -> Evidence:
        rows = pc.index_in(found["doc_id"], batch["doc_id"])
        found, docs = found.filter(rows.is_valid()), np.asarray(rows.drop_null()).astype(np.int64)
        hits = hits_of(found)
        hits = hits.only(~self.ignored[hits.grams])
        hits = hits._replace(n_docs=batch.num_rows, docs=docs[hits.docs])
        spans = pa.concat_batches([_empty(OVERLAP), *overlap_rows(found, self.index, self.ignored)])
        told = set(pairs_of(spans))
        names = self.index.names_of(np.asarray(copies["item"]))
        pairs = zip(copies["doc_id"].to_pylist(), names, strict=True)
        copies = copies.filter(pa.array([pair not in told for pair in pairs], pa.bool_()))
        spans = pa.concat_batches([spans, copy_rows(copies, self.index, told)])
        of_copies = np.asarray(pc.index_in(copies["doc_id"], batch["doc_id"])).astype(np.int64)
        shares = np.zeros(batch.num_rows)
        np.maximum.at(shares, of_copies, np.asarray(copies["containment"]))
        ngrams = np.bincount(hits.docs, minlength=batch.num_rows)
        stretches = (of_copies, np.asarray(copies["start_byte"]), np.asarray(copies["end_byte"]))
        return Evidence(hits, spans, ngrams, shares, stretches, _details(batch, spans))

    def _cut(
        self, batch: pa.RecordBatch, told: Evidence, whole: Bools
    ) -> tuple[StageResult, pa.RecordBatch]:
        """whole: (n_docs,) documents that are dropped, not cut."""
        config, hits = self.config, told.hits
        kinds = []
        if config.action == "cut":
            kinds.append((hits.docs, hits.starts, hits.ends))
        if config.edited == "cut":
            kinds.append(told.stretches)
        docs, starts, ends = map(np.concatenate, zip(*kinds, strict=True))
        cuts = ~whole[docs]
        is_hit = np.bincount(docs[cuts], minlength=batch.num_rows) > 0
        window, most = config.window_chars, config.most_pieces
        spans = docs[cuts], starts[cuts], ends[cuts]
        pieces = cut(batch["text"], *spans, window_chars=window, most_pieces=most)
        cut_or_kept = ~whole[pieces.docs]
        pieces = pieces._replace(
            docs=pieces.docs[cut_or_kept],
            starts=pieces.starts[cut_or_kept],
            ends=pieces.ends[cut_or_kept],
        )
        made, links = _documents(batch, pieces, is_hit)
        chars = np.asarray(pc.utf8_length(made["text"]))
        short = is_hit[pieces.docs] & (chars < config.least_chars)
        kept, shorts, *_ = keep_where(
            NAME,
            made,
            short.astype(np.uint8),
            (SHORT_PIECE,),
            values=chars.astype(np.float64),
            details=told.details.take(pa.array(pieces.docs)),
        )
        many = is_hit & (pieces.n_pieces > config.most_pieces)
        gone = np.flatnonzero(whole | many | ((pieces.n_pieces == 0) & is_hit))
        reasons = np.where(many, MANY_PIECES, told.reasons())
        lost = removed_rows(
            NAME,
            batch.take(pa.array(gone)),
            reasons[gone].tolist(),
            text_bytes=text_buffers(batch["text"]).lengths[gone],
            values=np.where(many, pieces.n_pieces, told.values())[gone].astype(np.float64),
            details=told.details.take(pa.array(gone)),
        )
        removed = pa.concat_batches([lost, shorts])
        created = made.num_rows - (batch.num_rows - len(gone))
        return StageResult(kept, removed, _stats(batch, kept, removed, created)), links

    def _without_paragraphs(self, batch: pa.RecordBatch, told: Evidence) -> StageResult:
        is_hit = told.ngrams > 0
        some = batch["text"].filter(pa.array(is_hit))
        left = drop_paragraphs(some, self.index.ngrams, self.ignored, folding=self.index.folding)
        text = pc.replace_with_mask(batch["text"], pa.array(is_hit), left.text)
        is_blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(text), ""))
        edited = np.flatnonzero(is_hit)[np.unique(left.docs)]
        gone = is_blank & np.isin(np.arange(batch.num_rows), edited)
        return with_text(_dropped(batch, gone, told), text.filter(pa.array(~gone)))


def _documents(
    batch: pa.RecordBatch, pieces: Pieces, is_hit: Bools
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Pieces as documents, whole documents among them, and the links of the pieces.

    is_hit: (n_docs,) documents that were cut; the others are their only piece.
    """
    parents = batch.take(pa.array(pieces.docs))
    first = np.searchsorted(pieces.docs, pieces.docs)
    is_piece = is_hit[pieces.docs]
    numbers = np.where(is_piece, np.arange(len(first)) - first + 1, 0)
    doc_ids, ids = number_pieces(parents, numbers)
    own = {"doc_id": doc_ids, "id": ids, "text": piece_texts(batch["text"], pieces)}
    columns = dict(zip(batch.schema.names, parents.columns, strict=True)) | own
    links = [
        doc_ids,
        ids,
        parents["doc_id"],
        parents["id"],
        pa.array(numbers),
        pa.array(pieces.n_pieces[pieces.docs]),
        pa.array(pieces.starts),
        pa.array(pieces.ends),
    ]
    return (
        pa.record_batch(list(columns.values()), schema=batch.schema),
        pa.record_batch(links, schema=PIECE).filter(pa.array(is_piece)),
    )


def _stats(
    batch: pa.RecordBatch, kept: pa.RecordBatch, removed: pa.RecordBatch, created: int
) -> StageStats:
    """The account of cutting: text that was cut out is edited away."""
    bytes_in, bytes_out = (int(text_buffers(b["text"]).lengths.sum()) for b in (batch, kept))
    bytes_removed = pc.sum(removed["text_bytes"]).as_py() or 0
    return StageStats(
        docs_in=batch.num_rows,
        docs_created=created,
        docs_out=kept.num_rows,
        removed=dict(sorted(Counter(removed["reason"].to_pylist()).items())),
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        bytes_removed=bytes_removed,
        bytes_edited=bytes_in - bytes_out - bytes_removed,
    )


def _dropped(batch: pa.RecordBatch, gone: Bools, told: Evidence) -> StageResult:
    return keep_where(
        NAME,
        batch,
        np.where(gone, np.where(told.ngrams > 0, 1, 2), KEEP).astype(np.uint8),
        (BY_OVERLAP, BY_COPY),
        values=told.values(),
        details=told.details,
    )


def _untouched(batch: pa.RecordBatch) -> StageResult:
    return keep_where(NAME, batch, np.full(batch.num_rows, KEEP, np.uint8), (BY_OVERLAP,))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
