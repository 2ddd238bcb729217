import json

import numpy as np
import pytest

from tests.strategies import document_batch
from tokenmill.dedup.overlap.find import Hits
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.found import CONTEXT_BYTES, collect, search
from tokenmill.pipelines.contamination.index import ITEMS, NGRAMS, BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.errors import ConfigError, ShardError

QUESTION = "Natalia sold clips to 48 of her friends in April, & then she sold half as many"
OTHER = "Weng earns $12 an hour for babysitting, “yesterday” she did just 50 minutes of it"


def benchmark(folder, name, *questions):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"q": q}) + "\n" for q in questions))
    return Benchmark(name=name, path=str(path))


@pytest.fixture
def matching(tmp_path):
    sums = benchmark(tmp_path, "sums", "too short", QUESTION)
    return Matching(benchmarks=(sums, benchmark(tmp_path, "wages", OTHER)))


def analysed(index, docs):
    analysis = Analysis(index.texts, index.ngrams, index.ignored, most_examples=5)
    analysis.add(search(document_batch(docs), index, "web"))
    return analysis


def test_an_item_in_disguise_is_found_where_it_stands_in_the_document(matching):
    index = BenchmarkIndex.build(matching)
    hidden = QUESTION.replace("&", "&amp;").replace("sold", "s\u200bold")
    wide = OTHER.replace("hour", "\uff48\uff4f\uff55\uff52").replace("“", '"').replace("”", '"')
    docs = ["clean", f"<p>é {hidden} …</p>", f"東京 {wide}. {QUESTION}"]
    analysis = analysed(index, docs)
    rows = analysis.examples.to_pylist()
    assert [(r["item"], r["id"], r["match"]) for r in rows] == [
        (1, "1", hidden),
        (1, "2", QUESTION),
        (2, "2", wide),
    ]
    assert index.names_of(np.array([1, 2])) == ["sums:1", "wages:0"]
    for row in rows:
        doc = docs[int(row["id"])].encode()
        assert doc[row["start_byte"] : row["end_byte"]].decode() == row["match"]
    assert [r["foldings"] for r in rows] == [0b1001, 0, 0b100]  # entities + invisible; compat
    assert analysis.foldings().tolist() == [0, 0, 0b100]
    assert [c.foldings for c in analysis.counts()] == [{}, {"compat": 1}]


def passages(text, places):
    """What is kept of a text around hits: [(first byte, text)]; a loop over bytes."""
    data, made = text.encode(), []
    for start, end in sorted(places):
        begin, stop = max(start - CONTEXT_BYTES, 0), min(end + CONTEXT_BYTES, len(data))
        while begin < len(data) and data[begin] & 0xC0 == 0x80:
            begin += 1
        while stop < len(data) and data[stop] & 0xC0 == 0x80:
            stop += 1
        if made and begin < made[-1][1]:
            made[-1][1] = max(made[-1][1], stop)
        else:
            made.append([begin, stop])
    return [(begin, data[begin:stop].decode()) for begin, stop in made]


@pytest.mark.parametrize("char", ["é", "東", "🙂"])
@pytest.mark.parametrize("begin", range(4))
def test_passages_are_cut_at_characters_however_many_bytes_these_have(char, begin):
    n = len(char.encode())
    texts = [char * 700 + "bbbb" + char * 700 + ".", "x", char * 3]
    at = [(n * 700 + begin, n * 700 + end) for end in range(begin + 1, 5)]
    last = len(texts[0].encode()) - 1
    at = [(0, n), (n, 2 * n), (300 * n, 305 * n), *at, (last - 3 * n, last - n)]
    places = [(0, place) for place in at] + [(2, (n, 2 * n))]
    docs = np.array([doc for doc, _ in places])
    starts, ends = (np.array(column) for column in zip(*(p for _, p in places), strict=True))
    none = np.zeros(len(docs), np.int64)
    hits = Hits(3, docs, none, none, none, starts, ends)
    found = collect(document_batch(texts), hits, none.astype(np.uint8), "web").to_pylist()
    assert [row["id"] for row in found] == ["0", "2"]
    for row, text, of in zip(found, texts[::2], (at, [(n, 2 * n)]), strict=True):
        kept = list(zip(row["passage_starts"], row["passages"], strict=True))
        assert kept == passages(text, of)


def test_a_folding_that_is_switched_off_sees_nothing(matching):
    off = matching.folding.model_copy(update={"compat": False})
    index = BenchmarkIndex.build(matching.model_copy(update={"folding": off}))
    wide = OTHER.replace("hour", "\uff48\uff4f\uff55\uff52")
    assert analysed(index, [wide, OTHER]).item_docs.tolist() == [0, 0, 1]


def test_a_saved_index_finds_the_same(matching, tmp_path):
    made = BenchmarkIndex.build(matching)
    folder = tmp_path / "index"
    assert made.save(folder) == [folder / NGRAMS, folder / ITEMS]
    loaded = BenchmarkIndex.load(folder, matching)
    batch = document_batch([QUESTION, OTHER, "x"])
    assert search(batch, loaded, "web") == search(batch, made, "web")
    assert loaded.benchmarks == made.benchmarks
    assert loaded.ignored.tolist() == made.ignored.tolist()
    assert [b["items"] for b in made.benchmarks] == [2, 1]
    assert [b["untestable"] for b in made.benchmarks] == [1, 0]


def test_an_index_of_other_settings_is_refused(matching, tmp_path):
    BenchmarkIndex.build(matching).save(tmp_path)
    more = matching.model_copy(update={"most_docs": 3})
    assert BenchmarkIndex.load(tmp_path, more).matching.most_docs == 3
    with pytest.raises(ShardError, match=r"made for ngram auto, this run needs 9; delete it"):
        BenchmarkIndex.load(tmp_path, matching.model_copy(update={"ngram": 9}))
    with pytest.raises(ShardError, match="made for benchmarks"):
        BenchmarkIndex.load(
            tmp_path, matching.model_copy(update={"benchmarks": matching.benchmarks[:1]})
        )


def test_items_of_a_word_or_two_are_refused_with_the_fields(tmp_path):
    words = benchmark(tmp_path, "words", "yes", "no way")
    with pytest.raises(ConfigError, match="none of 2 items has 3 words in q; name other fields"):
        BenchmarkIndex.build(Matching(benchmarks=(words,)))
