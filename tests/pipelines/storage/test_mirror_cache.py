"""Files of a store that lie here too: bounded, fetched once, and never a work's own."""

import os
import threading
import time

import pytest

from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import PARTIAL
from tokenmill.pipelines.storage.mirror import Cache


def test_the_cache_is_bounded_and_keeps_what_is_a_work_own(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "GRACE_S", 0.0)
    cache = Cache(tmp_path, most_bytes=1000)
    (tmp_path / "own").write_bytes(bytes(5000))
    for i in range(100):
        path = tmp_path / "f" / str(i)
        with cache.adding(path) as partial:
            partial.write_bytes(bytes(100))
        assert cache.touch(path)
        assert cache.touch(tmp_path / "f" / "0") or i > 12
        kept = sorted(int(p.name) for p in (tmp_path / "f").iterdir())
        assert sum(100 for _ in kept) <= 1000 * 9 / 8
        assert kept[-1] == i
        os.utime(path, ns=(i, i))
    assert (tmp_path / "own").exists()


def test_a_file_that_is_mapped_may_go(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "GRACE_S", 0.0)
    cache = Cache(tmp_path, most_bytes=8)
    with cache.adding(tmp_path / "a") as partial:
        partial.write_bytes(b"12345678")
    assert not (tmp_path / "a").exists()


def test_a_file_that_was_just_asked_for_stays_and_one_used_long_ago_goes(tmp_path):
    cache = Cache(tmp_path, most_bytes=8)
    for name in "abc":
        with cache.adding(tmp_path / name) as partial:
            partial.write_bytes(bytes(100))
        assert (tmp_path / name).exists()
        os.utime(tmp_path / name, (0, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert cache.touch(tmp_path / "c")
    with cache.adding(tmp_path / "d") as partial:
        partial.write_bytes(bytes(100))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "d"]


def test_what_a_work_wrote_may_go_once_the_store_has_it_and_what_is_being_written_not(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(mirror, "GRACE_S", 0.0)
    cache, writing = Cache(tmp_path, most_bytes=8), tmp_path / f"c{PARTIAL}{'0' * 32}"
    for path in (tmp_path / "a", tmp_path / "b", writing):
        path.write_bytes(bytes(100))
    writing.chmod(0o400)  # as it is in the moment before it has its name
    cache.published(tmp_path / "a", 100)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "b", writing]


def test_a_file_is_fetched_once_by_threads_that_want_it_at_once(tmp_path):
    cache, fetched_by = Cache(tmp_path), []

    def want():
        with cache.adding(tmp_path / "a") as partial:
            if partial is not None:
                fetched_by.append(threading.current_thread())
                time.sleep(0.1)
                partial.write_bytes(b"x")

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetched_by) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_fetch_that_fails_leaves_nothing(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(KeyError), cache.adding(tmp_path / "a") as partial:
        partial.write_bytes(b"half")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_was_set_back_keeps_no_file_for_ever(tmp_path):
    cache = Cache(tmp_path, most_bytes=8)
    for name in "abc":
        with cache.adding(tmp_path / name) as partial:
            partial.write_bytes(bytes(100))
        os.utime(tmp_path / name, (time.time() + 1e6, time.time() + 1e6))
    with cache.adding(tmp_path / "d") as partial:
        partial.write_bytes(bytes(100))
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
