"""JSON Lines of any kind: reading them by the step and by a bare loop, and who holds Python's lock.

    python -m tests.bench.jsonl PATH … [--runs 5]

MB of text per CPU second of the process, of each file in turn by both, and the median of the
ratios. The loop is isal (of .gz) and orjson, as in `make bench`: no ids, no checks, no batches.
With gilknocker installed, the share of the step's time in which a thread that asks each millisecond
finds the lock held.
"""

import argparse
import statistics
import time
from contextlib import suppress

import isal.igzip
import orjson
import pyarrow.compute as pc

from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m tests.bench.jsonl", description=__doc__)
    ask.add_argument("paths", nargs="+")
    ask.add_argument("--runs", type=int, default=5)
    asked = ask.parse_args()
    for path in asked.paths:
        shards = plan_inputs((Input(path=path),), 1 << 40).shards
        size = by_step(shards)
        by_loop(path, shards[0].text)
        took = [(timed(by_step, shards), timed(by_loop, path, shards[0].text))
                for _ in range(asked.runs)]  # fmt: skip
        step, loop = (size / 1e6 / statistics.median(of) for of in zip(*took, strict=True))
        ratio = statistics.median(other / own for own, other in took)
        print(
            f"{path}: {size / 1e6:.1f} MB, {step:.0f} MB/s, the loop {loop:.0f}, {ratio:.2f} of it"
        )
        with suppress(ImportError):
            print(f"    the lock is held {held(shards):.0%} of the time")


def by_step(shards) -> int:
    batches = (batch for shard in shards for batch in read_shard(shard, limits=Limits()))
    return sum(pc.sum(pc.binary_length(b.documents["text"])).as_py() or 0 for b in batches)


def by_loop(path, name) -> int:
    with (isal.igzip.open if path.endswith(".gz") else open)(path, "rb") as lines:
        return len([orjson.loads(line)[name] for line in lines])


def timed(work, *of) -> float:
    began = time.process_time()
    work(*of)
    return time.process_time() - began


def held(shards) -> float:
    from gilknocker import KnockKnock

    knocker = KnockKnock(polling_interval_micros=1000)
    knocker.start()
    for _ in range(5):
        by_step(shards)
    knocker.stop()
    return knocker.contention_metric


if __name__ == "__main__":
    main()
