"""N-gram overlap, slowly: words as strings, n-grams as tuples in a dict."""

from collections import defaultdict
from string import punctuation
from typing import NamedTuple

from dedup.unicode import PUNCT, SPACE, flags_of, lower_of

MIN_WORDS = 8


class Word(NamedTuple):
    """A gram word, and where its first and last kept characters stand in bytes."""

    text: str
    start: int
    end: int


def gram_words(text):
    words, kept, place = [], [], 0
    for char in text + " ":
        flags = flags_of(ord(char))
        after = place + len(char.encode())
        if flags & SPACE:
            if kept:
                words.append(Word("".join(c for c, _, _ in kept), kept[0][1], kept[-1][2]))
            kept = []
        elif not flags & PUNCT and char not in punctuation:
            kept.append((chr(lower_of(ord(char))), place, after))
        place = after
    return words


def item_index(texts, item_ids, ngram):
    """N-gram -> items that have it, and the items that cannot be tested."""
    index, tested = defaultdict(set), set()
    for text, item in zip(texts, item_ids, strict=True):
        words = tuple(w.text for w in gram_words(text))
        if len(words) < min(ngram, MIN_WORDS):
            continue
        tested.add(item)
        length = min(ngram, len(words))
        for i in range(len(words) - length + 1):
            index[words[i : i + length]].add(item)
    return index, sorted(set(item_ids) - tested)


def overlaps(docs, texts, item_ids, ngram):
    """(doc, item, first byte, byte after the last, n-grams) of each span, and n-grams by doc."""
    index, _ = item_index(texts, item_ids, ngram)
    spans, doc_ngrams = [], []
    for d, doc in enumerate(docs):
        words = gram_words(doc)
        windows, count = defaultdict(list), 0
        for length in {len(gram) for gram in index}:
            for i in range(len(words) - length + 1):
                items = index.get(tuple(w.text for w in words[i : i + length]), ())
                count += bool(items)
                for item in items:
                    windows[item].append((words[i].start, words[i + length - 1].end))
        doc_ngrams.append(count)
        for item in sorted(windows):
            spans += [(d, item, *span) for span in _joined(sorted(windows[item]))]
    return spans, doc_ngrams


def _joined(windows):
    joined = []
    for start, end in windows:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end), joined[-1][2] + 1)
        else:
            joined.append((start, end, 1))
    return joined
