"""Words of scripts that set no spaces: one character, or cluster, or Tibetan syllable each."""

from typing import Any

from tokenmill.dedup.kernels._jit import U8, inlined
from tokenmill.dedup.kernels.utf8 import BLANK as SPACE
from tokenmill.dedup.kernels.utf8 import Place, decode, place
from tokenmill.dedup.text.unicode_words import BLANK, LATE, MARK, SYLLABLE, UNSEEN, WordKinds


@inlined
def begins_word(kind: Any) -> bool:
    """Whether a character of this kind of `dedup.text.unicode_words` begins a word by itself."""
    return bool(kind != 0 and kind <= LATE)


@inlined
def is_part(kind: Any) -> bool:
    """Whether a character between the ends of such a word is one of its letters."""
    return bool(kind != 0 and kind < UNSEEN)


@inlined
def script_word(
    data: U8, i: Place, size: Any, end: Place, kind: Any, kinds: WordKinds
) -> tuple[Place, Place]:
    """Where the word that begins at byte `i` ends, and where to look for the next.

    size, kind: of its first character, of which `begins_word` holds. Between its ends may stand
    what is not part of it: white space and unseen characters before a mark.
    """
    at = i + size
    stop = at
    goes_on = kind == SYLLABLE
    while at < end:
        cp, size = decode(data, at, end, SPACE)
        kind = kinds.kinds[place(kinds.pages, cp)]
        if kind == BLANK:
            goes_on = False
        elif kind == MARK or kind == LATE or (goes_on and kind == SYLLABLE):
            stop = at + size
        elif kind != UNSEEN:
            break
        at += size
    return stop, at
