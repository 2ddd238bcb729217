"""What a step is that needs something of all documents: the one protocol for all of them.

    pass before     documents ── sidecar, key columns ──► files beside them, a batch for each batch
    corpus-wide     the files of all shards ── phases ──► what leaves, a file for each shard
    pass behind     documents, what leaves ── applier ──► documents, receipts, side tables

The passes, the report, the dry run, `inspect` and `measure` ask a step for what they need, and
know none by its class. A step is made known by one call: `core.step.register`.

Columns of the key sidecar: doc_id, and those of each step that has keys, in order of the steps. A
key is (2,) uint64 of a hash (`KEY`), zeros for what has none; or what else a step declares.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.same.minhash import MinHash
from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.shard import Input, InputFile
from tokenmill.pipelines.core.step import StageResult, Step
from tokenmill.pipelines.filters.images.keys import ImageKey
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import KEYS, Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Finished, Phase, Phases, Work, do_phase
from tokenmill.pipelines.storage.files import open_arrow, parquet_file, with_parameters

Args: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = I64


class Sidecar(NamedTuple):
    """A file beside a shard's documents; rows: of a batch and its images' bytes, the next batch."""

    path: Path
    schema: pa.Schema
    rows: Callable[[pa.RecordBatch, Blobs | None], pa.RecordBatch]
    compression: str | None = None


class SideTable(NamedTuple):
    """Rows about documents that stay, a Parquet file a shard; opening: yields what takes rows."""

    folder: Folder
    schema: pa.Schema
    opening: Callable[[Path], AbstractContextManager[Callable[[pa.RecordBatch], Any]]] | None = None

    @contextmanager
    def open(self, path: Path) -> Iterator[Callable[[pa.RecordBatch], Any]]:
        """What takes the next rows."""
        if self.opening is None:
            with parquet_file(path, self.schema) as writer:
                yield writer.write_batch
        else:
            with self.opening(path) as write:
                yield write


class Shuffled(NamedTuple):
    """A column of keys that is set down by range.

    keys: of the key sidecar, (n,) uint64 or lists of `n_words`.
    beside: a column of uint64 that is set down with it.
    zeros_are_a_key: else a key of zeros is none, and the document is left out.
    """

    keys: str
    n_words: int = 1
    beside: str | None = None
    zeros_are_a_key: bool = False


class Applied(NamedTuple):
    """What a step did to a batch.

    passed: (n_docs,) bool, the documents that are left as rows; None if others may stand in their
        place, so that no further step of the pass can tell rows.
    tables: rows by the name of a side table's folder.
    counts: numbers by section and name, which are added up into the receipt of the shard.
    """

    result: StageResult
    passed: Bools | None = None
    tables: Mapping[str, pa.RecordBatch] = {}
    counts: Mapping[str, Mapping[str, int]] = {}


# takes the documents that are left, and (n_docs,) the row of each in the batch as it was set down;
# batches come in order, none is left out
Applier: TypeAlias = Callable[[pa.RecordBatch, Rows], Applied]


def applier_of(path: Path, apply: Callable[[pa.RecordBatch, pa.RecordBatch], Applied]) -> Applier:
    """What takes documents and, batch by batch, what a file says of them."""
    found = iter(open_arrow(path)[0])
    return lambda documents, rows: apply(documents, next(found))


@dataclass(frozen=True)
class Pass:
    """One way of all shards through some stages.

    before: the corpus-wide steps whose findings are applied first.  stages: then run in order.
    after: corpus-wide steps that look at what is left; none in the last pass.
    keyed: which of the passes it is that make keys, from 0; None if it makes none.
    """

    index: int
    before: tuple["CorpusStep", ...]
    stages: tuple[Step, ...]
    after: tuple["CorpusStep", ...]
    keyed: int | None = None

    @property
    def finders(self) -> tuple["CorpusStep", ...]:
        """Those of the steps behind it that compare documents by keys."""
        return tuple(step for step in self.after if step.has_keys)

    def step(self, name: str, kind: type["StepT"]) -> "StepT":
        """That of the steps behind it with a name, which is of a kind."""
        found = next(step for step in self.after if step.name == name)
        if not isinstance(found, kind):
            raise TypeError(f"{name} is a {type(found).__name__}, not a {kind.__name__}")
        return found


class Size(NamedTuple):
    """How many works there are for a corpus.

    groups, ranges: of its shards, of its keys.  first: group with a shard of this run, as all
    behind it have.  docs: those of earlier runs included.
    """

    groups: int
    first: int
    ranges: int
    docs: int

    @property
    def all(self) -> range:
        return range(self.groups)

    @property
    def new(self) -> range:
        """Groups with shards of this run."""
        return range(self.first, self.groups)


@dataclass
class Chain:
    """Phases that read what those before wrote; receipts: by shard.  inputs: digest of all that."""

    part: Pass
    receipts: Sequence[Receipt]
    finished: Finished
    inputs: str

    def phase(
        self, name: str, step: str, call: Callable[..., Done], works: Mapping[str, Args]
    ) -> Phases[dict[str, Receipt]]:
        """Do works, by their keys; `call` is told the run, the pass and what is given of each.

        name: for people.  step: for receipts.
        """
        of = f"{step}-{self.part.index}"
        every = tuple(
            Work(step=of, key=key, inputs=self.inputs, call=call, args=(self.part, *args))
            for key, args in works.items()
        )
        made = yield from do_phase(Phase(name=name, works=every, whole=True), self.finished)
        self.inputs = digest_of([self.inputs, *(receipt.digest for receipt in made.values())])
        return made


def group_works(groups: Sequence[int] | range, *args: Any) -> dict[str, Args]:
    """Works by group: what is given, and its number."""
    return {f"group-{group:05d}": (*args, group) for group in groups}


def facts_of(receipts: Sequence[Receipt], *steps: str) -> list[Any]:
    """What the works of these phases tell, by the steps they have in receipts."""
    return [receipt.facts for receipt in receipts if receipt.step.rpartition("-")[0] in steps]


class ImageRule(NamedTuple):
    """By which images leave documents: those that the corpus has too often.

    by: columns of IMAGE that are counted.  more_than: times that are not too many yet.
    keep: "none" of them, or the "first" of each.  no_images_left: a document that loses its last
    image goes.
    """

    by: tuple[ImageKey, ...]
    more_than: int
    keep: Literal["none", "first"]
    no_images_left: bool


class Probing(Protocol):
    """What `measure` tells of documents drawn: which are taken for the same as one drawn."""

    def equal(
        self, column: str, *, keep: str = "first", zeros_are_a_key: bool = False, texts: bool = True
    ) -> Any:
        """Those with the same key: pairs of uint64.  texts: they have the same text."""

    def near(self, bands: Sequence[str], *, num_perm: int, verify: float) -> Any:
        """Those that any band brings together and whose signatures agree in such a share."""

    def stars(self, bands: Sequence[str], *, minhash: MinHash, exact: bool, verify: float) -> Any:
        """Those that leave, as `corpus.stars` has it."""

    def unchanged(self) -> Any:
        """Documents are the same as before: what leaves are images, by the step's `image_rule`."""


class CorpusStep(Step):
    """A step that needs something of all documents.

    `phases` must be written, and `applier`, if no base has it: `corpus.spill.KeyedStep` is the base
    of those that compare keys, `corpus.verdicts.VerdictStep` of those that take documents out
    whole. What it asks of memory is asked by its works (`corpus.rows.Corpus.memory_left`).

    has_keys: it compares documents by columns of the key sidecar, with those of earlier runs too.
        A step without counts in its own run alone.
    removes_whole: it leaves documents as they are or takes them out, and says so in files of
        verdicts (`corpus.verdicts`); what stands behind it in the pass reads these.
    cuts: it changes documents, so that a step behind it must see what is left of them.
    makes_ready: it builds something before the first pass (`build`, `setup`).
    compares_texts: documents that are the same to it have the same text, or nearly.
    side_tables: what it writes that stays.
    """

    corpus_wide: ClassVar[bool] = True
    has_keys: ClassVar[bool] = False
    removes_whole: ClassVar[bool] = False
    cuts: ClassVar[bool] = True
    makes_ready: ClassVar[bool] = False
    compares_texts: ClassVar[bool] = False
    side_tables: ClassVar[tuple[SideTable, ...]] = ()

    @property
    def looks_at_images(self) -> bool:
        """At their bytes."""
        return False

    # before a run

    def check(self, inputs: Sequence[Input]) -> None:
        """Look at what it needs besides; ConfigError: missing, or of no use with these inputs."""

    def look_into(self) -> None:
        """Read what it needs besides the inputs, if it is at hand: in a dry run, before `build`.

        ConfigError: it cannot be used.
        """

    def files(self) -> Iterator[InputFile]:
        """Files that decide what it does, besides the inputs."""
        return iter(())

    def build(self) -> Any:
        """What can be made ready before anything is written, so that mistakes are told first."""
        return None

    def setup(self, run: RunFolder, built: Any = None) -> Work | None:
        """The work that must be done before the first pass; built: of `build`, if it is at hand."""
        return None

    def leaves(self, run: RunFolder) -> Callable[[pa.RecordBatch], Bools] | None:
        """What says of documents alone which it leaves as they are, whatever else the corpus holds;
        once `setup` is done. None where only the corpus tells.
        """
        return None

    @property
    def pieces_at_most(self) -> int:
        """Documents that it makes of one it changes."""
        return 1

    @property
    def only_own_run(self) -> bool:
        """Whether what earlier runs hold adds nothing to what it counts."""
        return not self.has_keys

    @classmethod
    def refusal_of_keys(cls, settings: Mapping[str, Any], *, has_images: bool) -> str:
        """Why keys of an earlier run are not this version's, by its `settings`; "" if they are."""
        if has_images and "samples" in cls.model_fields and "samples" not in settings:
            return "took samples for the same by their captions alone"
        return ""

    def refusal_of_earlier_runs(self) -> str:
        """Why it cannot stand against earlier runs, with the way out; "" if it can."""
        return ""

    # the pass before

    def key_parameters(self) -> dict[str, Any]:
        """What decides the content of its key columns; a sidecar of others is refused."""
        return {}

    def key_fields(self) -> list[pa.Field]:
        """Its columns of the key sidecar."""
        return []

    def key_columns(self, documents: pa.RecordBatch, source: str) -> list[pa.Array]:
        return []

    def counting(self) -> "CorpusStep":
        """What makes keys that are equal where its own are, sooner: to count by, never kept."""
        return self

    def image_columns(
        self, documents: pa.RecordBatch, blobs: Blobs | None, images: Images | None
    ) -> list[pa.Array]:
        """The last of its columns of keys: those that bytes of images tell."""
        return []

    @property
    def shuffled(self) -> tuple[Shuffled, ...]:
        """The columns of keys that are set down by range, each of the same number of words."""
        return ()

    @property
    def joined_columns(self) -> int:
        """Of how many of them pairs are set down and joined; 0 if only equal keys matter."""
        return 0

    @property
    def decides_in_order(self) -> bool:
        """Whether who leaves is decided document by document (`corpus.stars`), not by forests."""
        return False

    @property
    def keys_frac(self) -> float:
        """Bytes of its columns for each byte of text, besides those of each document."""
        return 0.0

    def kept_keys(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the key sidecar as the index of the run keeps them."""
        return keys

    def unit_schema(self) -> pa.Schema | None:
        """Columns of its sidecar, if that has a row for each unit of documents."""
        return None

    def sidecar(
        self, run: RunFolder, pass_index: int, key: str, *, source: str, images: Images | None
    ) -> Sidecar | None:
        """A file of its own beside the documents of a shard."""
        return None

    # corpus-wide

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        """Find what leaves, and write it by shard; works are named after the step, for `told`."""
        raise NotImplementedError

    # the pass behind

    @classmethod
    def verdict_folder(cls) -> Folder:
        """Where the verdicts lie of a step that `removes_whole`."""
        return Folder(f"3-{cls.name}", "{group:05d}.arrow")

    def applier(self, run: RunFolder, pass_index: int, key: str) -> Applier:
        """What applies its findings to the documents of a shard; pass_index: that before."""
        raise NotImplementedError

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """The sections of `Applied.counts`, at 0."""
        return {}

    # what is told

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> "Told":
        """What the report says of it, from the receipts of the run.

        Sections "duplicates", "contamination" and "repeated" have their models in
        `prepare.report.model`, and their tables; any other is shown as a table of its facts.
        """
        return {}

    def scratch_bytes(self, text_bytes: float, docs: float) -> float:
        """About how many bytes of scratch it holds at once, on the safe side, for the dry run."""
        return 0.0

    def limit(self, memory_budget: int) -> str:
        """How much it can look at with so many bytes of memory; "" if that is without end."""
        return ""

    def probe(self, probing: Probing) -> Any:
        """What `measure` predicts of it; None, and `measure` says that it does not."""
        return None

    @property
    def what_tells_instead(self) -> str:
        """Of a step that is not predicted, what else says something of it; "" if nothing does."""
        return ""

    @property
    def image_rule(self) -> ImageRule | None:
        """By which it takes images out that the corpus has too often."""
        return None


StepT = TypeVar("StepT", bound=CorpusStep)


class CuttingStep(CorpusStep):
    """A step whose `action` says whether it cuts out what it found, or takes more."""

    @property
    def cuts_text(self) -> bool:
        return self.action == "cut"  # type: ignore[attr-defined, no-any-return]

    @property
    def without_cutting(self) -> str:
        return "action: document" if self.cuts_text else ""


Told: TypeAlias = Mapping[str, Mapping[str, Any]]  # by section of the report


def is_corpus_wide(step: Step) -> TypeGuard[CorpusStep]:
    return step.corpus_wide


KEY = pa.list_(pa.uint64(), 2)


def key_parameters(steps: Iterable[CorpusStep]) -> dict[str, Any]:
    """The parameters a key sidecar is made with; a sidecar of others is refused."""
    return {step.name: step.key_parameters() for step in steps if step.has_keys}


def key_schema(steps: Sequence[CorpusStep]) -> pa.Schema:
    fields = [pa.field("doc_id", pa.uint64())]
    fields += [field for step in steps for field in step.key_fields()]
    return with_parameters(pa.schema(fields), key_parameters(steps))


def document_keys(
    documents: pa.RecordBatch,
    steps: Sequence[CorpusStep],
    schema: pa.Schema,
    *,
    source: str,
    blobs: Blobs | None = None,
    images: Images | None = None,
) -> pa.RecordBatch:
    """The key sidecar's rows for a batch of documents, and the bytes of their images."""
    columns = [documents["doc_id"]]
    for step in steps:
        fields = pa.schema([schema.field("doc_id"), *step.key_fields()])
        try:
            made = step.key_columns(documents, source)
            made = [documents["doc_id"], *made, *step.image_columns(documents, blobs, images)]
            columns += pa.record_batch(made, schema=fields).columns[1:]
        except Exception as e:
            e.add_note(f"in key_columns of step {step.name}")
            raise
    return pa.record_batch(columns, schema=schema)


def key_sidecar(
    run: RunFolder,
    pass_index: int,
    key: str,
    steps: Sequence[CorpusStep],
    *,
    source: str,
    images: Images | None,
) -> Sidecar:
    schema = key_schema(steps)

    def rows(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
        return document_keys(documents, steps, schema, source=source, blobs=blobs, images=images)

    return Sidecar(run.path(KEYS, pass_index, key=key), schema, rows)


def fixed_size_list(matrix: npt.NDArray[np.generic]) -> pa.Array:
    """(n,) lists of the rows of (n, width) numbers."""
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
