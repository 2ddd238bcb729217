import time
from contextlib import ExitStack
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tokenmill.pipelines.measure.drawn import exact
from tokenmill.pipelines.measure.predict import Seconds
from tokenmill.pipelines.measure.scan import START, PartFacts, _Tally, write_s_per_byte
from tokenmill.pipelines.runs.receipt import Receipt


def told(write=2e-9, **seconds):
    facts = PartFacts(seconds=seconds, write_s_per_byte=write, sums={}, damage=[])
    return Receipt(step="scan", key="0", inputs="", facts=facts)


def test_seconds_of_the_parts_are_those_of_the_run():
    seconds = Seconds([told(read=1.0), told(read=2.0, keys=5.0)], seed=0)
    assert seconds.of("read", 100.0).value == pytest.approx(0.03)
    low, high = seconds.of("read", 100.0).limits()
    assert 0.012 < low < 0.018
    assert 0.05 < high < 0.075
    assert seconds.of("read", 0).value == 0
    assert seconds.writing(exact(1e9)).value == pytest.approx(2)


def test_no_seconds_of_a_sample_are_none():
    sample = SimpleNamespace(sums={"seconds": exact(0).draws})
    assert Seconds([told()], seed=0).sampled(sample).value == 0


def test_what_was_compiled_is_not_sure_to_be_compiled_again():
    start = Seconds([told(**{START: 4.0})], seed=0).start()
    assert start.value == 4
    low, high = start.limits()
    assert low < 0.5
    assert 4 <= high < 8


def test_writing_is_timed_once_and_leaves_no_file(tmp_path):
    began = time.thread_time()
    first = write_s_per_byte(tmp_path, 1)
    assert 0 < first < (time.thread_time() - began) / 1e6
    assert write_s_per_byte(tmp_path, 1 << 30) == first
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("step", "seconds"), [("near", 4.0), ("exact", 0.3), ("same_url", 0.3)])
def test_what_clusters_cost_is_told_by_documents(step, seconds):
    found = Seconds([told()], seed=0).clustering(step, exact(1e6))
    assert found.value == pytest.approx(seconds)
    low, high = found.limits()
    assert 0.05 < low / seconds < 0.2
    assert 1.5 < high / seconds < 4
    assert Seconds([told()], seed=0).thumbnails(exact(1_000)).value == pytest.approx(2.0)


def test_a_batch_is_gone_through_once_and_one_of_its_documents_twice_where_a_stage_is_new():
    first_pass, seen = SimpleNamespace(stages=()), []
    tally = _Tally(SimpleNamespace(first_pass=first_pass, later_stages=()), None, ExitStack())
    batch = pa.record_batch({"text": ["a", "bb", "ccc"]})
    for _ in range(2):
        tally.timed("of this test alone", lambda some: seen.append(some.num_rows), batch)
    assert seen == [1, 1, 3, 3]
