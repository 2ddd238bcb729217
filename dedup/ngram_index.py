"""The n-grams of benchmark items, hashed, and which items have each.

    item texts --> gram words --> 64-bit n-gram hashes --> NgramIndex <--> Arrow IPC file

Two n-grams are taken as equal if their hashes are. Of D n-grams of documents and I of
items, about D * I / 2**64 match falsely: of 1e12 (some 6 TB of English) and 1e6, 0.05.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.arrays import read_only
from dedup.arrow_text import text_buffers
from dedup.gram_words import chars, most_words, word_buffer
from dedup.kernels import overlap as kernels
from dedup.unicode import UNICODE_VERSION

FORMAT = "2"  # of the saved index; raise it with any change of hash, gram words or layout
MIN_WORDS = kernels.TAIL_WORDS  # 8: shorter items are ignored, as in GPT-3's appendix C
MAX_NGRAM = 256

SLOTS_PER_GRAM = 2
BITS_PER_GRAM = 32  # of distinct minimizers; 10k items of 70 words: 1 MiB
BITS_PER_TAIL = 64  # short items are few: 2,000 of them take 16 KiB

_PREFIX = "tokenmill.ngram_index."
_COLUMNS = (
    "hashes", "slots", "bitmap", "tail_bitmap", "shorts", "item_offsets", "items", "untestable",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class NgramIndex:
    """Hashed n-grams of benchmark items, and which items have each.

    ngram: words in an n-gram. An item text of fewer words, but `MIN_WORDS` of them, is
        matched as a whole.
    hashes: (n_grams,) uint64, distinct, ascending.
    slots, bitmap, tail_bitmap: ways into `hashes`; see `Table` and `Probe` of the kernels.
    shorts: (n_lengths,) int64, the different lengths of texts matched as a whole, in words.
    item_offsets: (n_grams + 1,) int64; `hashes[g]` stands in items
        `items[item_offsets[g]:item_offsets[g + 1]]`, ascending.
    untestable: (n,) int64, ids of items none of whose texts is long enough to match.
    """

    ngram: int
    hashes: npt.NDArray[np.uint64]
    slots: npt.NDArray[np.int32]
    bitmap: npt.NDArray[np.uint64]
    tail_bitmap: npt.NDArray[np.uint64]
    shorts: npt.NDArray[np.int64]
    item_offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    untestable: npt.NDArray[np.int64]

    @classmethod
    def build(
        cls, texts: pa.Array, item_ids: npt.NDArray[np.integer], *, ngram: int = 13
    ) -> "NgramIndex":
        """Index the n-grams of benchmark items.

        Args:
            texts: (n_texts,) string column, no nulls; an item may have several texts.
            item_ids: (n_texts,) int32 or int64, the item of each.
            ngram: words in an n-gram, 1 to 256.

        Raises:
            ValueError: `ngram` is out of range, or there is not one id for each text.
        """
        if not 1 <= ngram <= MAX_NGRAM:
            raise ValueError(f"ngram must be 1 to {MAX_NGRAM} words, got {ngram}")
        if len(item_ids) != len(texts):
            raise ValueError(f"{len(item_ids)} item ids for {len(texts)} item texts")
        data, offsets = text_buffers(texts)
        room = most_words(np.diff(offsets))
        words = word_buffer(int(room.max(initial=0)))
        lengths, tails = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint64)
        grams, gram_texts = np.empty(room.sum(), np.uint64), np.empty(room.sum(), np.int64)
        minimizers = np.empty(len(grams), np.uint64)
        found = kernels.hash_items(
            read_only(data),
            read_only(offsets),
            chars(),
            ngram,
            words,
            _run_words(ngram),
            lengths,
            tails,
            grams,
            minimizers,
            gram_texts,
        )
        ids = np.asarray(item_ids, np.int64)
        short = (lengths > 0) & (lengths < ngram)
        hashes, item_offsets, items = _postings(grams[:found], ids[gram_texts[:found]])
        return cls(
            ngram=ngram,
            hashes=hashes,
            slots=_slots(hashes),
            bitmap=_bitmap(np.unique(minimizers[:found]), BITS_PER_GRAM),
            tail_bitmap=_bitmap(tails[short], BITS_PER_TAIL),
            shorts=np.unique(lengths[short]),
            item_offsets=item_offsets,
            items=items,
            untestable=np.setdiff1d(ids, ids[lengths > 0]),
        )

    def save(self, path: Path, extra: Mapping[str, str] | None = None) -> None:
        """Write the index as an Arrow IPC file, which `load` maps into memory.

        extra: what else the caller wants to find in the file (`saved_extra`).
        """
        arrays = [_one_row(getattr(self, name)) for name in _COLUMNS]
        metadata = {_PREFIX + key: value for key, value in _parameters(self.ngram).items()}
        schema = pa.schema(
            [pa.field(name, a.type) for name, a in zip(_COLUMNS, arrays, strict=True)],
            metadata=metadata | dict(extra or {}),
        )
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(pa.record_batch(arrays, schema=schema))

    @classmethod
    def load(cls, path: Path, *, ngram: int) -> "NgramIndex":
        """Map a saved index into memory.

        Raises:
            ValueError: the file is not an index, or was made with other parameters.
            OSError: it cannot be read.
        """
        batch = _read(path)
        stored = _decoded(batch.schema)
        for key, expected in _parameters(ngram).items():
            found = stored.get(_PREFIX + key)
            if found != expected:
                raise ValueError(
                    f"{path}: n-gram index of {key} {found!r}, this run needs {expected!r};"
                    " delete it and build it again"
                )
        return cls(ngram=ngram, **{name: batch[name].values.to_numpy() for name in _COLUMNS})

    def table(self) -> kernels.Table:
        return kernels.Table(read_only(self.hashes), read_only(self.slots), _shift(self.slots))

    def probes(self) -> tuple[kernels.Probe, kernels.Probe]:
        """How to find windows of `ngram` words, and windows that are a whole short text."""
        full = read_only(np.array([self.ngram]))
        return (
            kernels.Probe(
                full,
                self.ngram,
                _run_words(self.ngram),
                read_only(self.bitmap),
                _shift(self.bitmap, 64),
            ),
            kernels.Probe(
                read_only(self.shorts),
                kernels.TAIL_WORDS,
                kernels.TAIL_WORDS,
                read_only(self.tail_bitmap),
                _shift(self.tail_bitmap, 64),
            ),
        )


def _run_words(ngram: int) -> int:
    """Words in the runs of which an n-gram's least is looked up first: about half of it."""
    return (ngram + 1) // 2


def saved_extra(path: Path) -> dict[str, str]:
    """What the caller of `NgramIndex.save` put beside the index.

    Raises:
        ValueError: the file is not an index.
        OSError: it cannot be read.
    """
    stored = _decoded(_read(path).schema)
    return {key: value for key, value in stored.items() if not key.startswith(_PREFIX)}


def _postings(
    grams: npt.NDArray[np.uint64], items: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct hashes, ascending, and the distinct items of each: hashes, offsets, items."""
    order = np.lexsort((items, grams))
    grams, items = grams[order], items[order]
    new_gram = np.ones(len(grams), bool)
    new_gram[1:] = grams[1:] != grams[:-1]
    new_pair = new_gram.copy()
    new_pair[1:] |= items[1:] != items[:-1]
    starts = np.flatnonzero(new_gram[new_pair])
    offsets = np.append(starts, np.count_nonzero(new_pair)).astype(np.int64)
    return grams[new_gram], offsets, items[new_pair]


def _slots(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    slots = np.full(_power_of_two(len(hashes) * SLOTS_PER_GRAM + 1), -1, np.int32)
    kernels.enter(read_only(hashes), slots, _shift(slots))
    return slots


def _bitmap(hashes: npt.NDArray[np.uint64], bits_per_hash: int) -> npt.NDArray[np.uint64]:
    bitmap = np.zeros(_power_of_two(len(hashes) * bits_per_hash) // 64, np.uint64)
    bits = (hashes * kernels.SPREAD) >> _shift(bitmap, 64)
    np.bitwise_or.at(bitmap, bits >> np.uint64(6), np.uint64(1) << (bits & np.uint64(63)))
    return bitmap


def _power_of_two(least: int) -> int:
    """The least power of two that is at least `least` and 64."""
    return 1 << (max(least, 64) - 1).bit_length()


def _shift(array: npt.NDArray[Any], per_entry: int = 1) -> np.uint64:
    """By how much to shift a hash right to number the slots or bits of a power-of-two array."""
    return np.uint64(65 - (len(array) * per_entry).bit_length())


def _parameters(ngram: int) -> dict[str, str]:
    """What decides the hashes of an index; texts scanned with others would never match."""
    return {
        "format": FORMAT,
        "ngram": str(ngram),
        "min_words": str(MIN_WORDS),
        "unicode": UNICODE_VERSION,
    }


def _one_row(column: npt.NDArray[Any]) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array([0, len(column)], pa.int64()), pa.array(column))


def _read(path: Path) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowInvalid, IndexError) as e:
        raise ValueError(
            f"{path}: not a saved n-gram index ({e}); delete it and build it again"
        ) from None


def _decoded(schema: pa.Schema) -> dict[str, str]:
    return {k.decode(): v.decode() for k, v in (schema.metadata or {}).items()}
