"""Benchmark items hidden in documents: found if they were planted, and only then."""

import json
import string
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from tests.pipelines.contamination.disguises import DISGUISES
from tests.pipelines.contamination.planting import (
    Document,
    edited,
    fitting,
    index_of,
    plants,
    read_documents,
    read_index,
    results,
    shown_overlaps,
)
from tests.strategies import document_batch, examples
from tokenmill.dedup.overlap.cut import cut, piece_texts
from tokenmill.pipelines.contamination.found import hits_of, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Folds

EACH = 60  # texts of a benchmark, for each disguise; of real ones there are several
LEAST_EDITED = 0.90  # by containment, of items of 8 words and more
LEAST_COVERED = 0.95  # of the bytes of what was found


class Corpus(NamedTuple):
    index: BenchmarkIndex
    documents: list[str]
    each: int = EACH


def made_words(random, n):
    letters = "aeiou" + string.ascii_letters
    return ["".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(n)]


def sentences(random, vocabulary, n_words):
    """Words with punctuation, numbers and line ends between them."""
    ends = ["", "", "", "", ",", ".", "?", "'s", " -", '"', " = 7", ":\n", ")", " & so"]
    return " ".join(word + random.choice(ends) for word in random.choices(vocabulary, k=n_words))


@pytest.fixture(scope="module")
def made_corpus(tmp_path_factory):
    random, path = Random(5), tmp_path_factory.mktemp("benchmark") / "quiz.jsonl"
    of_items, of_documents = made_words(random, 900), made_words(random, 900)
    rows = [
        {
            "question": sentences(random, of_items, max(n, 6)),
            "answer": sentences(random, of_items, 2 + n // 3),
        }
        for n in range(EACH)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    documents = [sentences(random, of_documents, 500) for _ in range(20)]
    index = index_of({"quiz": path})
    assert 8 < index.texts.benchmark_ngrams[0] < 13
    return Corpus(index, documents)


@pytest.fixture(scope="module")
def real_corpus(shared_data):
    documents = fitting(read_documents(shared_data))
    return Corpus(read_index(shared_data), documents, examples(EACH, EACH // 2))


@pytest.fixture(params=["made", "real"])
def corpus(request):
    return request.getfixturevalue(f"{request.param}_corpus")


@pytest.mark.parametrize("name", [n for n, d in DISGUISES.items() if d.least_frac is not None])
def test_planted_items_are_found_where_they_stand(corpus, name):
    disguise = DISGUISES[name]
    planted = plants(corpus.index, corpus.documents, disguise, corpus.each, name)
    found = results(corpus.index, planted)
    assert len(planted) >= corpus.each * len(corpus.index.benchmarks) * 0.5
    missed = [p.document for p, r in zip(planted, found, strict=True) if not r.found]
    assert len(missed) <= (1 - disguise.least_frac) * len(planted), missed
    covered = [share for r in found for share in r.covered if share]
    assert np.mean(covered) >= LEAST_COVERED


@pytest.mark.long_but("made")  # real text as made text
def test_edited_copies_are_found_by_containment(corpus):
    for name in ("one word in ten", "one word in six"):
        planted = plants(corpus.index, corpus.documents, DISGUISES[name], corpus.each, name)
        assert np.mean([r.found for r in edited(corpus.index, planted)]) >= LEAST_EDITED, name


@pytest.mark.parametrize(
    ("folding", "name"),
    [
        ("entities", "entities of letters"),
        ("line_breaks", "hyphenated"),
        ("compat", "full width"),
        ("invisible", "zero width, all"),
        ("signs", "typographic"),
        ("confusables", "homoglyphs, all"),
    ],
)
def test_a_hit_says_which_folding_it_took(made_corpus, folding, name):
    index, documents, _ = made_corpus
    planted = plants(index, documents, DISGUISES[name], EACH, name)
    without = index.matching.model_copy(update={"folding": Folds(**{folding: False})})
    seen, blind = results(index, planted), results(BenchmarkIndex.build(without), planted)
    lost = [(a, b) for a, b in zip(seen, blind, strict=True) if a.ngrams != b.ngrams]
    assert len(lost) > 0.2 * len(planted)
    assert all(a.ngrams > b.ngrams and folding in a.foldings for a, b in lost)
    assert not any(folding in b.foldings for b in blind)


@pytest.mark.parametrize("name", ["verbatim", "homoglyphs, all", "entities of all", "two of these"])
def test_of_what_was_planted_nothing_is_left_to_find_once_it_is_cut(made_corpus, name):
    index, documents, _ = made_corpus
    planted = plants(index, documents, DISGUISES[name], EACH, name)
    batch = document_batch([p.document for p in planted])
    found = search(batch, index, "planted")
    hits = hits_of(found)
    docs = found["doc_id"].to_numpy().astype(np.int64)[hits.docs]
    pieces = cut(batch["text"], docs, hits.starts, hits.ends)
    texts = piece_texts(batch["text"], pieces).to_pylist()
    assert len(texts) > len(planted)
    assert search(document_batch(texts), index, "pieces").num_rows == 0


# ------------------------------------------------------------------- where nothing was planted


def test_every_hit_in_made_text_is_real(made_corpus):
    index, documents, _ = made_corpus
    assert shown_overlaps(index, [Document("", text) for text in documents]) == []
    for name in ("verbatim", "entities of all", "half"):
        planted = plants(index, documents, DISGUISES[name], EACH, name)
        shown = shown_overlaps(index, [Document("", p.document) for p in planted])
        assert len(shown) >= len(planted)


def test_every_hit_in_real_text_is_real(real_corpus, shared_data):
    shown = shown_overlaps(real_corpus.index, list(read_documents(shared_data)))
    assert [overlap[:2] for overlap in shown] == [
        ("boolq:3050", "c4-sample:163"),
        ("boolq:384", "c4-sample:429"),
        ("boolq:2868", "c4-sample:429"),
        ("boolq:1986", "c4-sample:712"),
    ]
    assert shown[3].words == (
        "the fellowship of the ring the two towers and the return of the king"
    )


def test_every_hit_of_8_words_in_real_text_is_real(real_corpus, shared_data):
    eight = real_corpus.index.matching.model_copy(update={"ngram": 8})
    shown = shown_overlaps(BenchmarkIndex.build(eight), list(read_documents(shared_data)))
    assert len(shown) > 20
