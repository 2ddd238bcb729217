"""Where words begin as spaCy splits a language, English unless told, of documents at once.

    "Don't go (now)."  -->  pieces  Don't  go  (now).
                            words   Do n't go  ( now ) .

What spaCy makes of a piece depends on the piece alone, but for a few that hold a rule of its own:
those are asked for with the pieces around. All others are asked for once and remembered. spaCy's
tokenizer is built from its rules, without a model and without what words do not need.

Reference: spaCy 3.8's `spacy.blank("en")`, and "de", …, which datatrove splits words with.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8
from tokenmill.pipelines.filters.kernels import spacy_words as kernels
from tokenmill.pipelines.filters.kernels.characters import SPLIT
from tokenmill.pipelines.filters.text.characters import Characters, characters

LIBRARY = "spacy"
OF_THEIR_OWN = frozenset(("ja", "ko", "th", "vi", "zh"))  # split by other libraries

# characters at the end of a string that tell its suffix, runs of dots apart; the longest suffix
# known has 5, and what decides it stands at most 3 before
SUFFIX_CHARS = 16

# spaCy 3.8 keeps this word, whose number in its own list of symbols is 1, past the life of its
# memory, and then crashes or not: it is read as another word that is split alike
UNLUCKY, LUCKY = "IS_ALPHA", "IS_ALPHB"

NEWLINE, BLANK = 0x0A, 0x20


def check_installed(language: str) -> None:
    """Raise ValueError without the library, or its rules of a language; it names the way out."""
    spec = find_spec(LIBRARY)
    if spec is None or spec.origin is None:
        raise ValueError(f"needs the {LIBRARY} library; pip install 'tokenmill[spacy]'")
    # its folder is looked for, since to find a module inside would import the library
    if language in OF_THEIR_OWN or not (Path(spec.origin).parent / "lang" / language).is_dir():
        raise ValueError(f"{LIBRARY} has no rules of {language!r}; take words: scripts")


class Splits(NamedTuple):
    """Where words begin inside texts, but at their beginning and behind spaces.

    texts: (n,) int64, the place of the text, ascending.  at: (n,) int64, bytes from its start.
    """

    texts: I64
    at: I64


class Splitter:
    """Splits pieces of text into words, as one language does.

    rules: strings that are split in a way of their own; no whitespace in them.
    bridges: (256, 256) uint8, by the last byte before a single space and the first behind it, 1
        if words on both sides may together look like a rule. spaCy takes them for none in the
        end, but meanwhile overlooks rules that share a word with them.
    """

    def __init__(self, language: str) -> None:
        from spacy.attrs import LENGTH, SPACY  # optional, and slow to import

        self._attributes = [LENGTH, SPACY]
        self._tokenizer = _tokenizer(language)
        self.rules = tuple(r for r in self._tokenizer.rules if r and not any(map(str.isspace, r)))
        without = _tokenizer(language, rules=False)
        # rules that spaCy also looks for in the words of a text, not in its pieces alone
        t = self._tokenizer
        found = (t.find_prefix, t.find_infix, t.find_suffix)
        matched = [rule for rule in self.rules if any(find(rule) for find in found)]
        plainly = {rule: _words(without, rule) for rule in matched}
        self.bridges = np.zeros((256, 256), np.uint8)
        pairs = {pair for words in plainly.values() for pair in pairwise(words)}
        for before, behind in pairs:
            self.bridges[before.encode()[-1], behind.encode()[0]] = 1
        self._bridge = _any_of(f"{a} {b}" for a, b in sorted(pairs))
        changed = [r for r, words in plainly.items() if words != _words(self._tokenizer, r)]
        self._holds_rule = _any_of(changed)

    def is_touchy(self, piece: str) -> bool:
        """Whether words around a piece may change how it is split: it has a rule inside."""
        return piece not in self._tokenizer.rules and bool(self._holds_rule.search(piece))

    def may_join(self, run: str) -> bool:
        """Whether words on both sides of some space may together look like a rule."""
        return bool(self._bridge.search(run))

    def splits(self, texts: Sequence[str]) -> Splits:
        """Split texts of no other whitespace than single spaces inside.

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


def _any_of(strings: Iterable[str]) -> re.Pattern[str]:
    """Matches where one of some strings stands; nowhere if there are none."""
    return re.compile("|".join(map(re.escape, strings)) or r"(?!)")


def stops() -> list[str]:
    """Characters that end a sentence to spaCy's sentencizer, where one is a word of its own."""
    from spacy.pipeline import Sentencizer  # optional, and slow to import

    return list(Sentencizer.default_punct_chars)


def _words(tokenizer: Any, text: str) -> list[str]:
    return [token.text for token in tokenizer(text)]


def _tokenizer(language: str, *, rules: bool = True) -> Any:
    """The tokenizer of `spacy.blank(language)`, which is what its defaults say.

    Its vocabulary computes no properties of words. Its expressions look where they can match
    alone: prefixes at the first character, suffixes at the last ones.
    """
    from spacy import util  # optional, and slow to import
    from spacy.tokenizer import Tokenizer
    from spacy.vocab import Vocab

    defaults: Any = util.get_lang_class(language).Defaults
    suffix = util.compile_suffix_regex(defaults.suffixes)

    def suffix_search(text: str) -> re.Match[str] | None:
        n_dots = len(text) - len(text.rstrip("."))
        found: re.Match[str] | None = suffix.search(
            text, max(0, len(text) - max(n_dots, SUFFIX_CHARS))
        )
        return found

    return Tokenizer(
        Vocab(),
        rules=defaults.tokenizer_exceptions if rules else {},
        prefix_search=util.compile_prefix_regex(defaults.prefixes).match,
        suffix_search=suffix_search,
        infix_finditer=util.compile_infix_regex(defaults.infixes).finditer,
        token_match=defaults.token_match,
        url_match=defaults.url_match,
    )


SLOTS = 1 << 18  # 8 MB
MOST_PIECES = SLOTS // 2  # remembered; then all is forgotten but the rules
AT_ONCE = 1 << 14  # pieces asked for
RULE_SLOTS = 1 << 12  # at least; Dutch has 4,670 rules

# spaCy takes a piece apart from its ends, in a time that grows with the square of its length. A
# longer one is taken in parts of so many bytes, which may split a word of them.
LONGEST_BYTES = 10_000

MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
STEMS = {kernels.AFTER_LOWER: ("xqz", "Xqz", "XQz"), kernels.AFTER_UPPER: ("xqZ", "XqZ", "XQZ")}


class Memo:
    """Pieces met, and where words begin in them as spaCy says; not for two threads at a time."""

    def __init__(self, language: str = "en") -> None:
        self.splitter = Splitter(language)
        self.n_pieces = 0
        self._table = np.zeros((SLOTS, kernels.N_COLUMNS), np.uint64)
        self._splits = np.empty(0, np.uint32)
        self._fresh = np.empty((AT_ONCE, 3), np.int64)
        self._missed = np.empty((4 * AT_ONCE, 4), np.int64)
        self._touching = np.empty((2 * len(self._missed), 3), np.int64)
        self._plain = np.zeros(256, np.uint8)  # no mark, until the rules are in
        slots = max(RULE_SLOTS, 1 << (4 * len(self.splitter.rules)).bit_length())
        self._rule_keys = np.zeros((slots, 1), np.uint64)
        rules = characters(pa.array(self.splitter.rules, pa.large_string()))
        self._longest_rule = int(np.diff(rules.offsets).max())
        kernels.write_keys(rules.data, rules.offsets, self._rule_keys)
        self.mark(rules)
        self._rules = self._table.copy(), self._splits, self.n_pieces
        self._plain = self._plain_bytes()

    def mark(self, text: Characters) -> U8:
        """The classes of a text's bytes, SPLIT where a word begins inside a piece."""
        data, classes, offsets = text
        classes = classes & np.uint8(~SPLIT & 0xFF)
        place = np.zeros(kernels.N_PLACES, np.int64)
        while place[kernels.DOC] < len(offsets) - 1:
            kernels.mark_words(
                data, classes, offsets, self._table, self._splits, self._plain,
                self._rule_keys, self._longest_rule, self.splitter.bridges, LONGEST_BYTES,
                MOST_PIECES - self.n_pieces, self._fresh, self._missed,
                self._touching[: len(self._missed)], place,
            )  # fmt: skip
            self._learn(data, self._fresh[: place[kernels.N_FRESH]])
            missed = self._missed[: place[kernels.N_MISSED]]
            kernels.mark_missed(
                data, classes, offsets, self._table, self._splits, self.splitter.bridges, missed,
                self._touching, place,
            )  # fmt: skip
            self._mark_runs(data, classes, offsets, self._touching[: place[kernels.N_TOUCHING]])
            if self.n_pieces >= MOST_PIECES:  # forget all but the rules
                table, self._splits, self.n_pieces = self._rules
                np.copyto(self._table, table)
        return classes

    def _learn(self, data: U8, fresh: I64) -> None:
        if not len(fresh):
            return
        pieces = _texts(data, fresh)
        found = self.splitter.splits(pieces)
        first = len(self._splits) + np.searchsorted(found.texts, np.arange(len(fresh) + 1))
        self._splits = np.concatenate((self._splits, found.at.astype(np.uint32)))
        slots = fresh[:, 2]
        self._table[slots, kernels.FIRST] = first[:-1]
        self._table[slots, kernels.END] = first[1:]
        self._table[slots, kernels.STATE] = [
            kernels.TOUCHY if self.splitter.is_touchy(piece) else kernels.KNOWN for piece in pieces
        ]
        self.n_pieces += len(fresh)

    def _mark_runs(self, data: U8, classes: U8, offsets: I64, touching: I64) -> None:
        """Split anew pieces that depend on those around, together with them."""
        if not len(touching):
            return
        ordered = touching[np.argsort(touching[:, 1], kind="stable")]
        runs = np.empty((len(ordered), 2), np.int64)
        n_runs = kernels.find_runs(
            data, classes, offsets, self.splitter.bridges, LONGEST_BYTES, ordered, runs
        )
        join = [self.splitter.may_join(run) for run in _texts(data, runs[:n_runs])]
        runs = runs[:n_runs][join]
        for start, stop in runs.tolist():
            classes[start + 1 : stop] &= np.uint8(~SPLIT & 0xFF)
        found = self.splitter.splits(_texts(data, runs))
        classes[runs[found.texts, 0] + found.at] |= np.uint8(SPLIT)

    def _plain_bytes(self) -> U8:
        """(256,) uint8 of the kernel: marks that spaCy splits off behind letters."""
        plain = np.zeros(256, np.uint8)
        for bit, stems in STEMS.items():
            found = self.splitter.splits([stem + mark for mark in MARKS for stem in stems])
            splits = list(zip(found.texts.tolist(), found.at.tolist(), strict=True))
            for k, mark in enumerate(MARKS):
                texts = range(k * len(stems), (k + 1) * len(stems))
                if [s for s in splits if s[0] in texts] == [
                    (t, len(stem)) for t, stem in zip(texts, stems, strict=True)
                ]:
                    plain[ord(mark)] |= bit
        return plain


def _texts(data: U8, spans: I64) -> list[str]:
    """Spans, of which the first two columns are start and stop, as text."""
    bounds = zip(spans[:, 0].tolist(), spans[:, 1].tolist(), strict=True)
    return [data[start:stop].tobytes().decode() for start, stop in bounds]


# by language: one for each thread that ever needed one at the same time
_IDLE: defaultdict[str, deque[Memo]] = defaultdict(deque)


def spacy_classes(text: Characters, language: str) -> U8:
    """The classes of a text's bytes, SPLIT where a word begins inside a piece."""
    try:
        memo = _IDLE[language].pop()
    except IndexError:
        memo = Memo(language)
    classes = memo.mark(text)
    _IDLE[language].append(memo)
    return classes
