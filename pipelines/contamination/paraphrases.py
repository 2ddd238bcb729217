"""Items in other words: a tier of its own, which makes no item dirty.

folded batch ─ paraphrased ─► the best window of each document and item ─► PARAPHRASE
PARAPHRASE of every shard ─ best_explained, CopyAnalysis.add ─► items that may be paraphrased
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import Field

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.overlap.paraphrase import (
    SCORE,
    ParaphraseIndex,
    canonical,
    paraphrased,
    stems_of,
)
from tokenmill.dedup.text.fold import Folded, fold
from tokenmill.pipelines.contamination.copies import COPY, stretches
from tokenmill.pipelines.contamination.index import ItemTexts
from tokenmill.pipelines.contamination.items.spec import QUESTION, WHOLE
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.schema import needed, versioned

LEAST_QUESTION = 8  # words; of a shorter one all of the item is looked for

PARAPHRASE = versioned(
    "paraphrase",
    # of COPY, but that `containment` is the share by weight of the text's terms
    *(COPY.field(name) for name in COPY.names[:6]),
    *needed(score=pa.float64()),
    # different numbers of the text, and those that the window has too
    *needed(numbers=pa.int64(), agreeing=pa.int64()),
    *(COPY.field(name) for name in COPY.names[6:]),
)


class Paraphrasing(Config):
    """From which score on a window may have an item in other words (`dedup.overlap.paraphrase`).

    score: of the words that both have, by how rare they are; the higher, the fewer by chance.
    """

    score: Annotated[float, Field(gt=0)] = SCORE


def index_paraphrases(texts: ItemTexts, contexts: Bools | None = None) -> ParaphraseIndex:
    """Index the questions of items; of one whose question says too little, all of the item.

    But not where that is mostly a context: (n_texts,) bool, as of `copies.index_copies`.
    """
    folded = fold(texts.texts, texts.folding).text
    lengths = np.bincount(stems_of(folded, texts.words)[1], minlength=len(folded))
    is_question = (texts.roles == QUESTION) & (lengths >= LEAST_QUESTION)
    is_asked = np.zeros(len(texts.lengths), bool)
    is_asked[texts.items[is_question]] = True
    if contexts is not None:
        longest = np.zeros(len(texts.lengths), np.int64)
        np.maximum.at(longest, texts.items, lengths)
        is_asked[texts.items[contexts & (2 * lengths > longest[texts.items])]] = True
    # an item of one field has no text of all
    has_whole = np.zeros(len(texts.lengths), bool)
    has_whole[texts.items[texts.roles == WHOLE]] = True
    others = (texts.roles == WHOLE) | ~has_whole[texts.items]
    return ParaphraseIndex.build(
        folded,
        texts.items,
        wanted=is_question | (others & ~is_asked[texts.items]),
        benchmark_starts=texts.starts,
        n_items=len(texts.lengths),
        gram_words=texts.words,
    )


def find_paraphrases(
    batch: pa.RecordBatch, folded: Folded, index: ParaphraseIndex, least: Paraphrasing, source: str
) -> pa.RecordBatch:
    """A PARAPHRASE row for each document and item, the best; the rest as of `find_copies`."""
    found = paraphrased(folded.text, index, score=least.score)
    best_first = np.lexsort((found.texts, -found.scores, found.items, found.docs))
    pairs = np.stack([found.docs, found.items])[:, best_first]
    best = best_first[np.unique(pairs, axis=1, return_index=True)[1]]
    names = ("items", "texts", "shares", "scores", "numbers", "agreeing")
    columns = [getattr(found, name)[best] for name in names]
    places = (found.docs[best], found.starts[best], found.ends[best])
    return stretches(batch, folded, places, columns, PARAPHRASE, source)


def siblings(rows: pa.RecordBatch | pa.Table) -> Bools:
    """(n_rows,) rows of schema PARAPHRASE that have fewer than half of the item's numbers."""
    few: Bools = 2 * np.asarray(rows["agreeing"]) < np.asarray(rows["numbers"])
    return few


def agreeing_words(
    item: Sequence[tuple[int, int, str]], window: Sequence[tuple[int, int, str]]
) -> list[tuple[tuple[int, int], ...]]:
    """Words with a stem in common, as spans of characters of either; of start, end, folded word."""
    stems = [_stems([word for *_, word in words]) for words in (item, window)]
    shared = [np.isin(own, other).tolist() for own, other in (stems, stems[::-1])]
    return [
        tuple((start, end) for (start, end, _), both in zip(words, marks, strict=True) if both)
        for words, marks in zip((item, window), shared, strict=True)
    ]


def _stems(words: list[str]) -> I64:
    """(n_words,) of each word the stem, of some several words the first, as a number."""
    hashes, rows = stems_of(pa.array(words, pa.large_string()))
    first = np.searchsorted(rows, np.arange(len(words)))
    none = np.append(canonical(hashes), np.uint64(0))
    return none[np.minimum(first, len(hashes))].view(np.int64)
