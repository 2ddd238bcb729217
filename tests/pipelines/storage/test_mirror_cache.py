"""Files of a store that lie here too: bounded, fetched once, and never a work's own."""

import os
import threading
import time

import pytest

from tokenmill.pipelines.storage import mirror
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
