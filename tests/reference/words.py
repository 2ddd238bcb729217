"""Words and sentences the slow, obvious way."""

import re
from functools import cache, lru_cache

from tests.reference.shingle import script_words


def words(text, kind):
    if kind == "whitespace":
        return text.split()
    if kind == "scripts":
        return script_words(text.replace("İ", "İ "))  # of whose lower case the second ends a word
    if kind == "unicode":
        return re.findall(r"\w+", text)
    return spacy_words(text)


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
