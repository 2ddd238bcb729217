"""What an item's text says that its context does not, and whether a document has it.

texts, contexts --> letters --> windows that no context of the item has --> Own
stretches of documents --> the text around them --> the share of these windows that stand together

A passage that is asked about stands in a corpus without the question more often than with it, and
is nearly all of the item. So a text of an item that has a *context* counts where the document has
OWN_SHARE of the windows of letters that the item's contexts lack, within a quarter more letters
than they take in the text, and no farther from the stretch than that is long. A text without such
windows, as an answer that the passage has, does not count. Only beside the best stretch of a text
are they looked for: where a document has the passage by itself and, far from it, more edited and
with a short question, the first is the best, and the item is not seen.

Windows are of 4 letters, of 3 where a word is a character: of a word with a typo some are left, and
of a question of 5 words there are a dozen. Of 150 questions each of TQuAD and of XQuAD in English,
Russian, Hindi, Chinese and Thai, .35 of the windows were met beside the passage where the question
was not, of Russian and Thai in .7 %, and in 95 % to 100 % where it was, with every fifth or sixth
word replaced or 5 % of its letters. OWN_SHARE was chosen on these; of others `python -m
tests.bench.contexts` tells, 88 % to 99.8 %.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I64, U8, U32, Bools, parts, read_only, text_buffers
from tokenmill.dedup.kernels.letters import own_shares, spell_texts
from tokenmill.dedup.text.gram_words import chars

OWN_SHARE = 0.35
LETTERS, DENSE_LETTERS = 4, 3  # of a window
PART_BYTES = 1 << 22  # of texts whose windows are compared at once, but for an item with more
CONTEXT = -1  # in `widths`


class Own(NamedTuple):
    """Windows of each text that the contexts of its item lack.

    grams, offsets, sizes, widths: as of `kernels.letters.own_shares`; the width of a context is
        CONTEXT, and 0 of a text whose item has none.
    """

    grams: U32
    offsets: I64
    sizes: I64
    widths: I64

    @classmethod
    def of(cls, texts: pa.Array, items: I64, contexts: Bools, dense: I64) -> "Own":
        """Compare the texts of each item with its contexts.

        texts: (n_texts,) string column, no nulls.  items: (n_texts,), the item of each.
        contexts: (n_texts,) bool, those that alone are no copy of their item.
        dense: (n_texts,), of `dedup.text.gram_words.dense`.
        """
        n_items = int(items.max(initial=-1)) + 1
        has_context, of_items = np.zeros(n_items, bool), np.full(n_items, LETTERS)
        has_context[items[contexts]] = True
        of_items[items[dense > 1]] = DENSE_LETTERS
        sizes = of_items[items]
        widths = np.where(contexts, CONTEXT, np.where(has_context[items], sizes, 0))
        rows = np.flatnonzero(has_context[items])
        rows = rows[np.argsort(items[rows], kind="stable")]
        n_bytes = np.bincount(items[rows], text_buffers(texts).lengths[rows], n_items)
        grams, owners = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
        for part in parts(n_bytes.astype(np.int64), PART_BYTES):
            first, stop = np.searchsorted(items[rows], (part.start, part.stop))
            some = rows[first:stop]
            if len(some):
                which, codes, spans = _own(
                    texts.take(pa.array(some)), items[some], contexts[some], sizes[some]
                )
                grams.append(codes)
                owners.append(some[which])
                found = np.flatnonzero(spans)
                widths[some[found]] = spans[found]
        of = np.concatenate(owners)
        order = np.argsort(of, kind="stable")
        offsets = np.append(0, np.cumsum(np.bincount(of, minlength=len(texts))))
        return cls(np.concatenate(grams)[order], offsets, sizes, widths)

    def shares(self, data: U8, bounds: tuple[I64, I64], places: tuple[I64, I64, I64]) -> F64:
        """(n,) the share of its windows that a document has of each text found; 1 if not asked.

        data, bounds: of a text column, and (n,) each: where in it each document begins and ends.
        places: (n,) each: the text, and the bytes of `data` from and to where it was found.
        """
        texts, starts, stops = places
        at = np.flatnonzero(self.widths[texts] > 0)
        texts, starts, stops = texts[at], starts[at], stops[at]
        first = np.maximum(2 * starts - stops, bounds[0][at])
        last = np.minimum(2 * stops - starts, bounds[1][at])
        n_letters = int((last - first).max(initial=0))
        room, places_of = np.empty(n_letters, np.uint8), np.empty(n_letters, np.int32)
        counts = np.empty(int(np.diff(self.offsets).max(initial=0)), np.int32)
        of_asked, shares = np.empty(len(at)), np.ones(len(places[0]))
        own = read_only(self.grams), read_only(self.offsets)
        kinds = read_only(self.sizes), read_only(self.widths)
        own_shares(
            *(data, first, last, texts, *own, *kinds, chars()),
            *(room, places_of, counts, of_asked),
        )
        shares[at] = of_asked
        return shares


def _own(texts: pa.Array, items: I64, contexts: Bools, sizes: I64) -> tuple[I64, U32, I64]:
    """Rows and windows that are own, ascending, each once; (n_texts,) the width of each text's.

    items: of each text; those of an item are all there.  sizes: letters of its windows.
    """
    data, offsets = text_buffers(texts)
    letters, ends = np.empty(len(data), np.uint8), np.empty_like(offsets)
    most = read_only(np.full(len(texts), len(data)))
    spell_texts(data, offsets, chars(), most, letters, ends)
    n = int(ends[-1])
    of = np.repeat(np.arange(len(texts)), np.diff(ends))
    padded = np.append(letters[:n], np.zeros(LETTERS, np.uint8)).astype(np.uint32)
    codes = np.zeros(n, np.uint32)
    for i in range(LETTERS):
        codes |= np.where(i < sizes[of], padded[i : i + n], 0).astype(np.uint32) << np.uint32(8 * i)
    whole = np.arange(n) + sizes[of] <= ends[of + 1]
    keys = items[of] << 32 | codes.astype(np.int64)
    in_context = contexts[of]
    at = np.flatnonzero(whole & ~in_context)
    at = at[~np.isin(keys[at], keys[whole & in_context])]
    first, last = np.full(len(texts), n), np.full(len(texts), -1)
    np.minimum.at(first, of[at], at)
    np.maximum.at(last, of[at], at)
    rows, own = np.divmod(np.unique(of[at] << 32 | codes[at].astype(np.int64)), 1 << 32)
    return rows, own.astype(np.uint32), np.where(last >= 0, (last - first + sizes) * 5 // 4, 0)
