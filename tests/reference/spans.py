"""What stands twice in a corpus, slowly: every n-gram of every document in one dictionary."""

import re
from itertools import groupby


def is_word(char, words):
    return bool(re.match(r"\w", char)) if words == "unicode" else not char.isspace()


def word_places(text, words="unicode"):
    """[(word, first byte, byte behind the last)], lower-cased as `str.lower()` does."""
    places, start, at = [], None, 0
    for char in text:
        size = len(char.encode())
        for lower in char.lower():  # of İ there are two, of which the second ends a word
            if is_word(lower, words):
                start = at if start is None else start
            elif start is not None:
                end = at + size if lower != char.lower()[0] else at
                places.append((start, end))
                start = None
        at += size
    if start is not None:
        places.append((start, at))
    lowered = text.lower()
    found = re.findall(r"\w+", lowered) if words == "unicode" else lowered.split()
    return [(word, *place) for word, place in zip(found, places, strict=True)]


def units(text, words, action):
    """[(number of words before, words)] of the lines of a text, or of all of it."""
    made, n = [], 0
    for line in text.split("\n") if action in ("paragraph", "both") else [text]:
        made.append((n, [word for word, _, _ in word_places(line, words)]))
        n += len(made[-1][1])
    return made


def ngrams(texts, *, ngram, words="unicode", action="cut"):
    """{n-gram: [(document, word, unit)]} in order."""
    stand = {}
    for doc, text in enumerate(texts):
        for unit, (before, found) in enumerate(units(text, words, action)):
            for i in range(len(found) - ngram + 1):
                stand.setdefault(tuple(found[i : i + ngram]), []).append((doc, before + i, unit))
    return stand


def going(texts, *, ngram, words="unicode", keep="first", action="cut"):
    """{(document, word): (document, word)} of n-grams that go, and where each stands first."""
    out = {}
    for places in ngrams(texts, ngram=ngram, words=words, action=action).values():
        for doc, word, _ in places[keep == "first" :] if len(places) > 1 else []:
            out[doc, word] = places[0][:2]
    return out


def covered(texts, *, ngram, words="unicode"):
    """{(document, word)} in any substring of `ngram` words or more that stands twice.

    As a suffix array finds them: by substrings of every length.
    """
    found = [[word for word, _, _ in word_places(text, words)] for text in texts]
    stand = {}
    for doc, of_doc in enumerate(found):
        for start in range(len(of_doc)):
            for end in range(start + ngram, len(of_doc) + 1):
                stand.setdefault(tuple(of_doc[start:end]), []).append((doc, start, end))
    return {
        (doc, word)
        for places in stand.values()
        if len(places) > 1
        for doc, start, end in places
        for word in range(start, end)
    }


def cut(text, goes, *, ngram, words="unicode"):
    """The text without the n-grams that begin at the words `goes`, and [(start, end)] in bytes."""
    places = word_places(text, words)
    lost = {word for i in goes for word in range(i, i + ngram)}
    ranges = []
    for is_lost, run in groupby(range(len(places)), key=lost.__contains__):
        if is_lost:
            run = list(run)
            ranges.append(cut_place(text.encode(), places, run[0], run[-1]))
    return without(text, ranges), ranges


def cut_place(data, places, first, last):
    begin, end = places[first][1], places[last][2]
    is_last = last + 1 == len(places)
    prev = places[first - 1][2] if first else begin
    behind = len(data) if is_last else places[last + 1][1]
    head, tail = data[prev:begin].decode(), data[end:behind].decode()
    before = [*re.finditer(r"\s+", head)]
    after = re.search(r"\s+", tail)
    # space before: from `space` to `begin`; behind: from `stop` to `far`
    space = begin
    if before:
        begin = prev + len(head[: before[-1].end()].encode())
        space = prev + len(head[: before[-1].start()].encode())
    stop = end + len(tail[: after.start()].encode()) if after else behind
    far = end + len(tail[: after.end()].encode()) if after else behind
    if is_last:
        return (space if first else 0), len(data)
    if first == 0:
        return 0, far
    feeds = data[space:begin].count(b"\n")
    return (space, stop) if data[stop:far].count(b"\n") > feeds else (begin, far)


def without(text, ranges):
    data, at, left = text.encode(), 0, b""
    for start, end in ranges:
        left, at = left + data[at:start], end
    return (left + data[at:]).decode()


def shares(texts, *, ngram, words="unicode", action="both"):
    """[[(n-grams that stood before, n-grams)]] of each unit of each document."""
    before = {}
    for gram, places in ngrams(texts, ngram=ngram, words=words, action=action).items():
        before[gram] = (places[0][0], places[0][2])
    out = []
    for doc, text in enumerate(texts):
        out.append([])
        for unit, (_, found) in enumerate(units(text, words, action)):
            grams = [tuple(found[i : i + ngram]) for i in range(len(found) - ngram + 1)]
            out[-1].append((sum(before[g] < (doc, unit) for g in grams), len(grams)))
    return out


def left(texts, *, ngram, words="unicode", keep="first", action="cut", share=0.8, least_chars=1):
    """What is left of each text; None of one that is removed."""
    if action == "cut":
        goes = going(texts, ngram=ngram, words=words, keep=keep)
        made = [
            cut(text, [w for d, w in goes if d == doc], ngram=ngram, words=words)[0]
            for doc, text in enumerate(texts)
        ]
    else:
        made = []
        of_units = shares(texts, ngram=ngram, words=words, action=action)
        for text, told in zip(texts, of_units, strict=True):
            seen, windows = (sum(column) for column in zip(*told, strict=True))
            if action != "paragraph" and windows and seen / windows > share:
                made.append(None)
            elif action == "document":
                made.append(text)
            else:
                lines = zip(text.split("\n"), told, strict=True)
                made.append("\n".join(line for line, (s, w) in lines if not s > share * w))
    return [
        None if rest is None or (rest != text and len(rest.strip()) < least_chars) else rest
        for rest, text in zip(made, texts, strict=True)
    ]
