"""N-gram overlap, slowly: words as strings, n-grams as tuples in a dict."""

from collections import defaultdict
from itertools import repeat
from string import punctuation
from typing import NamedTuple

from tests.reference.shingle import kind_of
from tokenmill.dedup.text.unicode import ALPHA, PUNCT, SPACE, flags_of, lower_of

MIN_WORDS = 8


class Word(NamedTuple):
    """A gram word, and where its first and last kept characters stand in bytes."""

    text: str
    start: int
    end: int


def gram_words(text, apart=False):
    """The words, and of scripts that set no spaces one character or cluster each.

    apart: punctuation, but for apostrophes, stands between words; else it is left out.
    """
    words, kept, place, script = [], [], 0, ""
    sets_apart = set(punctuation) - {"'"} if apart else ""
    for char in text + " ":
        char = " " if char in sets_apart else char
        kind, after = kind_of(char), place + len(char.encode())
        if script and (kind in "MLUB" or (kind == script == "T")):
            if kind in "MLT":
                words[-1] = Word(words[-1].text + char, words[-1].start, after)
            script = "A" if kind == "B" else script  # a syllable is over, but for its marks
            place = after
            continue
        script = ""
        if kind in "ALT":
            if kept:
                words.append(Word("".join(c for c, _, _ in kept), kept[0][1], kept[-1][2]))
            words.append(Word(char, place, after))
            kept, place, script = [], after, "T" if kind == "T" else "A"
            continue
        flags = flags_of(ord(char))
        is_space = flags & SPACE or "\u1360" <= char <= "\u1368"  # Ethiopic wordspace and its like
        if is_space or (apart and flags & PUNCT and char not in "'\u2019"):
            if kept:
                words.append(Word("".join(c for c, _, _ in kept), kept[0][1], kept[-1][2]))
            kept = []
        elif not flags & PUNCT and char not in punctuation:
            kept.append((chr(lower_of(ord(char))), place, after))
        place = after
    return words


def item_index(texts, item_ids, ngram, least=MIN_WORDS):
    """N-gram -> items that have it.

    ngram, least: of all texts, or a list of each.
    """
    index = defaultdict(set)
    for text, item, n, whole in zip(texts, item_ids, _each(ngram), _each(least), strict=False):
        words = tuple(w.text for w in gram_words(text))
        if len(words) < min(n, max(whole, 1)):
            continue
        length = min(n, len(words))
        for i in range(len(words) - length + 1):
            index[words[i : i + length]].add(item)
    return index


def _each(value):
    return value if isinstance(value, list) else repeat(value)


def is_letterless(gram):
    return not any(flags_of(ord(char)) & ALPHA for word in gram for char in word)


def passages(texts, counts):
    """N-grams (word tuples) merged where they first stand in a text: (words, n-grams, documents).

    counts: documents of each n-gram; of n-grams with the same words in common, the most.
    """
    left, made = set(counts), []
    for text in texts:
        words = [w.text for w in gram_words(text)]
        ends = {
            (first, first + len(gram)): gram
            for gram in list(left)
            for first in range(len(words) - len(gram) + 1)
            if tuple(words[first : first + len(gram)]) == gram
        }
        stretch = []
        for (first, end), gram in sorted(ends.items()):
            if gram not in left:
                continue
            left.remove(gram)
            if stretch and first < stretch[-1][1]:
                a, b, n, docs = stretch[-1]
                stretch[-1] = (a, max(b, end), n + 1, max(docs, counts[gram]))
            else:
                stretch.append((first, end, 1, counts[gram]))
        made += [(tuple(words[a:b]), n, docs) for a, b, n, docs in stretch]
    return made


def hits(docs, index):
    """(doc, n-gram, first word, last word, first byte, byte after the last), by last word."""
    found = []
    for d, doc in enumerate(docs):
        words = gram_words(doc)
        for last in range(len(words)):
            for length in {len(gram) for gram in index if len(gram) <= last + 1}:
                window = words[last - length + 1 : last + 1]
                gram = tuple(w.text for w in window)
                if gram in index:
                    place = last - length + 1, last, window[0].start, window[-1].end
                    found.append((d, gram, *place))
    return found


def overlaps(docs, texts, item_ids, ngram, least=MIN_WORDS, ignored=()):
    """(doc, item, first byte, byte after the last, n-grams) of each span.

    ignored: n-grams that count for nothing.
    """
    index = item_index(texts, item_ids, ngram, least)
    index = {gram: items for gram, items in index.items() if gram not in ignored}
    spans = []
    for d, doc in enumerate(docs):
        words = gram_words(doc)
        windows = defaultdict(list)
        for length in {len(gram) for gram in index}:
            for i in range(len(words) - length + 1):
                for item in index.get(tuple(w.text for w in words[i : i + length]), ()):
                    windows[item].append((words[i].start, words[i + length - 1].end))
        for item in sorted(windows):
            spans += [(d, item, *span) for span in _joined(sorted(windows[item]))]
    return spans


def _joined(windows):
    joined = []
    for start, end in windows:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end), joined[-1][2] + 1)
        else:
            joined.append((start, end, 1))
    return joined
