"""Units: what steps take out of documents that stay, images or paragraphs.

    documents ── a sidecar: a row for each unit, its keys ──► what leaves ── RUN, FOUND ── applier

A unit is named by its document and its number in it. Batches of all files are those of the
documents.
"""

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I32, I64, U8, U32, U64, Bools
from tokenmill.pipelines.core.schema import ROW_BITS, needed
from tokenmill.pipelines.core.step import Rule
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import rows_between
from tokenmill.pipelines.corpus.step import (
    KEY,
    Applied,
    Applier,
    CorpusStep,
    Sidecar,
    applier_of,
    fixed_size_list,
)
from tokenmill.pipelines.corpus.verdicts import removed_ids
from tokenmill.pipelines.filters.images.edit import drop_images, edited_where, removed_images
from tokenmill.pipelines.filters.images.keys import Keys
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.storage import files
from tokenmill.pipelines.storage.files import Opened, arrow_file, values, with_parameters

UNITS = Folder("8-units", "part-{key}.arrow")
REPEATED = Folder("9-repeated", "part-{key}.arrow")

# A row for each unit to be taken out; a batch for each of documents.
FOUND = pa.schema(
    [
        *needed(doc_id=pa.uint64(), number=pa.int32()),
        # by which of the step's columns it leaves: the first of them; or as a LATER_COPY
        *needed(by=pa.uint8()),
        # times that the corpus, bucket or document has it, or bits in which it differs
        *needed(value=pa.uint32()),
        # the corpus' first of them, or the first that is near
        *needed(of_doc_id=pa.uint64(), of_number=pa.int32()),
    ]
)
RUN = pa.schema([pa.field("row", pa.int64(), nullable=False), *list(FOUND)[2:]])
LATER_COPY = 255  # of one before it in the same document
FOUND_BYTES = 116  # of a unit of a shard: columns 29, twice joined; sorting, names, places 58
NO_IMAGES = "no_images_left"  # a reason

UnitsOf = Callable[[pa.RecordBatch, Blobs | None], pa.RecordBatch]


class UnitStep(CorpusStep):
    """A step that takes units out of documents."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Key columns of its sidecar."""
        raise NotImplementedError

    @property
    def units(self) -> str:
        """What its units are called, of many."""
        return "images"

    @property
    def unit_fields(self) -> list[pa.Field]:
        """Columns of its sidecar besides the name and the keys of a unit."""
        return []

    def parameters(self) -> dict[str, Any]:
        """What decides the content of its sidecar; a sidecar of others is refused."""
        raise NotImplementedError

    def units_of(self, schema: pa.Schema, images: Images | None) -> UnitsOf:
        """What makes the sidecar's rows for a batch of documents and the bytes of their images."""
        raise NotImplementedError

    def unit_schema(self) -> pa.Schema:
        """Columns of the sidecar: doc_id, number, and the keys, zeros for none."""
        fields = [pa.field("doc_id", pa.uint64()), pa.field("number", pa.int32())]
        fields += [pa.field(name, KEY) for name in self.columns]
        return with_parameters(pa.schema([*fields, *self.unit_fields]), self.unit_parameters())

    def unit_parameters(self) -> dict[str, Any]:
        return {self.name: self.parameters()}

    def sidecar(
        self, run: RunFolder, pass_index: int, key: str, *, source: str, images: Images | None
    ) -> Sidecar:
        schema = self.unit_schema()
        path = run.path(UNITS, pass_index, key=key)
        return Sidecar(path, schema, self.units_of(schema, images))

    def without(self, documents: pa.RecordBatch, found: pa.RecordBatch) -> Applied:
        """Take out what was found (schema FOUND) in these documents."""
        raise NotImplementedError

    def applier(self, run: RunFolder, pass_index: int, key: str) -> Applier:
        return applier_of(run.path(REPEATED, pass_index, key=key), self.without)


class ImageStep(UnitStep):
    """A step that takes images out of documents.

    no_images_left: remove documents that lose their last image here.
    """

    needs_images = True
    no_images_left: bool = True

    @property
    def reasons(self) -> tuple[str, ...]:
        """Of images that leave, by the column that decided."""
        raise NotImplementedError

    def keys_of(
        self, documents: pa.RecordBatch, blobs: Blobs | None, images: Images | None
    ) -> list[Keys]:
        """(n_images, 2) of all images, for each column."""
        raise NotImplementedError

    def units_of(self, schema: pa.Schema, images: Images | None) -> UnitsOf:
        def made(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
            keys = map(fixed_size_list, self.keys_of(documents, blobs, images))
            return pa.record_batch([*unit_names(documents), *keys], schema=schema)

        return made

    def without(self, documents: pa.RecordBatch, found: pa.RecordBatch) -> Applied:
        """Take out the images found; the value of a removed row is that of the row."""
        numbers = np.asarray(documents["images"].flatten().field("number"))
        named = owners_of(documents) << ROW_BITS | numbers
        wanted = rows_of(documents, found) << ROW_BITS | numbers_of(found)
        places = np.searchsorted(named, wanted)
        reasons = pa.array(self.reasons).take(found["by"])
        removed = removed_images(
            self.name,
            documents,
            places,
            reasons,
            values=np.asarray(found["value"]).astype(np.float64),
            duplicate_of=found["of_doc_id"],
            duplicate_number=found["of_number"],
        )
        keep = np.ones(len(named), np.bool_)
        keep[places] = False
        edited = drop_images(documents, keep)
        taken = counts_of(documents) - counts_of(edited)
        lost = self.no_images_left & (counts_of(edited) == 0) & (taken > 0)
        rule = Rule(NO_IMAGES, taken.astype(np.float64), lost)
        return Applied(edited_where(self.name, documents, edited, [rule], removed))


def unit_names(documents: pa.RecordBatch) -> list[pa.Array]:
    """(n_images,) the document and the number of all images."""
    doc_ids = np.repeat(np.asarray(documents["doc_id"]), counts_of(documents))
    return [pa.array(doc_ids), documents["images"].flatten().field("number")]


def rows_of(documents: pa.RecordBatch, found: pa.RecordBatch) -> I64:
    """(n_found,) row of the document of each."""
    return np.asarray(pc.index_in(found["doc_id"], documents["doc_id"])).astype(np.int64)


def numbers_of(found: pa.RecordBatch) -> I64:
    return np.asarray(found["number"]).astype(np.int64)


class Leaving(NamedTuple):
    """Units that leave, by their rows; (n,) columns of schema RUN."""

    rows: I64
    by: U8
    values: U32
    of_doc_ids: U64
    of_numbers: I32

    def at(self, places: npt.NDArray[Any] | slice) -> "Leaving":
        """Those at some places, or that a mask holds."""
        columns: tuple[Any, ...] = self
        return Leaving(*(column[places] for column in columns))

    def batch(self) -> pa.RecordBatch:
        return pa.record_batch([*map(pa.array, self)], schema=RUN)


NOTHING = Leaving(*(np.empty(0, field.type.to_pandas_dtype()) for field in RUN))


def joined(parts: Sequence[Leaving]) -> Leaving:
    """All of some, by row and then by what they leave by."""
    whole = Leaving(*(np.concatenate(columns) for columns in zip(NOTHING, *parts, strict=True)))
    return whole.at(np.lexsort((whole.by, whole.rows)))


def leaving_between(paths: Sequence[Path], lo: int, hi: int) -> Leaving:
    """The rows from `lo` to `hi` of files, ascending, each once: by its first key.

    paths: of batches of schema RUN, whose rows ascend in each. One is open at a time.
    """
    found = joined(
        [
            Leaving(*(values(batch, field.name).copy() for field in RUN))
            for batch in rows_between(paths, "row", [lo, hi])
        ]
    )
    return found.at(np.diff(found.rows, prepend=-1) > 0)


def write_found(path: Path, opened: Opened, found: Leaving, alive: Bools | None = None) -> None:
    """Write what was found of a shard.

    opened: its sidecar.  found: rows count from its beginning.
    alive: (n_units,) those of documents that are left; None if later copies in a document stay.
    """
    cuts = np.searchsorted(found.rows, opened.starts).tolist()
    with arrow_file(path, FOUND) as writer:
        for b, (batch, start) in enumerate(zip(opened.batches, opened.starts, strict=False)):
            here = found.at(slice(cuts[b], cuts[b + 1]))
            here = here._replace(rows=here.rows - int(start))
            if alive is not None:
                here = joined([here, _later_copies(batch, alive[start : start + batch.num_rows])])
            names = [values(batch, name)[here.rows] for name in ("doc_id", "number")]
            columns = [*map(pa.array, names), *here.batch().columns[1:]]
            writer.write_batch(pa.record_batch(columns, schema=FOUND))
    opened.mapped.madvise(mmap.MADV_DONTNEED)


def _later_copies(batch: pa.RecordBatch, alive: Bools) -> Leaving:
    """Of a sidecar's batch the units that are not the first of their kind in their document."""
    doc_ids, numbers, firsts = (values(batch, name) for name in ("doc_id", "number", "first"))
    rows = np.flatnonzero((firsts != numbers) & alive)
    first_rows = rows - (numbers - firsts)[rows]  # a document's units are next to each other
    n_copies = np.bincount(first_rows, minlength=len(numbers)) + 1
    by, times = np.full(len(rows), LATER_COPY, np.uint8), n_copies[first_rows].astype(np.uint32)
    return Leaving(rows, by, times, doc_ids[rows], firsts[rows])


def units_left(corpus: Corpus, name: str, rows: files.Rows, number: int, key: str) -> Bools:
    """(n_units,) of a shard, those of documents not removed before `name`; rows: all sidecars."""
    opened, removed = rows.shard(number), removed_ids(corpus, name, key)
    if removed is None:
        return np.ones(opened.n, np.bool_)
    left = [np.empty(0, np.bool_)]
    for batch, ids in zip(opened.batches, removed, strict=True):
        left.append(~np.isin(values(batch, "doc_id"), ids))
    opened.mapped.madvise(mmap.MADV_DONTNEED)
    return np.concatenate(left)
