"""Words and sentences the slow, obvious way."""

import re
from functools import cache, lru_cache

from tests.reference.shingle import kind_of


def words(text, kind):
    if kind == "whitespace":
        return text.split()
    if kind == "scripts":
        return marked_words(text, "".join(map(with_joiners, text)))
    if kind == "unicode":
        is_word = ("W" if re.match(r"\w", char) else with_joiners(char) for char in text)
        return marked_words(text, "".join(k if k in "WMJ" else "-" for k in is_word))
    return spacy_words(text)


def with_joiners(char):
    return "J" if char in "\u200c\u200d" else kind_of(char)


def marked_words(text, kinds):
    """Words with the marks behind their letters, and all between these: a blank, a joiner."""
    found = re.finditer(r"T[TMLUJ]*(?:B[MLUBJ]*)?|[AL][MLUBJ]*|W[WM]*(?:J[WM]+)*", kinds)
    return [text[m.start() : m.start() + len(m[0].rstrip("UBJ"))] for m in found]


@lru_cache(4096)
def spacy_words(text):
    found = (token.text.strip() for token in nlp()(text))
    return [word for word in found if word]


def n_sentences(line):
    """spaCy's, of a line of C4; an empty one has one."""
    return max(1, len(list(nlp()(line).sents)))


@cache
def nlp():
    import spacy  # optional

    made = spacy.blank("en")
    made.add_pipe("sentencizer")
    return made
