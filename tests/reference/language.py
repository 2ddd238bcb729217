"""py3langid's rule, a text at a time, by dictionaries, and documents by the language of paragraphs.

Told is a pair (code, probability), (None, 0.0) for a text that has no language.
"""

import math
import unicodedata
from collections import Counter

KEEP, OTHER, UNCERTAIN, NO_TEXT = None, "other_language", "uncertain_language", "no_text_left"


def tell(text, model):
    """model: the arrays as the library's `load_model` gives them, labels as codes."""
    weights, prior, labels, moves, rows, features = model
    if text.isupper():
        text = text.lower()
    data = unicodedata.normalize("NFC", text).encode()
    state, met = 0, Counter()
    for byte in data:
        state = moves[256 * rows[state] + byte]
        if features[state] >= 0:
            met[features[state]] += 1
    if not met:
        return None, 0.0
    logs = {f: math.log1p(n) for f, n in met.items()}
    scores = [
        (math.fsum(logs[f] * float(weights[f][c]) for f in met) + float(prior[c]))
        / math.sqrt(len(data))
        for c in range(len(labels))
    ]
    shares = [math.exp(s - max(scores)) for s in scores]
    whole = Counter()
    for label, share in zip(labels, shares, strict=True):
        whole[label] += share / math.fsum(shares)
    return max(whole.items(), key=lambda one: one[1])


def verdict(told, *, keep, least):
    code, probability = told
    if code is None or probability < least:
        return UNCERTAIN
    return KEEP if code in keep else OTHER


def by_parts(text, tell, separator, *, min_chars, **rule):
    """What is left of a document, None with a reason; and how many of its parts left."""
    whole = verdict(tell(text), **rule)
    kept, parts = [], text.split(separator)
    for part in parts:
        own = verdict(tell(part), **rule) if len(part) >= min_chars else UNCERTAIN
        if (whole if own == UNCERTAIN else own) == KEEP:
            kept.append(part)
    left, n_gone = separator.join(kept), len(parts) - len(kept)
    if left.strip():
        return left, None, n_gone
    return None, whole or NO_TEXT, n_gone
