"""Items in other words, slowly: every window of every document, stems as strings."""

import json
import math
from collections import defaultdict
from functools import cache

import pyarrow as pa

from tests.reference.overlap import gram_words
from tokenmill.dedup.overlap.paraphrase import COMMON, NUMBERS, canonical, stems_of

RANGES = ((0xE00, 0x10A0), (0x1780, 0x1800), (0x2E80, 0xAC00), (0xD7A4, 0x110000))


def stems(text):
    """The stems of a text's gram words."""
    made, before = [], ""
    for word in (w.text for w in gram_words(text)):
        if word[0].isascii() and word[0].isdigit():
            stem = word
        else:
            stem = without_ending(word) if word.isascii() else word
            stem = stem[: 2 if 0xAC00 <= ord(word[0]) < 0xD7A4 else 6]
        alone = any(first <= ord(word[0]) < end for first, end in RANGES)
        made.append((before, stem) if alone and before else stem)
        before = stem if alone else ""
    return [numbers().get(stem, stem) for stem in made]


@cache
def numbers():
    return {without_ending(word)[:6]: number for word, number in NUMBERS.items()}


def without_ending(word):
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending, most in (("ing", 5), ("ed", 4), ("e", 3)):
        if len(word) > most and word.endswith(ending):
            return word.removesuffix(ending)
    return word


@cache
def common():
    rows = json.loads(COMMON.read_text())
    of_words = [(float(p), stems(word)[0]) for p, words in rows.items() for word in words.split()]
    return {stem: p for p, stem in sorted(of_words, key=lambda pair: pair[0])}


def weights(texts, items, starts):
    """Of each text {stem: thousandths}.  starts: first items, and how many there are."""
    of_items, often = defaultdict(set), common()
    for text, item in zip(texts, items, strict=True):
        for stem in stems(text) if len(stems(text)) >= 6 else ():
            of_items[stem].add(item)

    def weight(stem, first, end):
        others = len([i for i in of_items[stem] if first <= i < end]) - 1
        shares = len(of_items[stem]) / (starts[-1] + 200), others / (end - first)
        return round(-1000 * math.log(max(*shares, often.get(stem, 0.001))))

    made: list[dict] = []
    for text, item in zip(texts, items, strict=True):
        if len(stems(text)) < 6:
            made.append({})
            continue
        first = max(s for s in starts[:-1] if s <= item)
        end = min(s for s in starts if s > item)
        made.append({stem: weight(stem, first, end) for stem in set(stems(text))})
    return made


def paraphrased(docs, texts, items, starts, *, score):
    """{(doc, text): (share, score, numbers, agreeing)} of the best windows.

    Of terms that weigh as much those with lower hashes are anchors. Of windows that do, the best
    is that which ends first.
    """
    found = {}
    for t, of_text in enumerate(weights(texts, items, starts)):
        if sum(w >= 2000 for w in of_text.values()) < 6:
            continue
        terms = {stem: w for stem, w in of_text.items() if w > 0}
        column = pa.array([texts[t]], pa.large_string())
        hashes = dict(zip(stems(texts[t]), canonical(stems_of(column)[0]).tolist(), strict=True))
        order = sorted(terms.items(), key=lambda pair: (-pair[1], hashes[pair[0]]))
        anchors = {stem for stem, w in order[:8] if w >= 2000}
        n_words = len(gram_words(texts[t]))
        reach = n_words + n_words // 2 + 4
        for d, doc in enumerate(docs):
            best = best_window(stems(doc), terms, anchors, reach)
            if best is None:
                continue
            has, weight = best
            numbers = [s for s in terms if is_number(s)]
            n_agree = len([s for s in numbers if s in has])
            of_words = sum(w for s, w in terms.items() if not is_number(s))
            in_words = sum(terms[s] for s in has if not is_number(s))
            agreement = n_agree / len(numbers) if numbers else 0.5
            scored = (in_words / of_words + 0.3 * (agreement - 0.5)) * math.sqrt(weight / 1000)
            if scored >= score:
                share = weight / sum(terms.values())
                found[d, t] = share, scored, len(numbers), n_agree
    return found


def is_number(stem):
    return isinstance(stem, str) and stem[0].isascii() and stem[0].isdigit()


def best_window(words, terms, anchors, reach):
    """The terms of the best window near three anchors, and their weight."""
    near = set()
    for i in range(len(words)):
        if words[i] in anchors:
            window = words[max(i + 1 - reach, 0) : i + 1]
            if len(anchors & set(window)) >= 3:
                near.update(range(max(i + 1 - reach, 0), min(i + reach, len(words))))
    best = None
    for end in sorted(near):
        start = end
        while start - 1 in near and end - start + 2 <= reach:
            start -= 1
        has = {word for word in words[start : end + 1] if word in terms}
        weight = sum(terms[word] for word in has)
        if weight and (best is None or weight > best[1]):
            best = has, weight
    return best
