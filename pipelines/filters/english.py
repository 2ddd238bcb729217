"""spaCy's English tokenizer: rules alone, no model, and none of what is not needed for words.

Reference: spaCy 3.8's `spacy.blank("en")`, which datatrove splits words with.
"""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LIBRARY = "spacy"

# characters at the end of a string that tell its suffix, runs of dots apart; the longest suffix
# known has 5, and what decides it stands at most 3 before
SUFFIX_CHARS = 16

# spaCy 3.8 keeps this word, whose number in its own list of symbols is 1, past the life of its
# memory, and then crashes or not: it is read as another word that is split alike
UNLUCKY, LUCKY = "IS_ALPHA", "IS_ALPHB"

NEWLINE, BLANK = 0x0A, 0x20


def check_installed() -> None:
    """Refuse to go on without the library.

    Raises:
        ValueError: names what to install.
    """
    if find_spec(LIBRARY) is None:
        raise ValueError(f"needs the {LIBRARY} library; pip install 'tokenmill[spacy]'")


class Splits(NamedTuple):
    """Where words begin inside texts, but at their beginning and behind spaces.

    texts: (n,) int64, the place of the text, ascending.  at: (n,) int64, bytes from its start.
    """

    texts: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]


class English:
    """Splits pieces of text into words.

    rules: strings that are split in a way of their own; no whitespace in them.
    bridges: (256, 256) uint8, by the last byte before a single space and the first behind it, 1
        if words on both sides may together look like a rule. spaCy takes them for none in the
        end, but meanwhile overlooks rules that share a word with them.
    """

    def __init__(self) -> None:
        from spacy.attrs import LENGTH, SPACY  # optional, and slow to import

        self._attributes = [LENGTH, SPACY]
        self._tokenizer = _tokenizer()
        self.rules = tuple(r for r in self._tokenizer.rules if not r.isspace())
        plainly = {rule: _words(_tokenizer(rules=False), rule) for rule in self._matched()}
        self.bridges = np.zeros((256, 256), np.uint8)
        pairs = {pair for words in plainly.values() for pair in pairwise(words)}
        for before, behind in pairs:
            self.bridges[before.encode()[-1], behind.encode()[0]] = 1
        self._bridge = re.compile("|".join(re.escape(f"{a} {b}") for a, b in sorted(pairs)))
        changed = [r for r, words in plainly.items() if words != _words(self._tokenizer, r)]
        self._holds_rule = re.compile("|".join(map(re.escape, changed)))

    def _matched(self) -> list[str]:
        """Rules that spaCy also looks for in the words of a text, not in its pieces alone."""
        t = self._tokenizer
        return [r for r in self.rules if t.find_prefix(r) or t.find_infix(r) or t.find_suffix(r)]

    def is_touchy(self, piece: str) -> bool:
        """Whether words around a piece may change how it is split: it has a rule inside."""
        return piece not in self._tokenizer.rules and bool(self._holds_rule.search(piece))

    def may_join(self, run: str) -> bool:
        """Whether words on both sides of some space may together look like a rule."""
        return bool(self._bridge.search(run))

    def splits(self, texts: Sequence[str]) -> Splits:
        """Split texts of no other whitespace than single spaces inside.

        Raises:
            RuntimeError: spaCy's words do not make up the text.
        """
        text = "\n".join(texts).replace(UNLUCKY, LUCKY)
        with self._tokenizer.vocab.memory_zone():
            lengths, spaces = self._tokenizer(text).to_array(self._attributes).astype(np.int64).T
        begins = np.cumsum(lengths + spaces) - lengths - spaces
        if len(text) != int((lengths + spaces).sum()):
            raise RuntimeError(f"spaCy made {lengths.sum()} characters of words of {len(text)}")
        chars = np.frombuffer(text.encode("utf-32-le"), "<u4")
        before = chars[begins - 1]
        inside = (begins > 0) & (before != BLANK) & (before != NEWLINE) & (chars[begins] != NEWLINE)
        byte_of = np.cumsum(1 + (chars > 0x7F) + (chars > 0x7FF) + (chars > 0xFFFF))  # behind each
        at = byte_of[begins[inside] - 1]
        starts = np.cumsum([0] + [len(t.encode()) + 1 for t in texts[:-1]])
        of_text = np.searchsorted(starts, at, side="right") - 1
        return Splits(of_text, at - starts[of_text])


def stops() -> list[str]:
    """Characters that end a sentence to spaCy's sentencizer, where one is a word of its own."""
    from spacy.pipeline import Sentencizer  # optional, and slow to import

    return list(Sentencizer.default_punct_chars)


def _words(tokenizer: Any, text: str) -> list[str]:
    return [token.text for token in tokenizer(text)]


def _tokenizer(*, rules: bool = True) -> Any:
    """The tokenizer of `spacy.blank("en")`, which is what its defaults say.

    Its vocabulary computes no properties of words. Its expressions look where they can match
    alone: prefixes at the first character, suffixes at the last ones.
    """
    from spacy.lang.en import English as Language  # optional, and slow to import
    from spacy.tokenizer import Tokenizer
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex
    from spacy.vocab import Vocab

    defaults: Any = Language.Defaults
    suffix = compile_suffix_regex(defaults.suffixes)

    def suffix_search(text: str) -> re.Match[str] | None:
        n_dots = len(text) - len(text.rstrip("."))
        found: re.Match[str] | None = suffix.search(
            text, max(0, len(text) - max(n_dots, SUFFIX_CHARS))
        )
        return found

    return Tokenizer(
        Vocab(),
        rules=defaults.tokenizer_exceptions if rules else {},
        prefix_search=compile_prefix_regex(defaults.prefixes).match,
        suffix_search=suffix_search,
        infix_finditer=compile_infix_regex(defaults.infixes).finditer,
        token_match=defaults.token_match,
        url_match=defaults.url_match,
    )
