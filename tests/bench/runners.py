"""What a runner costs beside plain function calls, and how much Prefect and Dask can take at all.

    python -m tests.bench.runners [--works 10 1000] [--slurm] [--json]

A work here writes one receipt and nothing else, so that what is measured is overhead: wall seconds
and CPU seconds of the flow's process and of its children that have ended. The cost of starting and
ending a runner is apart from that of the works. Ceilings: task runs a second that a flow of Prefect
makes, requests a second that its server answers, tasks a second that Dask's scheduler takes.
"""

import argparse
import contextlib
import json
import os
import resource
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.running import one_by_one
from tokenmill.flows.ended import Ended
from tokenmill.flows.executing import in_groups
from tokenmill.flows.pools.choose import open_pool
from tokenmill.flows.prefect.noted import noted
from tokenmill.flows.prefect.own import drain
from tokenmill.flows.prefect.server import own_server, user_has_server
from tokenmill.pipelines.core.options import RunOptions, Slurm
from tokenmill.pipelines.runs.work import Done, Job, Phase, Work
from tokenmill.pipelines.storage.atomic import write_json

N_TASKS, N_REQUESTS, N_DASK = 1000, 2000, 5000
CALLERS = 16


def nothing(job, key):
    return Done()


def works(n):
    return tuple(
        Work(step="s", key=f"{i:06d}", inputs="i", call=nothing, args=(f"{i:06d}",))
        for i in range(n)
    )


def cpu_s():
    return sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


@contextlib.contextmanager
def clocked(into, name):
    wall, cpu = time.perf_counter(), cpu_s()
    yield
    into[f"{name}_s"] = round(time.perf_counter() - wall, 3)
    into[f"{name}_cpu_s"] = round(cpu_s() - cpu, 3)


@contextlib.contextmanager
def fresh_job():
    with tempfile.TemporaryDirectory() as folder:
        job = Job(out=Path(folder) / "run", identity="x")
        write_json(job.manifest, {})
        yield job


def plain(n):
    row = {"runner": "plain calls", "works": n, "open_s": 0.0}
    with fresh_job() as job, clocked(row, "works"):
        one_by_one(job, Phase(name="s", works=works(n)))
    return row


def pooled(name, options, n):
    """A flow whose work opens the pool and has the works done in it."""
    row = {"runner": name, "works": n}

    def overhead():
        begun = time.perf_counter()
        with open_pool(options, job.out) as pool:
            wait_for(pool)
            row["open_s"] = round(time.perf_counter() - begun, 3)
            execute = in_groups(pool, task_seconds=options.task_seconds)
            with clocked(row, "works"):
                execute(job, Phase(name="s", works=works(n)))
        return Ended(None, "done")

    with fresh_job() as job, clocked(row, "all"):
        noted(overhead, ("overhead", name), {}, None)
    return row


def wait_for(pool):
    """Until a worker has done something: those of SLURM come when there is work."""
    with fresh_job() as job:
        pool.submit(job, works(1)).exception()  # it need not see this folder


def task_runs():
    """Task runs a second of a flow that does nothing else."""
    from prefect import flow, task
    from prefect.task_runners import ThreadPoolTaskRunner

    @task
    def empty(i):
        return i

    @flow(task_runner=ThreadPoolTaskRunner(max_workers=CALLERS))
    def flow_of_tasks():
        begun = time.perf_counter()
        for future in empty.map(list(range(N_TASKS))):
            future.wait()
        return N_TASKS / (time.perf_counter() - begun)

    return flow_of_tasks()


def api_requests(url):
    """Requests a second that read flow runs from the server's database."""
    body = json.dumps({"limit": 1}).encode()

    def ask(_):
        request = urllib.request.Request(
            f"{url}/flow_runs/filter", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()

    begun = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as callers:
        list(callers.map(ask, range(N_REQUESTS)))
    return N_REQUESTS / (time.perf_counter() - begun)


def dask_tasks():
    """Empty tasks a second that a scheduler hands to two workers and takes back."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as two,
        Client(two, set_as_default=False) as client,
    ):
        begun = time.perf_counter()
        client.gather(client.map(float, range(N_DASK), pure=False))
        return N_DASK / (time.perf_counter() - begun)


@contextlib.contextmanager
def server():
    """The user's own, whose address is not asked for, or one that is started."""
    if user_has_server():
        yield None
        return
    with own_server() as started:
        os.environ["PREFECT_API_URL"] = url = started.up()
        yield url
        drain()


def main():
    ask = argparse.ArgumentParser(prog="python -m tests.bench.runners", description=__doc__)
    ask.add_argument("--works", type=int, nargs="+", default=[10, 1000])
    ask.add_argument("--slurm", action="store_true", help="where there is one")
    ask.add_argument("--json", action="store_true")
    args = ask.parse_args()
    runners = {
        "threads": RunOptions(workers=2),
        "processes": RunOptions(runner="processes", workers=2),
        "dask": RunOptions(runner="dask", workers=2),
    }
    if args.slurm:
        of_two = Slurm(minimum=2, maximum=2, memory="1GB", walltime="00:10:00", interface="lo")
        runners["slurm"] = RunOptions(runner="slurm", slurm=of_two)
    rows, ceilings = [], {}
    with server() as url:
        for n in args.works:
            rows.append(plain(n))
            rows += [pooled(name, options, n) for name, options in runners.items()]
        ceilings["prefect_task_runs_per_s"] = round(task_runs(), 1)
        if url:
            ceilings["prefect_requests_per_s"] = round(api_requests(url), 1)
        ceilings["dask_tasks_per_s"] = round(dask_tasks(), 1)
    if args.json:
        sys.stdout.write(json.dumps({"rows": rows, "ceilings": ceilings}, indent=1) + "\n")
        return
    names = ("runner", "works", "open_s", "works_s", "works_cpu_s", "all_s", "all_cpu_s")
    for row in [dict(zip(names, names, strict=True)), *rows]:
        print("  ".join(f"{row.get(name, '')!s:>12}" for name in names))
    for name, value in ceilings.items():
        print(f"{name}  {value}")


if __name__ == "__main__":
    main()
