"""Edited copies of benchmark items in documents: containment in a stretch of the document.

    documents --> gram words --> seeds of item texts --> stretches around them --> Containments

The *containment* of a text A in B is the share of A's grams that stand in B too (Broder 1997, "On
the resemblance and containment of documents"). Here
- A is an item's text, B a *stretch* of the document: words in a row, at most 5/4 as many as A has;
- a gram is 2 gram words in a row (`dedup.text.gram_words`), counted once however often it stands;
  punctuation sets them apart, so that of an address or an expression of code with one name replaced
  the rest is seen;
- a *seed* is 4, 6 or 7 of them, more of longer texts (`SEED_LENGTHS`); of texts of 16 words or more
  also 7 of which the fifth may be another (`SPACED`), and of 16 to 63 words 3 that have 18 letters
  (`LETTERED`). Windows of as many words that
  many items of a benchmark share (`overlap.counts.MOST_ITEMS`), or more than 64 texts of all
  (`MOST_TEXTS`), or that have no letter, are no seeds, and grams within them do not count if 12
  others do: a prompt is not found for its items;
- the document's containment of the text is the greatest of all stretches each word of which is
  near a seed of the text, of one kind: in some stretch that holds a whole one.
- where the grams come to a third of the threshold (`WORTH`), the words in place are counted too:
  text and document are laid side by side around the stretch, where two words that differ cost
  nothing and one beside none half a word (local alignment, Smith and Waterman 1981); their share
  of the text's words less .1 (`CHANCE`) is the containment, if that is more. Of texts of some 500
  words and more (`MOST_ALIGNED`) grams alone count;
- where that comes to two thirds of the threshold (`CLOSE`), of texts of 12 grams or more, letters
  are laid side by side likewise, where each that differs, and each beside none, costs one: their
  share of the text's letters is the containment, if that is more. A typo costs two letters where it
  costs a word. Not of texts of more than 1024 letters (`MOST_SPELLED`).
Where most words of a text are characters by themselves (`dense`), seeds are 8 of them, 6 of Han, 7
where one in five is Han or has spaces around, it has 16 or more, and grams alone count: of Thai
clusters too many are in place by chance. Of clusters and of kana with less Han MIDDLE_THRESHOLD
holds for longer texts too: of 1,000 texts of XQuAD 22 had .45 to .58 of one in 5 MB of Thai
messages; of 12,000 parts of documentation in Japanese 447 would be copies in others' documentation
if .45 held for kana with names in Latin, where 181 are. Of these SHORT_THRESHOLD holds for as many
words as of others, 24 characters or clusters: in 19 MB of Thai news 56 of 2,429 items were told by
chance, 7 are, in 25 MB more 81 and 17 of 2,679, most of which are a little longer.
Texts of fewer than 8 words, without a seed, or of fewer than 7 distinct grams are left out, and
those of which a document has hardly more than the context of their item has (`overlap.own`). A
document's figures depend on nothing but it and the items: not on the batch, nor on others.

A replaced word costs two grams: one word in ten leaves .8 of a long text, of 8 words 5 of 7; one
in six leaves .67, one in five .6. In 21 MB of web text, documentation and Wikipedia no text of 16
grams or more had .45 by chance, of 12 to 15 none .6: so THRESHOLD and MIDDLE_THRESHOLD. By seeds of
words in a row alone they found, of 7,768 items of GSM8K, HumanEval, MBPP, ARC and BoolQ in such
text (tests/bench/containment.py), all of which one word in ten was replaced and .987 of one in six,
of single fields of 8 words or more .756 and .634; in 10 MB they found .3 pairs by chance.

By chance a short question has its commonest phrase in common ("is the netherlands part of the
united kingdom": 4 of 7 grams; "which of the following is an example of": 7 of 9); with 12 grams,
of 13 words, .6 was not reached. So SHORT_THRESHOLD: of single fields of 8 to 12 words, one of them
replaced, .22 are found, where .7 would find .91.
Translations are out of reach; paraphrases are for `overlap.paraphrase`.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I64, U8, read_only, text_buffers
from tokenmill.dedup.kernels.containment import Room, Thresholds, find_stretches
from tokenmill.dedup.kernels.letters import align_letters
from tokenmill.dedup.overlap.containment_index import (
    CLUSTERS,
    LONG_GRAMS,
    LONGER_GRAMS,
    MOST_SPELLED,
    ContainmentIndex,
)
from tokenmill.dedup.overlap.own import OWN_SHARE
from tokenmill.dedup.text.gram_words import Block, blocks, chars

THRESHOLD = 0.45  # of texts with LONGER_GRAMS grams or more
MIDDLE_THRESHOLD = 0.6  # at least, of shorter ones
SHORT_THRESHOLD = 0.8  # of texts with fewer than LONG_GRAMS grams

CHANCE = 0.1  # of a text's words in place that are not counted
WORTH = 1 / 3  # of a threshold, that grams have of a copy whose words in place reach it

CLOSE = 2 / 3  # of a threshold, from which on letters are laid side by side

FIRST_HITS = 1 << 10  # room for what is found in a block; where it is more the block is read again


class Containments(NamedTuple):
    """Item texts that stand in documents, perhaps edited, in order of doc, item, text.

    n_docs: documents searched.
    docs: (n_found,) int64, rows of the text column.
    items: (n_found,) int64, ids of items.
    texts: (n_found,) int64, rows of the item texts that the index was built from.
    starts, ends: (n_found,) int64, UTF-8 bytes from the beginning of the document: the stretch
        with most of the text's grams; of several the one that ends first, and of these the
        shortest. From the first character of its first gram to the last of its last one,
        punctuation aside.
    containment: (n_found,) float64, share of the text's grams that the stretch has.
    """

    n_docs: int
    docs: I64
    items: I64
    texts: I64
    starts: I64
    ends: I64
    containment: F64


def contained(
    text: pa.Array,
    index: ContainmentIndex,
    *,
    threshold: float = THRESHOLD,
    short_threshold: float = SHORT_THRESHOLD,
) -> Containments:
    """Find the item texts that documents contain, copied or edited.

    text: (n_docs,) string column, no nulls.
    threshold, short_threshold: containment from which on a text counts as found; of texts with
        at least LONGER_GRAMS grams, and with fewer than LONG_GRAMS, of clusters twice as many;
        between them it is that of longer ones, or MIDDLE_THRESHOLD if that is more, but no more
        than of shorter ones.
    ValueError: a threshold is not above 0.
    """
    for given in (threshold, short_threshold):
        if not given > 0:
            raise ValueError(f"a threshold of containment must be above 0, got {given}")
    data = text_buffers(text).data
    middle = min(max(threshold, MIDDLE_THRESHOLD), short_threshold)
    by_grams = float(short_threshold), float(middle), float(threshold)
    limits = Thresholds(*by_grams, LONG_GRAMS, LONGER_GRAMS, WORTH, CHANCE, CLOSE)
    of_clusters = index.spelled_begins == CLUSTERS
    long_grams = np.where(of_clusters, 2 * LONG_GRAMS, LONG_GRAMS)  # as many words
    least = np.where(index.grams < long_grams, limits.short, limits.middle)
    least[(index.grams >= LONGER_GRAMS) & ~of_clusters] = limits.full
    room, hits = index.room(), np.empty((FIRST_HITS, 6), np.int64)
    found, likeness = [np.empty((0, 8), np.int64)], [np.empty(0)]
    for block in blocks(text, longest=None, words=index.gram_words, apart=True):
        n_words = len(block.hashes)
        if n_words > len(room.lasts):
            lasts, at = np.empty(n_words, np.int64), np.empty(n_words, np.int32)
            room = room._replace(lasts=lasts, at=at)
        n = _find(block, index, limits, room, hits)
        if n > len(hits):  # they have been counted, now there is room
            hits = np.empty((n, 6), np.int64)
            _find(block, index, limits, room, hits)
        shares = _shares(block, data, index, least, hits[:n])
        enough = shares >= least[hits[:n, 1]]
        likeness.append(shares[enough])
        hit = hits[:n][enough]
        places = block.places(data, np.ascontiguousarray(hit[:, :4]))
        found.append(np.column_stack((places, hit[:, 4:])))
    every, shares = np.concatenate(found), np.concatenate(likeness)
    docs, texts, firsts, lasts, _, _, grams, _ = every.T
    # a text may be found by seeds of two kinds: the better one, as of stretches
    order = np.lexsort((-firsts, lasts, -grams, -shares, texts, docs))
    pairs = every[order, :2]
    best = order[np.append(True, (np.diff(pairs, axis=0) != 0).any(axis=1))[: len(order)]]
    docs, texts, _, _, starts, ends, _, _ = np.ascontiguousarray(every[best].T)
    items = index.items[texts]
    bounds = text_buffers(text).offsets
    begins, stops = bounds[docs], bounds[docs + 1]
    own = index.own.shares(data, (begins, stops), (texts, begins + starts, begins + ends))
    order = np.lexsort((texts, items, docs))
    order = order[own[order] >= OWN_SHARE]
    columns = (docs, items, texts, starts, ends, shares[best])
    return Containments(len(text), *(column[order] for column in columns))


def _shares(block: Block, data: U8, index: ContainmentIndex, least: F64, hits: I64) -> F64:
    """(n_hits,) containment, by letters where it is below the least."""
    docs, texts, firsts, lasts, grams, twice = hits.T
    shares: F64 = np.maximum(grams / index.grams[texts], twice / (2 * index.words[texts]) - CHANCE)
    unsure = np.flatnonzero(shares < least[texts])
    docs, texts, firsts, lasts = docs[unsure], texts[unsure], firsts[unsure], lasts[unsure]
    reach = index.words[texts] * 5 // 4
    first = np.maximum(lasts + 1 - reach, block.doc_words[docs])
    last = np.minimum(firsts + reach, block.doc_words[docs + 1]) - 1
    places = block.places(data, np.column_stack((docs, texts, first, last)))
    begins, by_letters = block.begins[docs], np.empty(len(unsure))
    spans = begins + places[:, 4], begins + places[:, 5]
    spelled = read_only(index.letters), read_only(index.letter_offsets)
    room = np.empty(4 * MOST_SPELLED, np.uint8), np.empty(4 * MOST_SPELLED + 1, np.int32)
    align_letters(data, *spans, texts, *spelled, chars(), *room, by_letters)
    shares[unsure] = np.maximum(shares[unsure], by_letters)
    return shares


def _find(block: Block, index: ContainmentIndex, least: Thresholds, room: Room, hits: I64) -> int:
    """Fill `hits`, as `find_stretches` has them; how many there are, with room or not."""
    found = 0
    seeds, texts = index.kernel_seeds(), index.kernel_texts()
    for probe in index.probes:
        found = find_stretches(
            block.hashes, block.doc_words, probe, seeds, texts, least, room, hits, found
        )
    return found
