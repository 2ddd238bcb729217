"""Containment of items in documents, slowly: every stretch of every document, words as strings."""

from collections import defaultdict
from functools import partial
from itertools import pairwise

from tests.reference import overlap
from tokenmill.dedup.text.unicode import ALPHA, flags_of

gram_words = partial(overlap.gram_words, apart=True)


def contained(
    docs,
    texts,
    items,
    starts,
    *,
    threshold,
    short_threshold,
    most_items=10,
    most_texts=64,
    contexts=(),
):
    """(doc, item, text, first byte, byte after the last, containment), in this order.

    contexts: the texts that alone are no copy of their item.

    starts: first item of each benchmark, and how many items there are.
    most_items: of a benchmark with a window that is a seed, or 1 % of its items.
    most_texts: with a window that is a seed.
    """
    grams, seeds = indexed(texts, items, starts, most_items, most_texts)
    found = []
    for d, doc in enumerate(docs):
        words = gram_words(doc)
        in_words = [w.text for w in words]
        for t, own in grams.items():
            item = [w.text for w in gram_words(texts[t])]
            middle = min(max(threshold, 0.6), short_threshold)
            least = threshold if len(own) >= 16 else middle if len(own) >= 12 else short_threshold
            likes = []
            for kind in filter(None, seeds[t]):
                reach = len(item) * 5 // 4
                if best := best_stretch(in_words, own, kind, reach):
                    n, first, last = best
                    likes.append((n / len(own), n, -last, first))
                    if n / len(own) >= least * (1 / 3):
                        around = in_words[max(last + 1 - reach, 0) : first + reach]
                        share = in_place(item, around) / (2 * len(item)) - 0.1
                        share = max(n / len(own), share)
                        if least > share >= least * (2 / 3) and len(own) >= 12:
                            share = max(share, letters_in_place("".join(item), "".join(around)))
                        likes[-1] = (share, n, -last, first)
            share, _, last, first = max(likes, default=(0, 0, 0, 0))
            if share >= least:
                start, end = words[first].start, words[-last].end
                around = doc.encode()[max(2 * start - end, 0) : 2 * end - start]
                own = own_share(around, t, texts, items, contexts)
                if own >= 0.35:
                    found.append((d, items[t], t, start, end, share))
    return sorted(found)


def own_share(around, text, texts, items, contexts, size=4):
    """Of a text's windows of so many letters that its item's contexts lack, the share that stands
    together; 1 of a context, and of an item without one."""
    of_item = {t for t in contexts if items[t] == items[text]}
    if text in contexts or not of_item:
        return 1.0
    windows = letter_windows(texts[text].encode(), size)
    common = {w for t in of_item for w in letter_windows(texts[t].encode(), size)}
    places = [i for i, w in enumerate(windows) if w not in common]
    if not places:
        return 0.0
    width = (places[-1] - places[0] + size) * 5 // 4
    own, there = {windows[i] for i in places}, letter_windows(around, size)
    n = width - size + 1
    stretches = [there[i : i + n] for i in range(max(len(there) - n + 1, 1))]
    return max(len(own & set(stretch)) for stretch in stretches) / len(own)


def letter_windows(data, size):
    """What bytes of text, which may begin or end within a character, have of letters in a row."""
    codes = [ord(c) for w in gram_words(data.decode(errors="ignore")) for c in w.text]
    letters = [(c ^ c >> 8) & 255 for c in codes]
    return [tuple(letters[i : i + size]) for i in range(len(letters) - size + 1)]


def in_place(item, words):
    """The most, over all ways to lay them side by side, of 2 for words that are the same and
    -1 for each that is beside none; 0 if there are very many."""
    if len(words) > 512 * 5 // 2:
        return 0
    table = [[0] * (len(words) + 1) for _ in range(len(item) + 1)]
    for i, own in enumerate(item):
        for j, word in enumerate(words):
            beside = table[i][j] + 2 * (own == word)
            table[i + 1][j + 1] = max(beside, table[i][j + 1] - 1, table[i + 1][j] - 1)
    return max(map(max, table))


def letters_in_place(item, around):
    """The best local alignment of letters, of which 1 for each that is the same and -1 for each
    other, and for each beside none, by the letters of the item; 0 if there are very many."""
    own, others = ([(ord(c) ^ ord(c) >> 8) & 255 for c in text] for text in (item, around))
    if not own or len(own) > 1024 or len(others) > 4096:
        return 0.0
    table = [[0] * (len(others) + 1) for _ in range(len(own) + 1)]
    for i, a in enumerate(own):
        for j, b in enumerate(others):
            beside = table[i][j] + (1 if a == b else -1)
            table[i + 1][j + 1] = max(beside, table[i][j + 1] - 1, table[i + 1][j] - 1, 0)
    return max(map(max, table)) / len(own)


def indexed(texts, items, starts, most_items=10, most_texts=64):
    """The grams that count and the seeds of each text that is not left out."""
    windows = [seed_windows([w.text for w in gram_words(text)]) for text in texts]
    gapped = [gapped_windows([w.text for w in gram_words(text)]) for text in texts]
    lettered = [lettered_windows([w.text for w in gram_words(text)]) for text in texts]
    items_of, n_texts = defaultdict(set), defaultdict(int)
    for item, of_text, others, few in zip(items, windows, gapped, lettered, strict=True):
        for window in {*of_text, *few, *(window for _, window in others)}:
            items_of[window].add(item)
            n_texts[window] += 1
    grams, seeds = {}, {}
    for t, of_text in enumerate(windows):

        def held(window, words):
            return (
                any(map(letters_of, words))
                and not is_shared(items_of[window], starts, most_items)
                and n_texts[window] <= most_texts
            )

        is_seed = [held(window, window) for window in of_text]
        spaced = {window for whole, window in gapped[t] if held(window, whole)}
        few = {window for window in lettered[t] if held(window, window)}
        words = [w.text for w in gram_words(texts[t])]
        counted = grams_of(words, is_seed)
        if (any(is_seed) or spaced or few) and len(counted) >= 7:
            grams[t] = counted
            plain = {w for w, is_one in zip(of_text, is_seed, strict=True) if is_one}
            seeds[t] = plain, spaced, few
    return grams, seeds


def seed_windows(words):
    n = len(words)
    if n < 8:
        return []
    length = 4 if n < 32 else 6 if n < 64 else 7
    return [tuple(words[i : i + length]) for i in range(n - length + 1)]


def gapped_windows(words):
    """Seven words in a row, and the same without the fifth."""
    if len(words) < 16:
        return []
    rows = [tuple(words[i : i + 7]) for i in range(len(words) - 6)]
    return [(row, (*row[:4], None, *row[5:])) for row in rows]


def lettered_windows(words):
    """Three words in a row that have 18 letters."""
    if not 16 <= len(words) < 64:
        return []
    rows = [tuple(words[i : i + 3]) for i in range(len(words) - 2)]
    return [row for row in rows if sum(map(letters_of, row)) >= 18]


def letters_of(word):
    return sum(flags_of(ord(c)) & ALPHA != 0 for c in word)


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
