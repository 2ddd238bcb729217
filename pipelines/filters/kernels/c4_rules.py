"""What the kernel of C4's rules is told; Numba compiles anew where a field changes."""

from typing import NamedTuple

from tokenmill.dedup.kernels._jit import I64, U8


class LineRules(NamedTuple):
    """Which rules hold for lines; a limit that is off is one that no line meets."""

    remove_citations: bool
    terminal_mark: bool
    lorem_ipsum: bool
    javascript: bool
    curly_bracket: bool
    policy: bool
    min_words: int
    max_word_chars: int


class CitationWords(NamedTuple):
    """The two citations of Wikipedia that are not numbers: UTF-8, brackets included."""

    edit: U8
    needed: U8


class Phrases(NamedTuple):
    """Lower-case phrases of ASCII letters and spaces.

    text: one behind the other.  ends: (n_phrases,) int64, where in `text` each ends.
    heads, seconds: (256,) uint8, bit k for first and second bytes of phrase k, in either case.
    """

    text: U8
    ends: I64
    heads: U8
    seconds: U8
