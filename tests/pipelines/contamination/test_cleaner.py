import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.reference import cut as reference
from tests.strategies import document_batch
from tokenmill.dedup.overlap.containment_index import FORMAT
from tokenmill.pipelines.contamination.copies import index_copies
from tokenmill.pipelines.contamination.decontaminate import Cleaner, Decontaminate
from tokenmill.pipelines.contamination.found import search
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.contamination.rows import OVERLAP
from tokenmill.pipelines.core.pieces import PIECE
from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED

LEAK = "Natalia sold clips to 48 of her friends in April, then she sold"  # 13 words
OTHER = "half as many clips in May; how many did she sell altogether in those two months?"
ITEM = f"{LEAK} {OTHER}"
CLEAN = " ".join(f"w{i}" for i in range(2000))


def filler(chars, of="w"):
    return "".join(f"{of}{i} " for i in range(chars // 3))[: chars - 1] + "."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    items = [{"q": "nothing to find", "a": "short"}, {"q": ITEM, "a": "72"}]
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, items)))
    (folder / "copy.jsonl").write_text(json.dumps({"text": LEAK.upper()}))
    return folder


def cleaner(folder, ignored=(), **settings):
    benchmarks = tuple(Benchmark(name=n, path=f"{folder}/{n}.jsonl") for n in ("sums", "copy"))
    step = Decontaminate(benchmarks=benchmarks, **{"ngram": 13, **settings})
    index = step.build()
    mask = index.ignored.copy()
    mask[list(ignored)] = True
    return Cleaner(step, index, mask)


def cleaned(clean, *docs):
    batch = document_batch(docs)
    made = clean(batch, search(batch, clean.index, "web"))
    made.result.stats.check("decontaminate")
    assert made.result.stats.docs_out == made.result.kept.num_rows
    assert made.result.kept.schema.equals(DOCUMENT, check_metadata=True)
    assert made.result.removed.schema.equals(REMOVED, check_metadata=True)
    assert made.overlaps.schema.equals(OVERLAP, check_metadata=True)
    assert made.pieces.schema.equals(PIECE, check_metadata=True)
    return made


@pytest.fixture(scope="module")
def clean(folder):
    return cleaner(folder)


def test_a_leak_of_23_words_costs_its_window_and_the_pieces_are_documents(clean):
    before, after = filler(17_000), filler(17_000, "v")
    leak = " ".join(ITEM.split()[:23])
    made = cleaned(clean, "", f"{before} {leak} {after}", CLEAN)
    assert made.result.kept["id"].to_pylist() == ["0", "1#piece-1", "1#piece-2", "2"]
    assert made.result.kept["doc_id"].to_pylist() == [0, 1 | 1 << 28, 1 | 2 << 28, 2]
    text = ["", f"{before} "[:-200], f" {after}"[200:], CLEAN]
    assert made.result.kept["text"].to_pylist() == text
    assert made.result.removed.num_rows == 0
    end = len(f"{before} {leak} {after}")
    assert [tuple(row.values()) for row in made.pieces.to_pylist()] == [
        (1 | 1 << 28, "1#piece-1", 1, "1", 1, 2, 0, 16_801),
        (1 | 2 << 28, "1#piece-2", 1, "1", 2, 2, end - 16_801, end),
    ]
    stats = made.result.stats
    assert (stats.docs_created, stats.bytes_edited) == (1, 34_002 + len(leak) - 2 * 16_801)
    assert stats.bytes_removed == 0


def test_a_document_that_loses_only_its_end_is_one_piece_with_a_link(clean):
    made = cleaned(clean, f"{filler(1000)} {LEAK}")
    assert made.result.kept["id"].to_pylist() == ["0#piece-1"]
    assert made.pieces["pieces"].to_pylist() == [1]
    assert made.result.stats.docs_created == 0


@pytest.mark.parametrize(("chars", "kept"), [(199, []), (200, ["0#piece-1"])])
def test_a_piece_of_200_characters_is_long_enough(clean, chars, kept):
    made = cleaned(clean, f"{'é' * 50} {filler(chars + 148)} {LEAK}")
    assert made.result.kept["id"].to_pylist() == kept
    assert made.result.removed["value"].to_pylist() == [199.0] * (not kept)


def test_what_leaves_has_a_receipt_with_its_evidence(clean):
    short = f"{filler(300)} {LEAK} {filler(900)}"
    many = f" {LEAK} ".join(filler(700, f"{of}w") for of in range(11))
    made = cleaned(clean, f"“{LEAK}”", CLEAN, short, many)
    assert made.result.kept["id"].to_pylist() == ["1", "2#piece-2"]
    rows = [[r[k] for k in ("id", "reason", "value")] for r in made.result.removed.to_pylist()]
    assert rows == [
        ["0", "overlap", 1.0],
        ["3", "many_pieces", 11.0],
        ["2#piece-1", "short_piece", 101.0],
    ]
    assert set(made.result.removed["detail"].to_pylist()) == {
        f"sums:1 n=1 '{LEAK}' (and 1 more item)"
    }
    stats = made.result.stats
    assert dict(stats.removed) == {"overlap": 1, "many_pieces": 1, "short_piece": 1}
    assert stats.bytes_removed == len(f"“{LEAK}”".encode()) + len(many) + 101
    assert made.pieces["id"].to_pylist() == ["2#piece-1", "2#piece-2"]


def test_the_longest_overlap_is_the_evidence(folder):
    text = f"{LEAK.lower()} … {ITEM}"
    made = cleaned(cleaner(folder, action="document"), text)
    (row,) = made.result.removed.to_pylist()
    n = len(ITEM.split()) - 12
    assert row["detail"] == f"sums:1 n={n} '{ITEM[:120]}' (and 1 more item)"
    assert row["value"] == n + 1


def test_documents_are_dropped_whole_only_if_asked(folder):
    half = " ".join(LEAK.split()[:12])
    docs = [CLEAN, f"{CLEAN}\n“{LEAK}”, {CLEAN}", f"{CLEAN} {half} {CLEAN}"]
    made = cleaned(cleaner(folder, action="document"), *docs)
    assert made.result.kept["id"].to_pylist() == ["0", "2"]
    assert made.pieces.num_rows == 0
    start = len(CLEAN) + 1 + len("“".encode())
    assert made.overlaps.to_pylist() == [
        {
            "doc_id": 1,
            "id": "1",
            "source": "web",
            "benchmark": name,
            "item": item,
            "kind": "ngrams",
            "start_byte": start,
            "end_byte": start + len(LEAK),
            "ngrams": 1,
            "containment": None,
            "foldings": [],
            "excerpt": LEAK,
        }
        for name, item in (("sums", "sums:1"), ("copy", "copy:0"))
    ]


def test_report_keeps_the_documents_and_tells_the_same_overlaps(folder, clean):
    docs = [CLEAN, LEAK]
    made = cleaned(cleaner(folder, action="report"), *docs)
    assert made.result.kept == document_batch(docs)
    assert made.overlaps == cleaned(clean, *docs).overlaps
    assert made.overlaps.num_rows == 2


def test_paragraphs_go_and_their_document_stays(folder):
    paragraph = f"{LEAK} and"
    disguised = paragraph.replace("friends", "\uff46riends")
    docs = ["a\n\nb", f"before\n\n{disguised}\n\nbehind", f"{filler(300)} {LEAK} {filler(300)}"]
    made = cleaned(cleaner(folder, action="paragraph"), *docs, f"\n\n{LEAK}", "\n\n")
    assert made.result.kept["text"].to_pylist() == ["a\n\nb", "before\n\nbehind", docs[2], "\n\n"]
    assert made.result.kept["id"].to_pylist() == ["0", "1", "2", "4"]
    (row,) = made.result.removed.to_pylist()
    assert (row["id"], row["reason"], row["value"]) == ("3", "overlap", 1.0)
    assert made.result.stats.bytes_edited == len(f"{disguised}\n\n".encode())


@pytest.mark.parametrize("action", ["cut", "document", "paragraph"])
def test_ignored_n_grams_change_nothing(folder, action):
    every = range(len(cleaner(folder).index.ngrams.hashes))
    made = cleaned(cleaner(folder, ignored=every, action=action), LEAK, CLEAN, ITEM)
    assert made.result.kept == document_batch([LEAK, CLEAN, ITEM])
    assert made.overlaps.num_rows == made.result.removed.num_rows == made.pieces.num_rows == 0


def test_a_disguise_is_cut_out_of_the_document_as_it_stands(clean):
    hidden = LEAK.replace("sold", "s\u200bold").replace(",", "&comma;")
    made = cleaned(clean, f"{filler(900)} {hidden} {filler(900)}")
    text = [f"{filler(900)} "[:-200], f" {filler(900)}"[200:]]
    assert made.result.kept["text"].to_pylist() == text
    assert made.overlaps["foldings"].to_pylist()[0] == ["entities", "invisible"]


def test_what_was_found_of_documents_that_have_left_does_not_matter(clean):
    docs = [LEAK, CLEAN, f"{filler(1000)} {LEAK}", ITEM]
    batch = document_batch(docs)
    found = search(batch, clean.index, "web")
    left = batch.take(pa.array([1, 2]))
    made = clean(left, found)
    assert made.result.kept["id"].to_pylist() == ["1", "2#piece-1"]
    assert set(made.overlaps["id"].to_pylist()) == {"2"}
    assert clean(batch.take(pa.array([1])), found).result.kept == batch.take(pa.array([1]))


parts = st.sampled_from([LEAK, f" {ITEM}\n", "é東🙂 " * 60, filler(250), filler(450, "x"), " "])


@given(st.lists(st.lists(parts, max_size=8).map(" ".join), max_size=5), st.integers(1, 4))
def test_pieces_are_those_of_the_reference_and_everything_adds_up(clean, docs, most):
    step = clean.config.model_copy(update={"most_pieces": most})
    made = cleaned(Cleaner(step, clean.index, clean.ignored), *docs)
    kept, left, cut_away = [], [], 0
    for d, doc in enumerate(docs):
        spans = [
            (row["start_byte"], row["end_byte"])
            for row in made.overlaps.to_pylist()
            if row["id"] == str(d)
        ]
        pieces, n = reference.cut(doc, spans, most=most)
        every = reference.cut(doc, spans, least=0, most=most)[0]
        raw = doc.encode()
        kept += [raw[a:b].decode() for a, b in pieces]
        left += [f"{d}#piece-{k + 1}" for k, p in enumerate(every) if p not in pieces]
        left += [str(d)] if n > most or n == 0 else []
        cut_away += len(raw) - sum(b - a for a, b in every) if 0 < n <= most else 0
    assert made.result.kept["text"].to_pylist() == kept
    assert sorted(made.result.removed["id"].to_pylist()) == sorted(left)
    assert made.result.stats.bytes_edited == cut_away
    ids = made.result.kept["doc_id"].to_pylist() + made.result.removed["doc_id"].to_pylist()
    assert len(set(ids)) == len(ids)
    links = {row["doc_id"]: row for row in made.pieces.to_pylist()}
    for row in made.result.kept.to_pylist():
        link = links.get(row["doc_id"])
        raw = docs[int(link["parent_id"]) if link else int(row["id"])].encode()
        whole = (link["start_byte"], link["end_byte"]) if link else (0, len(raw))
        assert raw[slice(*whole)].decode() == row["text"]
    assert np.all(np.diff(np.asarray(made.result.kept["doc_id"]) & np.uint64((1 << 28) - 1)) >= 0)


def test_real_benchmarks_in_real_text(shared_data):
    """Read by hand: pages of numbers apart, which have no letter, nothing is shared."""
    path = str(shared_data / "bench/gsm8k/test.jsonl")
    step = Decontaminate(benchmarks=(Benchmark(name="gsm8k", path=path),))
    index = step.build()
    with open(path) as f:
        planted = [json.loads(line)["question"] for line in f][17]
    made = cleaned(Cleaner(step, index, index.ignored), CLEAN, f"{CLEAN}\n{planted}\n{CLEAN}")
    assert made.result.kept["id"].to_pylist() == ["0", "1#piece-1", "1#piece-2"]
    assert set(made.overlaps["item"].to_pylist()) == {"gsm8k:17"}


LONG = " ".join(f"{a}{b}" for a in ("red", "tall", "old", "wet") for b in ("house", "river"))
COPY_OF = " ".join("other" if i % 5 == 4 else w for i, w in enumerate(f"{ITEM} {LONG}".split()))


def test_what_edited_copies_are_found_by_decides_a_run_that_takes_them_out(tmp_path):
    of = {how: editing(tmp_path, edited=how).config.versions() for how in ("cut", "document", None)}
    assert of == {"cut": {"edited copies": FORMAT}, "document": {"edited copies": FORMAT}, None: {}}


def editing(tmp_path, **settings):
    """A cleaner of one long item, and with `edited` of its copies."""
    (tmp_path / "long.jsonl").write_text(json.dumps({"q": f"{ITEM} {LONG}"}))
    benchmark = Benchmark(name="long", path=str(tmp_path / "long.jsonl"))
    step = Decontaminate(benchmarks=(benchmark,), **settings)
    index = step.build()
    copies = index_copies(index.texts) if step.edited else None
    return Cleaner(step, index, index.ignored, copies, "web")


@pytest.mark.parametrize("action", ["cut", "document"])
def test_edited_copies_are_left_unless_asked_for(tmp_path, action):
    made = cleaned(editing(tmp_path, action=action), f"{CLEAN} {COPY_OF} {CLEAN}")
    assert made.result.kept["id"].to_pylist() == ["0"]
    assert made.overlaps.num_rows == 0


@pytest.mark.parametrize("action", ["cut", "document"])
def test_an_edited_copy_is_cut_and_its_tier_is_told(tmp_path, action):
    docs = CLEAN, f"{CLEAN} {COPY_OF} {CLEAN}", COPY_OF
    made = cleaned(editing(tmp_path, action=action, edited="cut"), *docs)
    assert made.result.kept["id"].to_pylist() == ["0", "1#piece-1", "1#piece-2"]
    assert not any("Natalia" in text for text in made.result.kept["text"].to_pylist())
    (row,) = made.result.removed.to_pylist()
    assert (row["id"], row["reason"]) == ("2", "edited")
    assert row["detail"].startswith(f"long:0 edited copy {row['value']:.2f} 'Natalia sold")
    assert made.overlaps["kind"].to_pylist() == ["copy", "copy"]
    assert set(made.overlaps["source"].to_pylist()) == {"web"}


def test_documents_with_edited_copies_go_whole_and_others_are_cut(tmp_path):
    docs = f"{CLEAN} {COPY_OF} {CLEAN}", f"{CLEAN} {ITEM} {LONG} {CLEAN}", CLEAN
    made = cleaned(editing(tmp_path, edited="document"), *docs)
    assert made.result.kept["id"].to_pylist() == ["1#piece-1", "1#piece-2", "2"]
    assert [(r["id"], r["reason"]) for r in made.result.removed.to_pylist()] == [("0", "edited")]
    assert made.overlaps["kind"].to_pylist() == ["ngrams", "copy"]


def test_copies_of_an_item_whose_n_grams_count_for_nothing_stay(tmp_path):
    clean = editing(tmp_path, edited="cut")
    clean = replace(clean, ignored=np.ones_like(clean.ignored))
    assert cleaned(clean, COPY_OF).result.kept["id"].to_pylist() == ["0"]


@pytest.mark.parametrize("action", ["paragraph", "report"])
def test_edited_copies_need_an_action_that_takes_text_out(action):
    with pytest.raises(ValidationError, match=f"does not go with action '{action}'"):
        Decontaminate(benchmarks=({"name": "q", "path": "q.jsonl"},), action=action, edited="cut")
