"""Words of text as hashes, n-grams of their ids as keys, and probabilities out of a hash table.

An n-gram's key is made from its last word to its first, so that each is the key of its suffix,
extended to the left. What an n-gram is not looked up for is not there: where it is in a model,
so is its suffix.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import F32, F64, I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.table import EMPTY, FOLD, finalized, n_less, probed
from tokenmill.dedup.kernels.u64 import ONE
from tokenmill.dedup.kernels.utf8 import BLANK, decode

# What an action says of a character, above the 24 bits of a code point.
SPACE = np.uint32(0)  # ends a word
IN_WORD = np.uint32(1)  # part of a word, as the code point
ALONE = np.uint32(2)  # ends a word and is one, as the code point
DELETED = np.uint32(3)
LINE_END = np.uint32(4)
MANY = np.uint32(5)  # several others, listed at this place
KIND = np.uint32(24)
VALUE = np.uint32(0xFFFFFF)

BOUNDARY_HASH = np.uint64(0)  # of no word: the end of a line that has any
SEED = np.uint64(0x243F6A8885A308D3)


@inlined
def taken(h: np.uint64, cp: np.uint32) -> np.uint64:
    """A word's hash with one more code point."""
    return np.uint64((h ^ np.uint64(cp)) * FOLD)


@kernel
def word_hashes(
    data: U8, offsets: I64, actions: U32, many: U32, hashes: U64, spans: I64, doc_ends: I64
) -> None:
    """Hash the words of each document, with BOUNDARY_HASH behind those of each line.

    actions: (0x110000,) by code point.
    many: how many actions there are, then these, at the places that MANY says.
    hashes: as many as bytes, half of them again, and two for each document.
    spans: (len(hashes), 2), the bytes of `data` that each came from; or (0, 2), for none.
    doc_ends: (n_docs + 1,), where in `hashes` each document's end; `doc_ends[0]` is 0.
    """
    with_spans = spans.shape[0] > 0
    n = 0
    doc_ends[0] = 0
    for d in range(offsets.shape[0] - 1):
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        line = n
        h = SEED
        start = i
        in_word = False
        while i <= end:
            size = ONE
            action = np.uint32(LINE_END << KIND)  # of the document's end too
            if i < end:
                cp, size = decode(data, i, end, BLANK)
                action = actions[cp]
            kind = np.uint32(action >> KIND)
            at = np.int64(0)
            left = np.int64(1)
            if kind == MANY:
                at = np.int64(action & VALUE)
                left = np.int64(many[at])
            while left > 0:
                left -= 1
                if at > 0:
                    at += 1
                    action = many[at]
                    kind = np.uint32(action >> KIND)
                if kind == IN_WORD:
                    if not in_word:
                        start = i
                        in_word = True
                    h = taken(h, np.uint32(action & VALUE))
                elif kind != DELETED:
                    if in_word:
                        hashes[n] = finalized(h)
                        if with_spans:
                            spans[n, 0] = start
                            spans[n, 1] = i
                        n += 1
                        h = SEED
                        in_word = False
                    if kind == ALONE:
                        hashes[n] = finalized(taken(SEED, np.uint32(action & VALUE)))
                        if with_spans:
                            spans[n, 0] = i
                            spans[n, 1] = i + size
                        n += 1
                    elif kind == LINE_END and n > line:
                        hashes[n] = BOUNDARY_HASH
                        if with_spans:
                            spans[n, 0] = i
                            spans[n, 1] = i
                        n += 1
                        line = n
            i += size
        doc_ends[d + 1] = n


UNKNOWN = 0
BOUNDARY = 1  # at the end of an n-gram the end of a line, before that the beginning of one


@inlined
def extended(key: np.uint64, word: np.uint32) -> np.uint64:
    """The key of an n-gram with one more word before it; of none, key 0."""
    return finalized(np.uint64(key + np.uint64((np.uint64(word) + ONE) * FOLD)))


@kernel
def fill(keys: U64, slots: U64, rows: U32) -> bool:
    """Put keys into a hash table; whether all were different, and none EMPTY.

    slots: a power of two of them, more than keys, all EMPTY.  rows: for each slot, of its key.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(keys.shape[0]):
        key = keys[i]
        at = probed(slots, mask, key & mask, key)
        if slots[at] == key or key == EMPTY:
            return False
        slots[at] = key
        rows[at] = i
    return True


@kernel
def fill_values(keys: U64, values: U64, table: U64) -> bool:
    """As `fill`, but with values.

    table: (a power of two, 2), keys and values side by side, so that one look gets both.
    """
    mask = np.uint64(table.shape[0] - 1)
    for i in range(keys.shape[0]):
        key = keys[i]
        at = probed(table[:, 0], mask, key & mask, key)
        if table[at, 0] == key or key == EMPTY:
            return False
        table[at, 0] = key
        table[at, 1] = values[i]
    return True


@kernel
def word_ids(hashes: U64, slots: U64, rows: U32, first_id: int, heads: U64, ids: U32) -> None:
    """The id of each word: BOUNDARY for hash 0, `first_id` more than its row, else UNKNOWN.

    heads: (n_words,), for use meanwhile.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(hashes.shape[0]):  # loads alone, so that they wait side by side
        heads[i] = slots[hashes[i] & mask]
    for i in range(hashes.shape[0]):
        key = hashes[i]
        if key == EMPTY:
            ids[i] = BOUNDARY
            continue
        at = key & mask
        head = heads[i]
        while head != key and head != EMPTY:
            at = (at + ONE) & mask
            head = slots[at]
        ids[i] = rows[at] + first_id if head == key else UNKNOWN


@kernel
def ngram_keys(ids: U32, n: int, keys: U64) -> None:
    """Make the keys of (n - 1)-grams those of n-grams, by their last words; EMPTY where none is.

    ids: (n_words + 1,), of lines, each with BOUNDARY behind it, and one before all.
    keys: (n_words + 1,), of (n - 1)-grams; for n = 1 they are made anew, that of ids[0] EMPTY.
    """
    for i in range(ids.shape[0]):
        at = i - n + 1
        if n == 1:
            keys[i] = extended(EMPTY, ids[i]) if i > 0 else EMPTY
        elif at < 0 or keys[i] == EMPTY or (n > 2 and ids[at + 1] == BOUNDARY):
            keys[i] = EMPTY
        else:
            keys[i] = extended(keys[i], ids[at])


@kernel
def log_probs(
    ids: U32, order: int, words: F32, table: U64, numbers: F32, keys: U64, heads: U64, wanted: I64,
    lengths: U8, backoffs: F32, logs: F64,
) -> None:  # fmt: skip
    """The log10 probability of each word, given up to `order` - 1 before it in its line.

    ids: (n_words + 1,), as of `ngram_keys`.
    words: (n_ids, 2), log10 of probability and backoff.
    table: of longer n-grams, as `fill_values` has it, each value those two.
    numbers: (n_slots, 4), the same bytes as float32.
    keys, heads, wanted, lengths: (n_words + 1,); backoffs: (n_words + 1, order); for use meanwhile.
    logs: (n_words + 1,); that of ids[0] is 0.

    The longest n-gram that is there has the word's probability; for each longer one that could
    be, the backoff of the words before is added, 0 where these are not there.
    """
    mask = np.uint64(table.shape[0] - 1)
    size = ids.shape[0]
    for i in range(size):
        keys[i] = extended(EMPTY, ids[i])
        logs[i] = words[ids[i], 0]
        backoffs[i, 0] = words[ids[i], 1]
        for n in range(1, order):
            backoffs[i, n] = 0.0
        lengths[i] = 1
    for n in range(2, order + 1):
        found = 0
        for i in range(n - 1, size):
            wanted[found] = i
            found += int(lengths[i] == n - 1)
        for w in range(found):  # loads alone, so that they wait side by side
            i = wanted[w]
            key = extended(keys[i], ids[i - n + 1])
            keys[i] = key
            heads[w] = table[key & mask, 0]
        for w in range(found):
            i = wanted[w]
            key = keys[i]
            at = key & mask
            head = heads[w]
            while head != key and head != EMPTY:
                at = (at + ONE) & mask
                head = table[at, 0]
            if head == key:
                lengths[i] = n
                logs[i] = numbers[at, 2]
                backoffs[i, n - 1] = numbers[at, 3]
    for i in range(size - 1, 0, -1):
        for n in range(lengths[i], lengths[i - 1] + 1):
            logs[i] += backoffs[i - 1, n - 1]
    logs[0] = 0.0


@kernel
def add_logs(logs: F64, start: int, doc_ends: I64, sums: F64) -> None:
    """Add to each document's sum the words of it that are here, one after the other.

    logs: (n_words,), of words `start` on.  doc_ends: (n_docs,), where in all words each ends.
    """
    d = n_less(doc_ends, start + 1)
    for i in range(logs.shape[0]):
        while doc_ends[d] <= start + i:
            d += 1
        sums[d] += logs[i]
