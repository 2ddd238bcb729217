"""Small texts of few words, and models of them: ours and the obvious one."""

import pyarrow as pa
from hypothesis import strategies as st

from tests.reference import perplexity as reference
from tokenmill.pipelines.filters.models.text import line_words
from tokenmill.pipelines.train.lm.fit import fit

WORDS = ["the", "cat", "sat", "on", "a", "mat", ".", "dog", "ran", "é"]
VOCABULARY = ["the", "cat", "sat", "on", "a", ".", "e"]

sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)
corpora = st.lists(sentences, min_size=1, max_size=12)


def fitted(lines, *, vocabulary=VOCABULARY, unseen=3, order=3, prune=0):
    text = "\n".join(map(" ".join, lines))
    words = line_words(pa.array([text]))
    return fit(
        words.hashes,
        pa.array(vocabulary, pa.large_string()),
        unseen=unseen,
        order=order,
        prune=prune,
    )


def obvious(lines, *, vocabulary=VOCABULARY, order=3, prune=0):
    found = [line for one in lines for line in reference.lines(" ".join(one))]
    return reference.KneserNey(found, vocabulary, order, prune)
