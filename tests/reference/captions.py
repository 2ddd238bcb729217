"""The rules for captions the slow, obvious way."""

import re
import string
import unicodedata

from tests.reference.filters import above, below, first_broken
from tests.reference.interleaved import char_repetition, word_repetition, words_of
from tokenmill.pipelines.filters.images.captions import BARE, FILE_NAMES, URLS

LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def bare(line):
    """Letters alone, in lower case, a space for what stands between."""
    small = "".join(c.lower()[0] for c in line)
    return " ".join("".join(c if unicodedata.category(c)[0] == "L" else " " for c in small).split())


def kind(line):
    line = line.strip()
    small = line.translate(LOWER)
    if not line:
        return "empty"
    if re.search(URLS, small):
        return "url"
    if re.search(FILE_NAMES, small):
        return "file_name"
    return "boilerplate" if bare(line) in BARE else None


def kind_of(text):
    kinds = [kind(line) for line in text.split("\n")]
    if None in kinds:
        return None
    return next((k for k in kinds if k != "empty"), "empty")


def captions(document, f):
    """(reason or None, value or None) of one document."""
    text = document["text"]
    if not document["images"] or "\ufffc" in text:
        return None, None
    found, words = kind_of(text), words_of(text)
    chars, again = char_repetition(text, f.char_ngram), word_repetition(words, f.word_ngram)
    n_words = len(text.split())
    return first_broken(
        [
            ("empty", f.empty and found == "empty", None),
            ("url", f.urls and found == "url", None),
            ("file_name", f.file_names and found == "file_name", None),
            ("boilerplate", f.boilerplate and found == "boilerplate", None),
            ("too_few_words", below(n_words, f.min_words), n_words),
            ("too_many_words", above(n_words, f.max_words), n_words),
            ("too_few_chars", below(len(text), f.min_chars), len(text)),
            ("too_many_chars", above(len(text), f.max_chars), len(text)),
            ("repeated_characters", above(chars, f.max_char_repetition_ratio), chars),
            ("repeated_words", above(again, f.max_word_repetition_ratio), again),
        ]
    )
