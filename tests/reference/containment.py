"""Containment of items in documents, slowly: every stretch of every document, words as strings."""

from collections import defaultdict
from itertools import pairwise

from tests.reference.overlap import gram_words
from tokenmill.dedup.text.unicode import ALPHA, flags_of


def contained(
    docs, texts, items, starts, *, threshold, short_threshold, most_items=10, most_texts=64
):
    """(doc, item, text, first byte, byte after the last, containment), in this order.

    starts: first item of each benchmark, and how many items there are.
    most_items: of a benchmark with a window that is a seed, or 1 % of its items.
    most_texts: with a window that is a seed.
    """
    grams, seeds = indexed(texts, items, starts, most_items, most_texts)
    found = []
    for d, doc in enumerate(docs):
        words = gram_words(doc)
        for t, own in grams.items():
            n_words = len(gram_words(texts[t]))
            in_words = [w.text for w in words]
            bests = [best_stretch(in_words, own, s, n_words * 5 // 4) for s in seeds[t] if s]
            best = max(filter(None, bests), key=lambda b: (b[0], -b[2], b[1]), default=None)
            middle = min(max(threshold, 0.6), short_threshold)
            least = threshold if len(own) >= 16 else middle if len(own) >= 12 else short_threshold
            if best and best[0] / len(own) >= least:
                n, first, last = best
                place = words[first].start, words[last].end
                found.append((d, items[t], t, *place, n / len(own)))
    return sorted(found)


def indexed(texts, items, starts, most_items=10, most_texts=64):
    """The grams that count and the seeds of each text that is not left out."""
    windows = [seed_windows([w.text for w in gram_words(text)]) for text in texts]
    gapped = [gapped_windows([w.text for w in gram_words(text)]) for text in texts]
    items_of, n_texts = defaultdict(set), defaultdict(int)
    for item, of_text, others in zip(items, windows, gapped, strict=True):
        for window in {*of_text, *(window for _, window in others)}:
            items_of[window].add(item)
            n_texts[window] += 1
    grams, seeds = {}, {}
    for t, of_text in enumerate(windows):

        def held(window, letters):
            return (
                any(flags_of(ord(c)) & ALPHA for word in letters for c in word)
                and not is_shared(items_of[window], starts, most_items)
                and n_texts[window] <= most_texts
            )

        is_seed = [held(window, window) for window in of_text]
        spaced = {window for whole, window in gapped[t] if held(window, whole)}
        words = [w.text for w in gram_words(texts[t])]
        counted = grams_of(words, is_seed)
        if (any(is_seed) or spaced) and len(counted) >= 7:
            grams[t] = counted
            plain = {w for w, is_one in zip(of_text, is_seed, strict=True) if is_one}
            seeds[t] = plain, spaced
    return grams, seeds


def seed_windows(words):
    n = len(words)
    if n < 8:
        return []
    length = 4 if n < 16 else 5 if n < 32 else 6 if n < 64 else 7
    return [tuple(words[i : i + length]) for i in range(n - length + 1)]


def gapped_windows(words):
    """Seven words in a row, and the same without the fifth."""
    if len(words) < 16:
        return []
    rows = [tuple(words[i : i + 7]) for i in range(len(words) - 6)]
    return [(row, (*row[:4], None, *row[5:])) for row in rows]


def is_shared(items, starts, most_items):
    for start, end in pairwise(starts):
        n = sum(start <= item < end for item in items)
        if n > most_items and n > 0.01 * (end - start):
            return True
    return False


def grams_of(words, is_seed):
    """Those outside windows that are no seeds, if they are 12; else all."""
    length = len(words) - len(is_seed) + 1
    outside = set()
    for i in range(len(words) - 1):
        covering = range(max(i + 2 - length, 0), min(i, len(is_seed) - 1) + 1)
        if all(is_seed[k] for k in covering):
            outside.add((words[i], words[i + 1]))
    return outside if len(outside) >= 12 else set(pairwise(words))


def best_stretch(words, grams, seeds, reach):
    """(grams, first word, last word) of the stretch near seeds that has most of the grams.

    Of several the one that ends first, and of these the shortest.
    """
    length = len(next(iter(seeds)))
    near = [False] * len(words)
    for i in range(len(words) - length + 1):
        window = tuple(words[i : i + length])
        if {window, (*window[:4], None, *window[5:])} & seeds:
            for k in range(max(i + length - reach, 0), min(i + reach, len(words))):
                near[k] = True
    stretches = [(0, 0, 0)]
    for last in range(len(words)):
        met = set()
        for first in range(last, max(last - reach, -1), -1):
            if not near[first]:
                break
            if first < last:
                met |= {(words[first], words[first + 1])} & grams
                stretches.append((len(met), -last, first))
    n, last, first = max(stretches)
    return (n, first, -last) if n else None
