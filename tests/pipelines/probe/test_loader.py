"""Ids from files to batches; what was asked for is counted against what was used."""

import itertools

import numpy as np
import pytest

from tests.pipelines.probe.corpora import SEQ_LEN, documents, packed
from tests.pipelines.probe.loaders import Leaky
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import device_bytes
from tokenmill.pipelines.probe.loader import DEPTHS, ORDERS, Loader, Reading
from tokenmill.pipelines.probe.shards import open_dataset


def reading(folder, *, order="sequential", depth="full", sequences=4, seq_len=SEQ_LEN, **others):
    made = {"rank": 0, "ranks": 1, "seed": 5, "chunk_rows": 3, **others}
    return Reading(
        shards=open_dataset(folder),
        order=order,
        depth=depth,
        sequences=sequences,
        seq_len=seq_len,
        **made,
    )


def an_epoch(loader):
    """All batches that one epoch gives."""
    batches = loader.batches()
    return [b for b in itertools.takewhile(lambda _: loader.counters.epochs == 0, batches)]


def test_sequential_batches_are_the_ids_in_order(tmp_path):
    made = an_epoch(Loader(reading(packed(tmp_path / "d"))))
    ids = np.concatenate(made).ravel()
    assert np.array_equal(np.roll(np.arange(len(ids)), -ids[0]), ids)
    assert made[0].shape == (4, SEQ_LEN)
    assert made[0].dtype == np.int64


@pytest.mark.parametrize("order", ORDERS)
def test_every_id_of_a_packed_dataset_is_in_one_batch(tmp_path, order):
    made = an_epoch(Loader(reading(packed(tmp_path / "d"), order=order)))
    assert sorted(np.concatenate(made).ravel()) == list(range(6 * 32 * SEQ_LEN))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seq_len", [1, 7, 64, 500])
def test_documents_follow_one_another(tmp_path, order, seq_len):
    folder = documents(tmp_path / "d", [5, 0, 90, 700, 1, 13] * 5)
    loader = Loader(reading(folder, order=order, sequences=1, seq_len=seq_len))
    ids = np.concatenate(an_epoch(loader)).ravel()
    assert len(set(ids)) == len(ids) > 4045 - 2 * seq_len


def test_the_shuffle_buffer_loses_nothing(tmp_path):
    loader = Loader(reading(packed(tmp_path / "d"), order="chunked", buffer=50))
    first = next(loader.batches())
    assert loader.counters.useful_bytes >= 54 * SEQ_LEN * 2
    assert len(set(first[:, 0])) == 4
    many = [b for b, _ in zip(loader.batches(), range(60), strict=False)]
    heads = {int(row[0]) for batch in many for row in batch}
    assert len(heads) > 150  # of 192, some of which still wait


@pytest.mark.parametrize("order", ORDERS)
def test_each_depth_asks_for_the_same_bytes(tmp_path, order):
    folder, asked = packed(tmp_path / "d"), set()
    for depth in DEPTHS:
        loader = Loader(reading(folder, order=order, depth=depth))
        assert len(an_epoch(loader)) >= 46
        asked.add((loader.counters.logical_bytes, loader.counters.reads))
        assert loader.counters.logical_bytes == loader.counters.useful_bytes
    assert len(asked) == 1
    whole, batch = 6 * 32 * SEQ_LEN * 2, 32 * SEQ_LEN * 2
    assert whole < asked.pop()[0] <= whole + batch  # the next epoch has begun


@pytest.mark.parametrize("order", ORDERS)
def test_raw_bytes_are_those_of_the_decoded_ids(tmp_path, order):
    folder = documents(tmp_path / "d", [5, 0, 90, 700, 1, 13] * 5)
    raw, arrow = (Loader(reading(folder, order=order, depth=d)) for d in ("raw", "arrow"))
    both = zip(itertools.islice(raw._ids(), 12), itertools.islice(arrow._ids(), 12), strict=True)
    for mine, theirs in both:
        assert np.array_equal(mine, theirs)


def test_a_loader_that_discards_most_of_each_batch_shows_as_amplification(tmp_path):
    loader = Leaky(reading(packed(tmp_path / "d")))
    next(loader.batches())
    counters = loader.counters
    assert 6.5 < counters.logical_bytes / counters.useful_bytes < 7.5


def test_the_device_is_read_as_often_as_that(tmp_path, disk):
    folder = packed(disk / "d", batches=8, rows=512, seq_len=512, per_file=8)
    amplification = {}
    for kind in (Loader, Leaky):
        loader = kind(reading(folder, seq_len=512))
        loader.reading.shards.medium.evict(loader.reading.shards.files)
        before = device_bytes()
        an_epoch(loader)
        fetched = device_bytes() - before
        amplification[kind] = fetched / loader.counters.useful_bytes
    assert 0.95 < amplification[Loader] < 2
    assert amplification[Leaky] > 5


def test_one_document_is_read_again_and_again(tmp_path):
    loader = Loader(reading(documents(tmp_path / "d", [10]), rank=2, ranks=3))
    batch = next(loader.batches())
    assert np.array_equal(batch.ravel(), np.tile(np.arange(10), 26)[:256])
    assert loader.counters.epochs >= 25


@pytest.mark.parametrize("depth", DEPTHS)
def test_rows_without_ids_end_in_words(tmp_path, depth):
    folder = documents(tmp_path / "d", [0, 0, 0])
    with pytest.raises(ConfigError, match="its rows hold no tokens"):
        next(Loader(reading(folder, depth=depth)).batches())
