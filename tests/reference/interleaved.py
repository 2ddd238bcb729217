r"""OBELICS' rules for text the slow, obvious way: strings, lists and counters."""

import re
from collections import Counter

from tests.reference.filters import above, below, first_broken
from tokenmill.dedup.text.unicode import code_points
from tokenmill.pipelines.filters.text.node_facts import EMOJI, ENGLISH, MARKS

SPECIAL = {chr(c) for c in code_points(MARKS + " " + EMOJI)}
PLACE = "\ufffc"


def words_of(text):
    """Strip special characters, one by one; `str.strip` does just that with a set of them."""
    stripped = (word.lower().strip("".join(SPECIAL)) for word in text.split())
    return [word for word in stripped if word]


def char_repetition(text, n):
    counts = Counter(text[i : i + n] for i in range(len(text) - n + 1))
    most_first = sorted(counts.values(), reverse=True)
    repeating = sum(count > 1 for count in most_first)
    top = most_first[: min(int(len(counts) ** 0.5), repeating)]
    return sum(top) / counts.total() if counts else 0


def word_repetition(words, n):
    counts = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    return sum(c for c in counts.values() if c > 1) / counts.total() if counts else 0


def share(part, whole):
    return part / whole if whole else 0


def judge(text, limits, f):
    """(reason or None, value or None)."""
    words = words_of(text)
    tokens = re.findall(r"[\w']+|[,;:?!.]", text)
    points = share(sum(t in ",;:?!." for t in tokens), len(tokens))
    special = share(sum(c in SPECIAL for c in text), len(text))
    chars, again = char_repetition(text, f.char_ngram), word_repetition(words, f.word_ngram)
    little_punctuation = (
        below(points, limits.min_punctuation_ratio) and len(tokens) >= limits.punctuation_from
    )

    def of(known):
        return None if known is None else share(sum(w in known for w in words), len(words))

    stop = of(ENGLISH if f.stop_words == "english" else f.stop_words)
    flagged, common, spam = of(f.flagged_words), of(f.common_words), of(f.spam_words)
    is_spam = None not in (spam, limits.spam_words_ratio) and spam >= limits.spam_words_ratio
    return first_broken(
        [
            ("too_few_words", below(len(words), limits.min_words), len(words)),
            ("too_many_words", above(len(words), limits.max_words), len(words)),
            ("repeated_characters", above(chars, limits.max_char_repetition_ratio), chars),
            ("repeated_words", above(again, limits.max_word_repetition_ratio), again),
            ("special_characters", above(special, limits.max_special_characters_ratio), special),
            ("too_few_stop_words", below(stop, limits.min_stop_words_ratio), stop),
            ("flagged_words", above(flagged, limits.max_flagged_words_ratio), flagged),
            ("too_little_punctuation", little_punctuation, points),
            ("too_few_common_words", below(common, limits.min_common_words_ratio), common),
            ("spam_words", is_spam, spam),
        ]
    )


def interleaved_text(text, f, images=()):
    """(reason or None, value or None, text that is left, nodes that failed by reason)."""
    if images and PLACE not in text:
        return None, None, text, {}
    kept, measured, failed = [], [], Counter()
    for node in text.split("\n\n"):
        plain = node.replace(PLACE, " ")
        if PLACE in node and not plain.strip():
            kept.append(node)
            continue
        reason, _ = judge(plain, f.node, f)
        if reason is None:
            kept.append(node)
            measured.append(plain)
        else:
            failed[reason] += 1
            kept += [PLACE] * node.count(PLACE)
    reason, value = judge("\n\n".join(measured), f.document, f)
    return reason, value, "\n\n".join(kept), dict(failed)
