"""Texts that come near the rules of the filters: few words, few lines, many repeats."""

from hypothesis import strategies as st

SPACES = [" ", "\n", "\n\n", "\n\n\n", "\r\n", "\r", "\t", "\x1f", "\x85", "\u00a0", "\u2028"]
PIECES = [
    "the", "of", "and", "ab", "a", "b", "bc", "c", "cat", "naïve", "東京", "🙂", "don't", "x" * 12,
    "#", "##", "-", "•", "…", "...", "....", "etc…", "so...", "--", "a.", "b!", "c?", 'd."', "e.)",
    "[1]", "[edit]", "[citation needed]", "[12a]", "[]", "[٣]", "lorem", "Ipsum", "Lorem ipsum",
    "JavaScript", "{", "use", "Cookies", "use coo\u212aies", "privacy policy", "Terms of", "。",
    "।", "1", "42", "½", "\u0301", "\ufeff", "की", "ক্ষ", "\u200d", "\u200c", "İ", "กิ",
    "1\ufe0f\u20e3",
]  # fmt: skip

pieces = st.sampled_from(PIECES)
spaces = st.sampled_from(SPACES)
spaced = st.lists(st.tuples(pieces, st.just(" ") | spaces), max_size=40).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)
glued = st.lists(pieces | spaces, max_size=40).map("".join)
characters = st.characters(exclude_categories=("Cs",), max_codepoint=0xFFFF)
repeating = st.tuples(spaced, st.integers(1, 4)).map(lambda pair: pair[0] * pair[1])
texts = st.one_of(spaced, glued, repeating, st.text(characters, max_size=80))
