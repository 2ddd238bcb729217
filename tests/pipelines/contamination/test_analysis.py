import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.overlap.grams import gram_texts
from tests.reference import contamination as reference
from tests.reference.overlap import gram_words
from tests.strategies import document_batch
from tokenmill.dedup.overlap.counts import document_counts, frequent, total
from tokenmill.dedup.overlap.find import find
from tokenmill.pipelines.contamination import found as found_module
from tokenmill.pipelines.contamination.analysis import Analysis, BenchmarkCounts
from tokenmill.pipelines.contamination.found import CONTEXT_BYTES, FOUND, collect, hits_of, parts_of
from tokenmill.pipelines.contamination.index import prepare_texts

STATUS = ("clean", "dirty", "untestable")


def words(n, of):
    return " ".join(f"{of}{i}" for i in range(n))


def prepared(texts, items, n_items, ngram=None):
    return prepare_texts(
        pa.array(texts, pa.large_string()),
        np.array(items, np.int64),
        np.array([n_items]),
        [ngram],
    )


def analysed(texts, shards, ignored=None, **settings):
    """Search shards of documents; each is a batch of its own, and a source."""
    index = texts.indexed()
    mask = np.zeros(len(index.hashes), bool) if ignored is None else ignored
    analysis = Analysis(texts, index, mask, **settings)
    for ordinal, docs in enumerate(shards):
        batch = document_batch(docs, ordinal)
        analysis.add(searched(batch, index, f"shard {ordinal}"))
    return analysis


def searched(batch, index, source):
    hits = find(batch["text"], index)
    return collect(batch, hits, np.zeros(len(hits.docs), np.uint8), source)


sentence = st.lists(st.sampled_from(["a", "B", "c!", "é", "d"]), max_size=12).map(" ".join)


@given(
    st.lists(st.lists(sentence, max_size=4), max_size=3),
    st.lists(st.tuples(sentence, st.integers(0, 2)), min_size=1, max_size=5),
    st.integers(1, 10),
    st.integers(0, 2),
)
def test_items_equal_the_reference(shards, pairs, ngram, most_docs):
    texts, items = [t for t, _ in pairs], [i for _, i in pairs]
    given_texts = prepared(texts, items, 3, ngram)
    index = given_texts.indexed()
    hits = [find(pa.array(docs, pa.large_string()), index) for docs in shards]
    counted = total(map(document_counts, hits), len(index.hashes))
    mask = frequent(counted, index, most_docs=most_docs)
    named = gram_texts(np.flatnonzero(mask), index, given_texts.texts)
    ignored = {tuple(w.text for w in gram_words(name)) for name in named}
    got = analysed(given_texts, shards, mask, frequent=mask, most_examples=2)
    docs = [doc for shard in shards for doc in shard]
    ids = [(o << 32) + row for o, shard in enumerate(shards) for row in range(len(shard))]
    expected = reference.analysis(docs, texts, items, ngram, 3, ignored)
    assert [STATUS[s] for s in got.status()] == [status for status, _, _ in expected]
    check_widespread(got, index, mask, docs)
    assert got.found_frac().tolist() == [frac for _, frac, _ in expected]
    assert got.item_docs.tolist() == [len(shares) for _, _, shares in expected]
    best = [
        (item, ids[d], share)
        for item, (_, _, shares) in enumerate(expected)
        for d, share in sorted(shares.items(), key=lambda s: (-s[1], s[0]))[:2]
    ]
    rows = got.examples.to_pylist()
    assert [(r["item"], r["doc_id"], r["found_frac"]) for r in rows] == best
    of_docs = [sum(d in shares for _, _, shares in expected) for d in range(len(docs))]
    assert sorted(got.worst["items"].to_pylist()) == sorted(n for n in of_docs if n)
    assert sum(s.pairs for s in got.sources.values()) == sum(of_docs)


def check_widespread(got, index, frequent, docs):
    """Against a count of every item's n-grams, one by one."""
    grams = {item: set() for item in range(len(got.item_docs))}
    for gram in range(len(index.hashes)):
        for item in index.items_of(np.array([gram]))[1].tolist():
            grams[item].add(gram)
    hits = find(pa.array(docs, pa.large_string()), index)
    for item, status in enumerate(got.status()):
        often = {gram for gram in grams[item] if frequent[gram]}
        widespread = STATUS[status] == "clean" and 2 * len(often) >= len(grams[item]) > 0
        assert got.widespread()[item] == widespread
        having = set(hits.docs[np.isin(hits.grams, list(grams[item]))].tolist())
        assert got.widespread_docs()[item] == (len(having) if widespread else 0)


def test_an_item_in_too_many_documents_is_clean_and_widespread():
    prompt, item, other = words(15, "p"), words(30, "i"), words(30, "o")
    texts = prepared([f"{prompt} {item}", f"{prompt} {other}"], range(2), 2, 13)
    index = texts.indexed()
    own, half = np.zeros((2, len(index.hashes)), bool)
    own[find(pa.array([prompt]), index).grams] = True
    # of the 33 n-grams of an item 3 are the prompt's: half of the others are 15
    for n_frequent, widespread in ((15, [True, False]), (14, [False, False])):
        half[:] = False
        half[find(pa.array([words(12 + n_frequent, "i")]), index).grams] = True
        docs = [f"{prompt} x {words(12 + n_frequent, 'i')}"] * 3
        got = analysed(texts, [docs], own | half, frequent=half)
        assert got.widespread().tolist() == widespread
        assert got.widespread_docs().tolist() == [3 * w for w in widespread]
        (counts,) = got.counts()
        assert (counts.clean, counts.widespread) == (2, sum(widespread))
        assert counts.only_ignored == 2 - sum(widespread)
        assert got.unseen().tolist() == [not w for w in widespread]
    assert analysed(texts, [[f"{prompt} {item}"]], own, frequent=half).widespread_docs()[0] == 0


def test_what_is_found_can_be_read_again():
    item = words(20, "i")
    texts = prepared([item], [0], 1)
    docs = ["clean", f"{'é' * 300} {item} {'東' * 300}", f"{item} {'x ' * 400}{item}"]
    index = texts.indexed()
    batch = document_batch(docs)
    hits = find(batch["text"], index)
    found = searched(batch, index, "web")
    assert found.schema == FOUND
    assert found["id"].to_pylist() == ["1", "2"]
    again = hits_of(found)
    assert again.docs.tolist() == (hits.docs - 1).tolist()
    assert again.grams.tolist() == hits.grams.tolist()
    for row, doc in zip(found.to_pylist(), docs[1:], strict=True):
        for start, passage in zip(row["passage_starts"], row["passages"], strict=True):
            assert doc.encode()[start:].startswith(passage.encode())
            assert item in passage
    assert [len(p) for p in found["passages"].to_pylist()] == [1, 2]


@pytest.mark.parametrize("character", ["x", "é", "東", "😀"])
def test_what_stands_around_a_hit_is_so_many_bytes_cut_at_characters(character):
    item = words(13, "i")
    texts, hits = [], []
    for n in (CONTEXT_BYTES - 4, CONTEXT_BYTES):
        for nth in range(4):  # bytes of what stands between, so that each place is a cut
            before, after = character * n + "." * nth, "." * nth + character * n
            texts.append(f"{before} {item} {after}")
            hits.append((len(before.encode()) + 1, len(f"{before} {item}".encode())))
    rows = searched(document_batch(texts), prepared([item], [0], 1).indexed(), "web").to_pylist()
    for text, (start, end), row in zip(texts, hits, rows, strict=True):
        ends = [i for i, _ in enumerate(text.encode()) if text.encode()[i] & 0xC0 != 0x80]
        first = min(i for i in ends if i >= start - CONTEXT_BYTES)
        last = min((i for i in ends if i >= end + CONTEXT_BYTES), default=len(text.encode()))
        assert row["passage_starts"] == [first]
        assert row["passages"] == [text.encode()[first:last].decode()]


def test_an_example_shows_the_match_and_the_text_around_it():
    item = words(20, "i")
    doc = f"{words(13, 'i')} {'é' * 300} before “{item.upper()}”, after {'東' * 300}"
    (row,) = analysed(prepared([item], [0], 1), [["clean", doc]]).examples.to_pylist()
    assert row["match"] == item.upper()
    assert row["before"].endswith("é before “")
    assert row["after"].startswith("”, after 東")
    assert doc.encode()[row["start_byte"] : row["end_byte"]].decode() == row["match"]
    assert (row["id"], row["source"], row["ngrams"], row["spans"]) == ("1", "shard 0", 8, 2)
    assert row["found_frac"] == 1.0


def test_every_item_is_clean_dirty_or_untestable():
    long, other = words(30, "a"), words(30, "b")
    prompt = words(13, "p")
    texts = [long, other, f"{prompt} {words(9, 'c')}", "one two three four", "x y z", "q r"]
    made = prepared(texts, range(6), 6, 13)
    docs = [f"x {words(15, 'a')}", "one two three four five", prompt]
    index = made.indexed()
    mask = np.zeros(len(index.hashes), bool)
    mask[find(pa.array([prompt]), index).grams] = True
    got = analysed(made, [docs], mask)
    assert got.counts() == [
        BenchmarkCounts(
            ngram=13,
            clean=2,
            dirty=1,
            untestable=3,
            found_whole=1,
            too_short=1,
            widespread=0,
            only_ignored=1,
            docs=2,
            pairs=2,
            uncounted=0,
            foldings={},
        )
    ]
    assert got.found_frac()[0] == 3 / 18


def test_examples_are_bounded_and_counts_are_not():
    item = words(20, "i")
    half = words(15, "i")
    shards = [[half] * 30, [f"{item} {'x' * s}" for s in range(20)]]
    got = analysed(prepared([item], [0], 1), shards, most_examples=3, most_documents=4)
    assert got.examples["doc_id"].to_pylist() == [(1 << 32) + i for i in range(3)]
    assert got.worst["doc_id"].to_pylist() == [(1 << 32) + i for i in range(4)]
    assert got.worst["overlap_bytes"].to_pylist() == [len(item)] * 4
    assert got.item_docs.tolist() == [50]
    assert {name: s.docs for name, s in got.sources.items()} == {"shard 0": 30, "shard 1": 20}


def test_the_parts_in_which_a_batch_is_analysed_do_not_matter(monkeypatch):
    shared = words(20, "s")
    texts = prepared([f"{shared} {words(13, o)}" for o in "abcd"], range(4), 4)
    docs = [f"{shared} {words(13, o)}" for o in "abxa"] * 2
    made = [analysed(texts, [docs])]
    monkeypatch.setattr(found_module, "MOST_PAIRS", 1)
    monkeypatch.setattr("tokenmill.dedup.overlap.find.MOST_PAIRS", 1)
    index = texts.indexed()
    assert len(list(parts_of(searched(document_batch(docs), index, ""), index))) == len(docs)
    made.append(analysed(texts, [docs]))
    first, second = ((a.examples, a.worst, a.sources, a.counts(), a.found_frac()) for a in made)
    assert first[:-1] == second[:-1]
    assert first[-1].tolist() == second[-1].tolist()


def test_the_order_of_the_shards_does_not_matter():
    item = words(20, "i")
    texts = prepared([item], [0], 1)
    index = texts.indexed()
    batches = [document_batch([f"{item} {o}", words(13, "i")], o) for o in range(4)]
    found = [searched(b, index, "web") for b in batches]
    made = []
    for shards in (found, found[::-1]):
        analysis = Analysis(texts, index, np.zeros(len(index.hashes), bool), most_examples=3)
        for shard in shards:
            analysis.add(shard)
        made.append((analysis.examples, analysis.worst, analysis.sources, analysis.counts()))
    assert made[0] == made[1]
