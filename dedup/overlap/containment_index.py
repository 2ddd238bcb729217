"""Seeds and grams of benchmark items' texts, to find edited copies of them.

texts --> gram words --> windows of 4, 6 or 7 words: seeds --> which texts have each ┐
                     --> windows of 2 words: grams --> a table a text             ┴ ContainmentIndex

Two seeds are taken as equal if their 64-bit hashes are, two grams of a text if 32 bits of theirs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import (
    I32,
    I64,
    U8,
    U32,
    U64,
    Bools,
    Saved,
    power_of_two,
    read_only,
    shift_of,
    text_buffers,
)
from tokenmill.dedup.kernels import containment as kernels
from tokenmill.dedup.kernels.containment import Probe, Room, Seeds, Texts
from tokenmill.dedup.kernels.gram_words import count_letters
from tokenmill.dedup.kernels.letters import spell_texts
from tokenmill.dedup.kernels.table import mark
from tokenmill.dedup.overlap.counts import MOST_ITEMS, MOST_ITEMS_FRAC, of_many_items
from tokenmill.dedup.overlap.index import postings
from tokenmill.dedup.overlap.own import CONTEXT, Own
from tokenmill.dedup.text.gram_words import (
    HAN,
    Block,
    GramWords,
    blocks,
    chars,
    count_alone,
    count_led,
    count_words,
    dense,
)
from tokenmill.dedup.text.unicode import UNICODE_VERSION

MIN_WORDS = 8  # of a text; of a shorter one an edited copy cannot be told from chance
# Words of a seed, of a text of so many words or more. In 8 words one of which is replaced, 4 in a
# row are left, as where every fifth is; in 64 one of six of which is, 7 in a row mostly. Long seeds
# are met less by chance.
SEED_LENGTHS = {MIN_WORDS: 4, 32: 6, 64: 7}
# Characters, of a text whose words are characters: four words intact, or three of Han, which say
# more; seven where one in five or more is Han, or a word between spaces. Of six kana or Thai
# clusters so many are alike that the search takes three times as long.
DENSE_SEED, MIXED_SEED, HAN_SEED = 8, 7, 6
CLUSTERS = -2  # in `spelled_begins`, of texts of clusters or kana: they are alike by chance
GRAM_WORDS = 2
MIN_GRAMS = MIN_WORDS - GRAM_WORDS + 1  # of a text, distinct
# If as many grams of a text stand outside windows that are no seeds, they alone count.
LONG_GRAMS = 12
LONG_WORDS = LONG_GRAMS + GRAM_WORDS - 1
LONGER_GRAMS = 16  # from so many on nothing was met by chance that is as like as an edited copy

# A seed of more texts than this is none, whatever share of a benchmark they are: each document
# that has it is compared with all of them, and a phrase that begins thousands of questions stands
# in every other document. It spares a passage of 32 questions, by itself and with each of them.
MOST_TEXTS = 64


MOST_ALIGNED = 512  # words of a text, at most, of which those in place are counted: a square
MOST_SPELLED = 1024  # letters of a text, at most, which are laid beside a document's


class Family(NamedTuple):
    """Seeds of `shortest` to `longest` words, which are looked for together; see `Probe`.

    letters: of a seed, at least.
    below: of texts of fewer words alone.
    """

    shortest: int
    longest: int
    spaced: int = 0
    letters: int = 1
    below: int = np.iinfo(np.int64).max


PLAIN = (Family(4, 4), Family(6, 7), Family(8, 8))  # the last of `dense` texts but Han
# Of texts that are not `dense`, from MORE_FROM words on. Three words of as many letters say as much
# as four or five of English; of seven words of Russian one in three has a typo where one character
# in twenty is another. Longer texts have a seed of another kind even so.
SPACED, LETTERED = Family(7, 7, 1), Family(3, 3, letters=18, below=64)
FAMILIES = (*PLAIN, SPACED, LETTERED)
MORE_FROM = 16  # of fewer words seeds are so short that they stand between words replaced
BITS_PER_SEED = 16
SLOTS_PER_SEED = 2


class Postings(NamedTuple):
    """Seeds, and which texts have each.

    seeds: (n_seeds,) uint64, hashes, distinct; ascending, those of one kind.
    tails: (n_seeds,) uint64, hash of the last words of each, `shortest` of its family.
    offsets: (n_seeds + 1,) int64; seed s stands in `texts[offsets[s]:offsets[s + 1]]`.
    texts: int32, rows of texts, ascending for each seed.
    """

    seeds: U64
    tails: U64
    offsets: I64
    texts: I32

    def only(self, wanted: Bools) -> "Postings":
        counts = np.diff(self.offsets)
        offsets = np.append(0, np.cumsum(counts[wanted]))
        texts = self.texts[np.repeat(wanted, counts)]
        return Postings(self.seeds[wanted], self.tails[wanted], offsets, texts)

    def and_others(self, others: "Postings") -> "Postings":
        """These, then seeds of another kind."""
        offsets = np.append(self.offsets, others.offsets[1:] + self.offsets[-1])
        seeds, tails = (np.concatenate(both) for both in zip(self[:2], others[:2], strict=True))
        return Postings(seeds, tails, offsets, np.concatenate((self.texts, others.texts)))


def seed_lengths(words: I64) -> I64:
    """Words of a seed of texts of so many words; 0 of a text that is too short."""
    lengths = np.array([0, *SEED_LENGTHS.values()])
    return lengths[np.searchsorted(list(SEED_LENGTHS), words, "right")]


def postings_of(
    texts: pa.Array,
    items: I64,
    lengths: I64,
    starts: I64,
    gram_words: GramWords,
    *,
    kind: Family | None = None,
) -> Postings:
    """The seeds of texts: windows that have letters, and that not many items share.

    texts: (n_texts,) string column, no nulls.
    items, lengths: (n_texts,), the item of each; words of a seed of it, 0 for none.
    starts: (n_benchmarks + 1,) first item of each benchmark, and where the last ends.
    kind: of the seeds, if it is none of PLAIN.
    """
    found = [
        (np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int32)),
        *(
            _windows(block, texts, lengths, kind)
            for block in blocks(texts, longest=None, words=gram_words, apart=True)
        ),
    ]
    seeds, tails, rows = map(np.concatenate, zip(*found, strict=True))
    places, hashes, offsets, of_seeds = postings(seeds, rows)
    made = Postings(hashes, tails[places], offsets, of_seeds)
    return made.only(~_shared(made, items, starts))


def _windows(
    block: Block, texts: pa.Array, lengths: I64, kind: Family | None
) -> tuple[U64, U64, I32]:
    """Of each window of a block's texts that has enough letters: hash, that of its tail, text."""
    n = len(block.hashes)
    letters = np.empty(n, np.int32)
    data = text_buffers(texts).data
    count_letters(data, block.begins, block.stops, block.doc_words, chars(), letters)
    of_block = lengths[block.doc : block.doc + len(block.begins)]
    family = np.searchsorted([f.shortest for f in PLAIN], of_block, "right") - 1
    shortest = np.array([f.shortest for f in PLAIN])[family] if kind is None else of_block
    least, spaced = (kind.letters, kind.spaced) if kind else (1, 0)
    (seeds, tails), rows = np.empty((2, n), np.uint64), np.empty(n, np.int32)
    words = block.hashes, block.doc_words, letters
    n = kernels.hash_seeds(*words, least, of_block, shortest, spaced, seeds, tails, rows)
    return seeds[:n], tails[:n], rows[:n] + np.int32(block.doc)


def _shared(found: Postings, items: I64, starts: I64) -> Bools:
    """(n_seeds,) bool: those that many texts share, or many items of one benchmark."""
    is_shared = np.diff(found.offsets) > MOST_ITEMS
    often = found.only(is_shared)
    seeds = np.repeat(np.flatnonzero(is_shared), np.diff(often.offsets))
    pairs = np.unique(np.stack([seeds, items[often.texts]]), axis=1)
    is_shared[:] = False
    is_shared[of_many_items(pairs[0], pairs[1], starts, MOST_ITEMS, MOST_ITEMS_FRAC)] = True
    return is_shared | (np.diff(found.offsets) > MOST_TEXTS)


def gram_tables(
    texts: pa.Array, words: I64, lengths: I64, seeds: Seeds, gram_words: GramWords
) -> Texts:
    """The grams of each text that count, and its words.

    words, lengths: (n_texts,), words of each text and of its seeds.
    """
    n_grams = np.where(lengths > 0, words - GRAM_WORDS + 1, 0)
    offsets = np.append(0, np.cumsum(np.where(n_grams > 0, n_grams * 3 // 2 + 1, 0)))
    table = np.full(offsets[-1], kernels.EMPTY, np.uint32)
    counts, spelled = np.zeros(len(words), np.int64), [np.empty(0, np.uint32)]
    for block in blocks(texts, longest=None, words=gram_words, apart=True):
        rows = slice(block.doc, block.doc + len(block.begins))
        spelled.append(block.hashes.astype(np.uint32))
        sizes = lengths[rows], GRAM_WORDS, LONG_GRAMS
        out = offsets[rows.start : rows.stop + 1], table, counts[rows]
        kernels.enter_grams(block.hashes, block.doc_words, seeds, *sizes, *out)
    has_seed = np.zeros(len(words), bool)
    has_seed[seeds.texts] = True
    counts = np.where(has_seed & (counts >= MIN_GRAMS), counts, 0)
    begins = np.cumsum(words) - words
    return Texts(GRAM_WORDS, words, counts, table, offsets, np.concatenate(spelled), begins)


def bitmap_of(tails: U64) -> U64:
    bitmap = np.zeros(power_of_two(len(tails) * BITS_PER_SEED // 64), np.uint64)
    mark(read_only(tails), bitmap, shift_of(bitmap))
    return bitmap


def slots_of(seeds: U64) -> I32:
    slots = np.full(power_of_two(len(seeds) * SLOTS_PER_SEED + 1), -1, np.int32)
    kernels.enter_seeds(read_only(seeds), slots, shift_of(slots))
    return slots


# Of the saved index. Raise it with any change of hash, gram words or layout, and of what is found:
# runs that take edited copies out hang on it.
FORMAT = "10"


@dataclass(frozen=True, eq=False)
class ContainmentIndex(Saved):
    """Seeds and grams of item texts.

    gram_words: what a gram word is.
    seeds, seed_offsets, seed_texts: as of `Postings`.
    slots: the way into `seeds`; see `Seeds`.
    bitmaps, bitmap_ends: uint64 bits of the `Probe` of each of `FAMILIES`, one behind the other,
        and (n_families,) int64, where they end.
    words: (n_texts,) int64, gram words of each text.
    items: (n_texts,) int64, the item of each.
    grams, table, table_offsets, spelled: as of `Texts`; there `spelled_begins` are its begins,
        or CLUSTERS.
    letters, letter_offsets: as of `kernels.letters.spell_texts`.
    own_grams, own_offsets, own_sizes, own_widths: as of `own.Own`.
    """

    KIND: ClassVar[str] = "containment index"

    gram_words: GramWords
    seeds: U64
    seed_offsets: I64
    seed_texts: I32
    slots: I32
    bitmaps: U64
    bitmap_ends: I64
    words: I64
    items: I64
    grams: I64
    table: U32
    table_offsets: I64
    spelled: U32
    spelled_begins: I64
    letters: U8
    letter_offsets: I64
    own_grams: U32
    own_offsets: I64
    own_sizes: I64
    own_widths: I64

    @classmethod
    def build(
        cls,
        texts: pa.Array,
        items: npt.NDArray[np.integer],
        *,
        benchmark_starts: npt.NDArray[np.integer],
        n_items: int,
        gram_words: GramWords = "scripts",
        contexts: Bools | None = None,
    ) -> "ContainmentIndex":
        """Index the texts of benchmark items.

        texts: (n_texts,) string column, no nulls; an item may have several texts.
        items: (n_texts,) the item of each, from 0 to n_items - 1.
        benchmark_starts: (n_benchmarks,) first item of each benchmark, ascending from 0.
        n_items: of all benchmarks.  gram_words: what a gram word is.
        contexts: (n_texts,) bool, texts that alone are no copy of their item; None: none are.
        ValueError: there is not one item for each text.
        """
        if len(items) != len(texts):
            raise ValueError(f"{len(items)} items for {len(texts)} item texts")
        of_text, starts = np.asarray(items, np.int64), np.append(benchmark_starts, n_items)
        words = count_words(texts, gram_words, apart=True)
        by = dense(texts, words, gram_words)
        lengths = seed_lengths(words // by)
        han = count_led(texts, HAN)
        telling = han + words - count_alone(texts, gram_words)
        of_dense = np.select(
            [2 * han > words, 5 * telling >= words], [HAN_SEED, MIXED_SEED], DENSE_SEED
        )
        lengths = np.where((by > 1) & (lengths > 0), of_dense, lengths)
        plain = postings_of(texts, of_text, lengths, starts, gram_words)
        found, tails = plain, list[U64]()
        for kind in (SPACED, LETTERED):
            wanted = (by == 1) & (words >= MORE_FROM) & (words < kind.below)
            lengths_of = np.where(wanted, kind.longest, 0)
            others = postings_of(texts, of_text, lengths_of, starts, gram_words, kind=kind)
            found, tails = found.and_others(others), [*tails, others.tails]
        slots = slots_of(found.seeds)
        seeds = _kernel_seeds(found.seeds, slots, found.offsets, found.texts)
        tables = gram_tables(texts, words, lengths, seeds, gram_words)
        of_seeds = lengths[plain.texts[plain.offsets[:-1]]]
        bitmaps = [
            bitmap_of(plain.tails[(of_seeds >= f.shortest) & (of_seeds <= f.longest)])
            for f in PLAIN
        ]
        bitmaps += map(bitmap_of, tails)
        data, offsets = text_buffers(texts)
        letters, letter_offsets = np.empty(len(data), np.uint8), np.empty_like(offsets)
        most = np.where((by == 1) & (tables.grams >= LONG_GRAMS), MOST_SPELLED, 0)
        spell_texts(data, offsets, chars(), read_only(most), letters, letter_offsets)
        none_is = np.zeros(len(texts), bool)
        own = Own.of(texts, of_text, none_is if contexts is None else contexts, by)
        unplaced = np.where(5 * han < words, CLUSTERS, -1)
        return cls(
            gram_words=gram_words,
            seeds=found.seeds,
            seed_offsets=found.offsets,
            seed_texts=found.texts,
            slots=slots,
            bitmaps=np.concatenate(bitmaps),
            bitmap_ends=np.cumsum([len(bitmap) for bitmap in bitmaps]),
            words=words,
            items=of_text,
            grams=tables.grams,
            table=tables.table,
            table_offsets=tables.offsets,
            spelled=tables.spelled,
            spelled_begins=np.where(by == 1, tables.begins, unplaced),
            letters=letters[: letter_offsets[-1]],
            letter_offsets=letter_offsets,
            own_grams=own.grams,
            own_offsets=own.offsets,
            own_sizes=own.sizes,
            own_widths=own.widths,
        )

    @classmethod
    def parameters(cls, **settings: Any) -> dict[str, str]:
        return {
            "format": FORMAT,
            "spaced": f"{SPACED.longest} from {MORE_FROM}",
            "lettered": f"{LETTERED.longest} of {LETTERED.letters} to {LETTERED.below}",
            "seed": ",".join(f"{n} from {words}" for words, n in SEED_LENGTHS.items()),
            "dense": f"{DENSE_SEED}, {MIXED_SEED} of mixed, {HAN_SEED} of Han",
            "letters": f"{MOST_SPELLED} from {LONG_GRAMS}",
            "gram": f"{GRAM_WORDS}, {MIN_GRAMS} to {LONG_GRAMS}",
            "shared": f"{MOST_ITEMS}, {MOST_ITEMS_FRAC}, {MOST_TEXTS}",
            "words": settings["gram_words"],
            "unicode": UNICODE_VERSION,
        }

    @property
    def own(self) -> Own:
        return Own(self.own_grams, self.own_offsets, self.own_sizes, self.own_widths)

    @property
    def contexts(self) -> Bools:
        """(n_texts,) bool, texts that alone are no copy of their item."""
        contexts: Bools = self.own_widths == CONTEXT
        return contexts

    def kernel_seeds(self) -> Seeds:
        return _kernel_seeds(self.seeds, self.slots, self.seed_offsets, self.seed_texts)

    def kernel_texts(self) -> Texts:
        arrays: tuple[npt.NDArray[Any], ...] = (
            *(self.words, self.grams, self.table, self.table_offsets),
            *(self.spelled, self.spelled_begins),
        )
        return Texts._make((GRAM_WORDS, *map(read_only, arrays)))

    def room(self) -> Room:
        """Scratch for these texts, as yet for no words."""
        largest, n_texts = int(np.diff(self.table_offsets).max(initial=0)), len(self.words)
        return Room(
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            np.zeros(largest, np.int32),
            np.zeros((n_texts, 4), np.int64),
            np.empty(n_texts, np.int64),
            np.empty(min(int(self.words.max(initial=0)), MOST_ALIGNED) * 5 // 2 + 1, np.int32),
        )

    @cached_property
    def probes(self) -> list[Probe]:
        """How to find the seeds of each family that the index has."""
        bitmaps = np.split(self.bitmaps, self.bitmap_ends[:-1])
        return [
            Probe(*family[:3], read_only(bitmap), shift_of(bitmap))
            for family, bitmap in zip(FAMILIES, bitmaps, strict=True)
            if bitmap.any()
        ]


def _kernel_seeds(seeds: U64, slots: I32, offsets: I64, texts: I32) -> Seeds:
    hashes, slots = read_only(seeds), read_only(slots)
    return Seeds(hashes, slots, shift_of(slots), read_only(offsets), read_only(texts))
