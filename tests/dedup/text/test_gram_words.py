"""Words of texts longer than what kernels look at at once have the hashes of each word alone."""

from itertools import pairwise
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.strategies import set_block_bytes
from tests.reference.overlap import gram_words
from tokenmill.dedup.text.gram_words import GramWords, blocks

# of one to four bytes a character, some wider or narrower in lower case, some alone in a word
LETTERS = ["a straße Ёлка École 東京 ไทย 학교에서 ﬀi 😀 the 72.96 Ǆ Ⅷ µ İe ẞ ᏸ 𐐀x ⅓ é"]
WORDS = [word for line in LETTERS for word in line.split()]


def hashes_of(docs, words):
    text = pa.array(docs, pa.large_string())
    return [
        block.hashes[lo:hi].tolist()
        for block in blocks(text, longest=None, words=words)
        for lo, hi in pairwise(block.doc_words)
    ]


@pytest.mark.parametrize("words", get_args(GramWords))
@given(
    docs=st.lists(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), max_size=4),
    block_bytes=st.sampled_from([64, 200, 1 << 18]),
)
@example(docs=[" ".join(WORDS * 4), "a", " ".join(WORDS)], block_bytes=64)
@example(docs=[" ".join(WORDS[k:] + WORDS * 2) for k in range(len(WORDS))], block_bytes=1 << 18)
def test_a_word_has_one_hash_wherever_it_stands(words, docs, block_bytes):
    alone = dict(zip(WORDS, hashes_of(WORDS, words), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        set_block_bytes(patch, block_bytes)
        found = hashes_of(docs, words)
    assert found == [[h for word in doc.split() for h in alone[word]] for doc in docs]


def test_words_that_differ_have_hashes_that_differ():
    found = {
        h: word.text
        for text, hashes in zip(WORDS, hashes_of(WORDS, "scripts"), strict=True)
        for h, word in zip(hashes, gram_words(text), strict=True)
    }
    assert len(found) == len({word.text for text in WORDS for word in gram_words(text)})
