"""Seeds and grams of benchmark items' texts, to find edited copies of them.

    item texts --> seeds, gram tables (`dedup.seeds`) --> ContainmentIndex <--> Arrow IPC file

Two seeds are taken as equal if their 64-bit hashes are, two grams of a text if 32 bits of theirs.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.array_file import load_arrays, save_arrays
from tokenmill.dedup.arrays import read_only, shift_of
from tokenmill.dedup.gram_counts import MOST_ITEMS, MOST_ITEMS_FRAC
from tokenmill.dedup.gram_words import count_words
from tokenmill.dedup.kernels.containment_args import Probe, Seeds, Texts
from tokenmill.dedup.seeds import (
    FAMILIES,
    GRAM_WORDS,
    LONG_GRAMS,
    MIN_GRAMS,
    MOST_TEXTS,
    SEED_LENGTHS,
    Postings,
    bitmap_of,
    gram_tables,
    postings_of,
    seed_lengths,
    slots_of,
)
from tokenmill.dedup.unicode import UNICODE_VERSION

FORMAT = "1"  # of the saved index; raise it with any change of hash, gram words or layout
KIND = "containment index"


@dataclass(frozen=True, eq=False)
class ContainmentIndex:
    """Seeds and grams of item texts.

    seeds, seed_offsets, seed_texts: as of `Postings`.
    slots: the way into `seeds`; see `Seeds`.
    bitmaps, bitmap_ends: uint64 bits of the `Probe` of each of `FAMILIES`, one behind the other,
        and (n_families,) int64, where they end.
    words: (n_texts,) int64, gram words of each text.
    items: (n_texts,) int64, the item of each.
    grams, table, table_offsets: as of `GramTables`.
    """

    seeds: npt.NDArray[np.uint64]
    seed_offsets: npt.NDArray[np.int64]
    seed_texts: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]
    bitmaps: npt.NDArray[np.uint64]
    bitmap_ends: npt.NDArray[np.int64]
    words: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    grams: npt.NDArray[np.int64]
    table: npt.NDArray[np.uint32]
    table_offsets: npt.NDArray[np.int64]

    @classmethod
    def build(
        cls,
        texts: pa.Array,
        items: npt.NDArray[np.integer],
        *,
        benchmark_starts: npt.NDArray[np.integer],
        n_items: int,
    ) -> "ContainmentIndex":
        """Index the texts of benchmark items.

        Args:
            texts: (n_texts,) string column, no nulls; an item may have several texts.
            items: (n_texts,) the item of each, from 0 to n_items - 1.
            benchmark_starts: (n_benchmarks,) first item of each benchmark, ascending from 0.
            n_items: of all benchmarks.

        Raises:
            ValueError: there is not one item for each text.
        """
        if len(items) != len(texts):
            raise ValueError(f"{len(items)} items for {len(texts)} item texts")
        of_text, starts = np.asarray(items, np.int64), np.append(benchmark_starts, n_items)
        words = count_words(texts)
        lengths = seed_lengths(words)
        postings = postings_of(texts, of_text, lengths, starts)
        slots = slots_of(postings.seeds)
        tables = gram_tables(texts, words, lengths, _kernel_seeds(postings, slots))
        of_seeds = lengths[postings.texts[postings.offsets[:-1]]]
        bitmaps = [
            bitmap_of(postings.tails[(of_seeds >= f.shortest) & (of_seeds <= f.longest)])
            for f in FAMILIES
        ]
        return cls(
            seeds=postings.seeds,
            seed_offsets=postings.offsets,
            seed_texts=postings.texts,
            slots=slots,
            bitmaps=np.concatenate(bitmaps),
            bitmap_ends=np.cumsum([len(bitmap) for bitmap in bitmaps]),
            words=words,
            items=of_text,
            grams=tables.counts,
            table=tables.table,
            table_offsets=tables.offsets,
        )

    def save(self, path: Path) -> None:
        """Write the index as an Arrow IPC file, which `load` maps into memory."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        save_arrays(path, arrays, kind=KIND, parameters=_parameters())

    @classmethod
    def load(cls, path: Path) -> "ContainmentIndex":
        """Map a saved index into memory.

        Raises:
            ValueError: the file is not an index, or was made with other parameters.
            OSError: it cannot be read.
        """
        return cls(**load_arrays(path, kind=KIND, parameters=_parameters()))

    def kernel_seeds(self) -> Seeds:
        nothing = np.empty(0, np.uint64)
        postings = Postings(self.seeds, nothing, self.seed_offsets, self.seed_texts)
        return _kernel_seeds(postings, self.slots)

    def kernel_texts(self) -> Texts:
        return Texts(
            GRAM_WORDS,
            read_only(self.words),
            read_only(self.grams),
            read_only(self.table),
            read_only(self.table_offsets),
        )

    @cached_property
    def largest_table(self) -> int:
        """Places in the largest table of a text."""
        return int(np.diff(self.table_offsets).max(initial=0))

    @cached_property
    def probes(self) -> list[Probe]:
        """How to find the seeds of each family that the index has."""
        bitmaps = np.split(self.bitmaps, self.bitmap_ends[:-1])
        return [
            Probe(*family, read_only(bitmap), shift_of(bitmap))
            for family, bitmap in zip(FAMILIES, bitmaps, strict=True)
            if bitmap.any()
        ]


def _kernel_seeds(postings: Postings, slots: npt.NDArray[np.int32]) -> Seeds:
    return Seeds(
        read_only(postings.seeds),
        read_only(slots),
        shift_of(slots),
        read_only(postings.offsets),
        read_only(postings.texts),
    )


def _parameters() -> dict[str, str]:
    """What decides the seeds and grams of an index; texts scored with others would never match."""
    return {
        "format": FORMAT,
        "seed": ",".join(f"{n} from {words}" for words, n in SEED_LENGTHS.items()),
        "gram": f"{GRAM_WORDS}, {MIN_GRAMS} to {LONG_GRAMS}",
        "shared": f"{MOST_ITEMS}, {MOST_ITEMS_FRAC}, {MOST_TEXTS}",
        "unicode": UNICODE_VERSION,
    }
