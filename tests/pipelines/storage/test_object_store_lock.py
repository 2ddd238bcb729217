"""One run at a time below a prefix, whatever happens to the others and to the answers."""

import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.storage import lock as object_store_lock
from tokenmill.pipelines.storage.lock import Lock, held_lock
from tokenmill.pipelines.storage.s3 import ObjectStore

BUCKET = "locks"


@pytest.fixture(autouse=True)
def s3(reached_s3):
    reached_s3.client().create_bucket(Bucket=BUCKET)
    return reached_s3


@pytest.fixture
def store(request):
    return ObjectStore(f"s3://{BUCKET}/{request.node.name.partition('[')[0]}/run")


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(object_store_lock, "RENEW_S", 0.1)
    monkeypatch.setattr(object_store_lock, "EXPIRES_S", 2)


def wait_for(reached):
    end = time.monotonic() + 1000
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_lock_keeps_others_out_and_lets_them_in_again(store):
    with held_lock(store):
        with pytest.raises(ConfigError) as e, held_lock(store):
            pass
        assert "another run is at work in it, on " in str(e.value)
        assert "if it was killed, the same command continues in " in str(e.value)
        assert str(e.value).endswith(" s")
    with held_lock(store):
        assert store.get(".lock") is not None
    assert store.get(".lock") is None


def test_a_lock_is_renewed(store, monkeypatch):
    monkeypatch.setattr(object_store_lock, "RENEW_S", 0.1)
    with held_lock(store) as lock:
        begun = time.monotonic()
        while store.get(".lock").age_s > (held_s := time.monotonic() - begun) - 2:
            assert held_s < 500
            time.sleep(0.1)
        assert not lock.lost.is_set()
        with pytest.raises(ConfigError, match="another run is at work"), held_lock(store):
            pass


def test_a_lock_that_is_not_renewed_expires_by_the_clock_of_the_store(store, monkeypatch):
    store.put(".lock", b'{"owner": "another", "host": "elsewhere"}')
    with pytest.raises(ConfigError, match=r"on elsewhere; wait .* continues in \d\d? s"):
        Lock(store).take()
    monkeypatch.setattr(object_store_lock, "EXPIRES_S", 1)
    wait_for(lambda: store.get(".lock").age_s > 1)
    with held_lock(store):
        pass


@pytest.mark.parametrize("data", [b"", b"[]", b"{"])
def test_a_lock_that_says_nothing_holds_too(store, data):
    store.put(".lock", data)
    with pytest.raises(ConfigError, match="at work in it, on another machine"):
        Lock(store).take()
    store.forget(".lock")


def test_a_lock_of_a_process_here_that_is_dead_is_taken_at_once(store):
    code = "from tokenmill.pipelines.storage.lock import Lock;"
    code += "from tokenmill.pipelines.storage.s3 import *;"
    subprocess.run(
        [sys.executable, "-c", f"{code} Lock(ObjectStore({store.address!r})).take(); os._exit(9)"],
        check=False,
    )
    assert store.get(".lock") is not None
    with held_lock(store):
        pass


HERE = object_store_lock._place()
NOBODY = 2**22 + 1  # above the largest pid that Linux gives


@pytest.mark.parametrize(
    ("place", "pid", "is_taken"),
    [
        (HERE, NOBODY, True),
        (HERE, os.getpid(), False),
        (HERE, os.getppid(), False),
        (HERE, None, False),
        ("another boot", NOBODY, False),
        (None, NOBODY, False),
    ],
    ids=["dead", "this process", "alive", "no pid", "elsewhere", "somewhere"],
)
def test_only_the_lock_of_a_process_that_is_known_to_be_dead_is_taken(store, place, pid, is_taken):
    store.put(".lock", json.dumps({"owner": "x", "place": place, "pid": pid}).encode())
    refused = pytest.raises(ConfigError, match="at work")
    with nullcontext() if is_taken else refused, held_lock(store):
        pass
    store.forget(".lock")


def test_of_two_that_find_a_dead_lock_the_first_has_it(store):
    store.put(".lock", json.dumps({"owner": "x", "place": HERE, "pid": NOBODY}).encode())

    def another_is_faster(params, **_):
        if "If-Match" in params["headers"]:
            store.put(".lock", b'{"owner": "y", "host": "elsewhere"}')

    events = store._client.meta.events
    events.register("before-call.s3.PutObject", another_is_faster)
    try:
        with pytest.raises(ConfigError, match="another run is at work in it, on elsewhere"):
            Lock(store).take()
    finally:
        events.unregister("before-call.s3.PutObject", another_is_faster)
    assert store.get(".lock").data == b'{"owner": "y", "host": "elsewhere"}'
    store.forget(".lock")


def test_a_renewal_that_fails_is_tried_again(s3, store, monkeypatch):
    monkeypatch.setattr(object_store_lock, "RENEW_S", 0.05)
    monkeypatch.setattr(object_store_lock, "AGAIN_S", 0.05)

    with held_lock(store) as lock:
        s3.proxy.rates, s3.proxy.only = {"reset": 1.0}, frozenset({"PUT"})
        wait_for(lambda: s3.proxy.faults["reset"] > 0)
        s3.proxy.forget()
        wait_for(lambda: s3.proxy.requests["PUT"] > 2)
        assert not lock.lost.is_set()


def test_a_lock_that_was_taken_away_is_lost(store, quick):
    with held_lock(store) as lock:
        store.put(".lock", b'{"owner": "another"}')
        assert lock.lost.wait(1000)
    assert store.get(".lock").data == b'{"owner": "another"}', "it is not ours to delete"
    store.forget(".lock")


def test_a_lock_is_ours_though_the_answer_was_lost(s3, store, monkeypatch):
    monkeypatch.setattr(object_store_lock, "RENEW_S", 0.05)
    s3.proxy.rates, s3.proxy.only = {"truncate": 0.5}, frozenset({"PUT"})
    for n in range(1, 5):
        with held_lock(store) as lock:
            wait_for(lambda: s3.proxy.faults["truncate"] > 2 * n)  # noqa: B023 - called here
            assert not lock.lost.is_set()


def test_a_store_that_is_gone_is_not_waited_for_and_knows_its_process_again(s3, store):
    with held_lock(store):
        s3.proxy.rates = {"slow_down": 1.0}
        start = time.monotonic()
    assert time.monotonic() - start < 15
    s3.proxy.forget()
    assert store.get(".lock") is not None
    with held_lock(store):
        pass
