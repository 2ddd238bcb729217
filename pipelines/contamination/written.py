"""How an item is written otherwise in a document, beyond what folding saw through.

Gram words are blind to case, punctuation and white space (`dedup.gram_words`): two stretches of
text that match may differ in any of these. One is told if they would still differ with the
other two made alike.
"""

import re
from collections.abc import Callable
from string import punctuation

import pyarrow as pa

from tokenmill.dedup.fold import Folding, fold
from tokenmill.dedup.unicode import PUNCT, flags_of, lower_of

Change = Callable[[str], str]


def differences(item: str, document: str, folding: Folding) -> tuple[str, ...]:
    """Names of "case", "punctuation" and "white space" in which two stretches differ.

    None if they are not the same words: then the difference is another.

    >>> differences("Is it well-known?", "IS IT  wellknown", Folding())
    ('case', 'punctuation', 'white space')
    """
    folded = fold(pa.array([item, document], pa.large_string()), folding).text.to_pylist()
    changes: dict[str, Change] = {
        "case": _lowered,
        "punctuation": _without_punctuation,
        "white space": _single_spaced,
    }
    if not _alike(folded, [*changes.values()]):
        return ()
    return tuple(
        name
        for name in changes
        if not _alike(folded, [change for other, change in changes.items() if other != name])
    )


def bare(text: str) -> str:
    """Text in lower case and without punctuation, as gram words are compared."""
    return _lowered(_without_punctuation(text))


def _alike(texts: list[str], changes: list[Change]) -> bool:
    """Whether two texts are the same once all of the changes have been made."""
    for change in changes:
        texts = [change(text) for text in texts]
    return texts[0] == texts[1]


def _lowered(text: str) -> str:
    return "".join(chr(lower_of(ord(c))) for c in text)


def _without_punctuation(text: str) -> str:
    """Without punctuation; a word of nothing else goes with the white space behind it."""
    words = re.split(r"(\s+)", text)
    kept = []
    for word, space in zip(words[::2], [*words[1::2], ""], strict=True):
        left = "".join(c for c in word if not _is_punctuation(c))
        kept += [left, space] if left or not word else []
    return "".join(kept)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _is_punctuation(char: str) -> bool:
    return char in punctuation or bool(flags_of(ord(char)) & PUNCT)
