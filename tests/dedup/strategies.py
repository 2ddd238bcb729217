"""Documents that are hard to lower-case and to split, and blocks that are small."""

from hypothesis import strategies as st

from tests.dedup.text.frozen import interpreter_flags
from tests.strategies import documents, words
from tokenmill.dedup.text import gram_words
from tokenmill.dedup.text import words as text_words
from tokenmill.dedup.text.unicode import flags_of, lower_of


def known_alike(char):
    """Whether the interpreter and the frozen tables agree on a character; always, in Unicode 14."""
    return interpreter_flags(char) == flags_of(ord(char)) and ord(char.lower()[0]) == lower_of(
        ord(char)
    )


# final sigma and what it looks past, both dotted i, lower case of more or fewer bytes,
# spaces of every kind, digits and marks that are and are not \w
TRICKY = (
    "AaΣ\u03c3ςİ\u0131ẞßK\u023a\u212a\u0345\u0307\u00ad'.:^`·_09²½٣東🙂\U00010400"
    " \t\n\x1c\x1f\x00\x85\u00a0\u2003\u3000"
)
# what stands between, behind and in words of scripts without spaces, or with others
SCRIPTS = (
    "東京々ーァｶﾞ\u3007\u3099\u0301กำิທຳខ្\u102d\u102cကོཀྱ་\u0f0b"
    "\u1200\u1360፡።\u1368\u0f0c\ufe00\U000e0100\u200b\u200d⼀\U00031350\u3000\u3002 \na1Σ한"
)
script_documents = st.one_of(
    st.text(st.sampled_from(SCRIPTS), max_size=60),
    st.text(st.sampled_from(SCRIPTS + TRICKY), max_size=60),
)
characters = st.one_of(
    st.sampled_from(TRICKY), st.characters(exclude_categories=["Cs"]).filter(known_alike)
)
hard_documents = st.one_of(
    documents.filter(lambda text: all(map(known_alike, text))),
    st.text(st.sampled_from(TRICKY), max_size=60),
    script_documents,
    st.text(characters, max_size=60),
    st.lists(st.one_of(words, st.text(characters, max_size=20)), max_size=12).map(" ".join),
)


def set_block_bytes(patch, n):
    """Have gram words made of blocks of so many bytes, and of longer documents in parts."""
    for module in (text_words, gram_words):
        patch.setattr(module, "BLOCK_BYTES", n)
