"""Works that end, fail, and kill their process. Workers import them, so that they import little."""

import errno
import os
import signal
import threading
import time

from tokenmill.flows.executing import Lane, Pace
from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.runs.work import Done, Work

N = 12


def tried(job, key):
    path = job.out / "tried" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as f:
        f.write(f"{os.getpid()}\n")


def fine(job, key):
    tried(job, key)
    return Done(facts={"key": key})


def wrong(job, key):
    tried(job, key)
    if key == "05":
        raise InputError("docs.jsonl: truncated", cause="truncated_gzip")
    return Done()


def deadly(job, key):
    tried(job, key)
    if key == "05":
        os.kill(os.getpid(), signal.SIGKILL)
    return Done()


def unlucky(job, key):
    """Its process is killed the first time, as when a node is lost."""
    tried(job, key)
    if key == "05" and len((job.out / "tried" / key).read_text().split()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return Done()


def full(job, key):
    raise OSError(errno.ENOSPC, "No space left on device")


def endless(job, key):
    tried(job, key)
    time.sleep(1000)


def by_whom(job, key):
    around = {name: os.environ.get(name) for name in ("HOME", "SET_SINCE")}
    return Done(facts={"pid": os.getpid(), "around": around})


def strange(job, key):
    class LocalError(Exception):
        """Cannot be pickled."""

    raise LocalError(f"at {key}")


def run(pool, job, call, n=N):
    """All works in bundles of some; how they ended, by key."""
    works = [
        Work(step="s", key=f"{i:02d}", inputs="i", call=call, args=(f"{i:02d}",)) for i in range(n)
    ]
    told = []
    pace = Pace(0.5)
    outcomes = Lane(pool, pace, told.append, threading.Event()).run(job, [[w] for w in works])
    assert sorted(o.work.key for o in told) == [w.key for w in works]
    return {o.work.key: o for o in outcomes}
