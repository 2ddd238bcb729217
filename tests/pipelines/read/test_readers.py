"""Laws of all readers: every document once, in order, whatever the shards."""

from collections import Counter

import datasets
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pipelines.read.corpus import (
    WRITERS,
    read_all,
    write_dictionaries,
    write_jsonl,
    write_saved,
    write_texts,
)
from tokenmill.pipelines.read import batch as reading
from tokenmill.pipelines.read.batch import (
    Failure,
    SourceDocument,
    SourceImage,
    batch_of,
    gathered,
    make_batch,
    read_stats,
)

documents = st.lists(
    st.one_of(
        st.text(max_size=40), st.sampled_from(["", "\n", "\r\n", "a\u2028b", "\0", "é" * 300])
    ),
    max_size=12,
)


@pytest.fixture(scope="module", autouse=True)
def quiet_datasets():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__.removeprefix("write_"))
@given(texts=documents, shard_bytes=st.integers(1, 2000))
@example(texts=[], shard_bytes=1)
@example(texts=["a"], shard_bytes=1)
def test_shards_share_out_the_documents_in_order(tmp_path_factory, write, texts, shard_bytes):
    folder = tmp_path_factory.mktemp("corpus")
    got = read_all(write(folder, texts), shard_bytes=shard_bytes)
    assert got.texts == texts
    assert got.failures == []
    assert got.plan.failed == ()
    assert len(set(got.ids)) == len(texts)


@pytest.mark.parametrize("write", [write_saved, write_texts], ids=["saved", "texts"])
@given(texts=documents, shard_bytes=st.integers(1, 2000))
@settings(max_examples=15)
def test_folders_share_out_the_documents_in_order(tmp_path_factory, write, texts, shard_bytes):
    if not texts and write is write_texts:
        return
    folder = tmp_path_factory.mktemp("corpus")
    as_utf16 = dict.fromkeys(b"\0\4\6\x0e", "0")  # what no text file has
    texts = [t.removeprefix("\ufeff").translate(as_utf16) for t in texts]
    got = read_all(write(folder, texts), shard_bytes=shard_bytes)
    assert got.texts == texts
    assert got.failures == []


@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__.removeprefix("write_"))
def test_ids_do_not_depend_on_the_shards(tmp_path, write):
    texts = [f"document {i} " * (i % 7) for i in range(40)]
    path = write(tmp_path, texts)
    whole, cut = read_all(path), read_all(path, shard_bytes=100)
    assert whole.ids == cut.ids
    assert len(whole.plan.shards) == 1
    if write.__name__ != "write_dictionaries":
        assert len(cut.plan.shards) > 4


OF_A_FILE = [
    *("truncated_gzip", "damaged_gzip", "truncated_zstd", "damaged_zstd", "window_too_large"),
    *("truncated_lz4", "damaged_lz4", "truncated_warc", "damaged_warc"),
    *("truncated_arrow", "damaged_arrow", "damaged_parquet", "damaged_csv", "expands_too_far"),
    *("truncated_tar", "damaged_tar", "unended_tar", "not_found", "permission_denied"),
]
OF_A_DOCUMENT = [
    "invalid_json",
    "too_large",
    "damaged_record",
    "damaged_coding",
    "truncated_coding",
]


def test_what_ends_a_file_is_damage_of_its_shard_and_what_is_one_document_s_is_not():
    causes = [*OF_A_DOCUMENT, *OF_A_FILE]
    failures = [Failure(row, str(row), cause, f"at {row}") for row, cause in enumerate(causes)]
    none = pa.array([], "str")
    batch = make_batch(0, np.empty(0, int), ids=none, urls=None, texts=none, failures=failures)
    told = [f"{cause}: at {row}" for row, cause in enumerate(causes) if cause in OF_A_FILE]
    assert batch.damage == told


MOST = {"BATCH_DOCS": 4, "BATCH_BYTES": 20, "BATCH_IMAGE_BYTES": 10, "BATCH_SPAN": 30}


def greedily(documents):
    """Documents batch by batch, as many as the limits allow and one at least; a slow twin."""
    batches = []
    for text, image, span in documents:
        held = batches[-1] if batches else []
        texts, images, spans = (sum(d[i] for d in held) for i in range(3))
        is_full = len(held) == MOST["BATCH_DOCS"] or texts >= MOST["BATCH_BYTES"]
        too_much = images + image > MOST["BATCH_IMAGE_BYTES"] or spans + span > MOST["BATCH_SPAN"]
        if not held or is_full or too_much:
            batches.append([])
        batches[-1].append((text, image, span))
    return batches


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 5, 19, 20, 21]),
            st.sampled_from([0, 1, 4, 5, 10, 11]),
            st.sampled_from([0, 1, 15, 30, 31]),
        ),
        max_size=12,
    )
)
@example([(1, 0, 0)] * 9)
@example([(5, 0, 0)] * 5)
@example([(0, 5, 0), (0, 5, 0), (0, 1, 0)])
@example([(0, 0, 15), (0, 0, 15), (0, 0, 1)])
def test_documents_are_gathered_up_to_each_limit_and_what_is_noted_is_told_once(sizes):
    noted, held = Counter(), []

    def documents():
        for row, (text, image, span) in enumerate(sizes):
            noted["read"] += 1
            images = [SourceImage("p", "p", data=bytes(image))]
            yield SourceDocument(row, str(row), "x" * text, images=images, span=span)
        noted["end"] += 1

    def make(some):
        held.append([sizes[d.row] for d in some])
        return batch_of(0, some)._replace(notes={"made": len(some)})

    with pytest.MonkeyPatch.context() as patch:
        for name, most in MOST.items():
            patch.setattr(reading, name, most)
        made = list(gathered(documents(), make, noted))
    assert [batch for batch in held if batch] == greedily(sizes)
    told = sum((Counter(batch.notes) for batch in made), Counter())
    assert told == +Counter(read=len(sizes), made=len(sizes), end=1)


def test_what_was_read_and_what_was_lost_are_accounted_for():
    failures = [Failure(row, str(row), cause, "", n) for row, cause, n in LOST]
    texts = pa.array(["abc", "é"], pa.large_string())
    ids = pa.array(["a", "b"])
    batch = make_batch(0, np.array([3, 4]), ids=ids, urls=None, texts=texts, failures=failures)
    stats = read_stats(batch).check("read")
    assert (stats.docs_in, stats.docs_out) == (5, 2)
    assert stats.failed == {"invalid_json": 1, "too_large": 2}
    assert (stats.bytes_in, stats.bytes_out, stats.bytes_removed) == (17, 5, 12)


LOST = [(0, "too_large", 7), (1, "invalid_json", 0), (2, "too_large", 5)]


def test_many_documents_come_in_several_batches(tmp_path):
    texts = [str(i) for i in range(20_000)]
    for write in (write_jsonl, write_dictionaries, write_saved):
        assert read_all(write(tmp_path, texts)).texts == texts


def test_real_corpora_read_whole(shared_data):
    got = read_all(shared_data / "text", shard_bytes=256_000)
    assert len(got.texts) == 701 + 1227 + 1000 + 2
    assert got.failures == []
    assert len(got.plan.shards) >= 30
    boolq = read_all(shared_data / "bench" / "boolq_arrow", text="passage")
    arc = read_all(shared_data / "bench" / "ai2_arc_arrow", text="question")
    assert (len(boolq.texts), len(arc.texts)) == (3270, 299 + 570)
    assert arc.ids[0].startswith("Mercury_")
