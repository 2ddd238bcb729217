"""Workers of a Dask cluster: one of our own on this machine, or one that is there already.

Needs the extra `cluster`. Tasks carry the names of files and small settings; no data goes through
the scheduler. A task whose worker dies is done again by another, where receipts spare what was
finished.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster

from tokenmill.flows.pools.pool import WorkerDiedError
from tokenmill.flows.progress import watcher
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.bundle import do_bundle, stop_bundles, versions
from tokenmill.pipelines.runs.work import Job, Outcome, Work

LOST = "the Dask scheduler is gone; the same command continues, also with another --runner"
MOST_LANES = 16
CONNECT_S = 15
POLL_S = 5.0
LOOPBACK = "127.0.0.1"
# only where the user's own configuration of Dask says nothing
SETTINGS = {
    "distributed.scheduler.no-workers-timeout": "30 minutes",  # else a run without any hangs
    "distributed.scheduler.allowed-failures": 2,  # workers that a task may kill, less one
    "distributed.worker.memory.spill": False,  # results are small; a worker's memory is ours
    "distributed.worker.memory.target": False,
    # each process wakes 100 times a second for statistics of its own, which nobody looks at here
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.profile.enabled": False,
}


class DaskPool:
    """Has bundles done by a client's cluster.

    most_workers: of a cluster that grows with what there is to do; None: as many as it has.
    refusals: why no more workers come, as far as is known; may grow.
    restart: begins workers anew that went for good; asked while nothing ends.
    """

    bundles = True

    def __init__(
        self,
        client: Client,
        most_workers: int | None = None,
        refusals: Sequence[str] = (),
        restart: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._most, self._refusals = client, most_workers, refusals
        self._restart, self._name = restart, uuid.uuid4().hex
        self._do = partial(do_bundle, within=parking, of=self._name)

    @property
    def n_workers(self) -> int:
        return self._most or max(sum(threads_of(self._client).values()), 1)

    @property
    def lanes(self) -> int:
        return min(self.n_workers + 1, MOST_LANES)

    def submit(self, job: Job, works: Sequence[Work]) -> "Future[list[Outcome]]":
        if self._client.status != "running":
            raise ConfigError(LOST)
        key = f"{works[0].step}-{works[0].key}-{len(works)}-{id(works):x}"
        with _asking():
            task = self._client.submit(self._do, job, tuple(works), versions(), key=key, pure=False)
        done: Future[list[Outcome]] = Future()
        task.add_done_callback(lambda ended: _hand_over(self._client, ended, done))
        return done

    def check(self) -> None:
        stop_if_refused(self._client, self._refusals)
        self._restart()

    def stop(self) -> None:
        with suppress(OSError, ValueError):  # without a scheduler nothing begins
            self._client.run(stop_bundles, self._name, on_error="ignore")


@contextmanager
def _asking() -> Iterator[None]:
    """Ask the scheduler something; that it has died may be learnt by that."""
    try:
        yield
    except OSError as e:  # CommClosedError, TimeoutError
        raise ConfigError(LOST) from e


def threads_of(client: Client) -> Mapping[str, int]:
    """Threads of each worker, by its address; ConfigError where the scheduler is gone."""
    with _asking():
        found: Mapping[str, int] = client.nthreads()
        return found


def _hand_over(client: Client, ended: Any, done: "Future[list[Outcome]]") -> None:
    """Tell a future of ours how one of Dask's ended."""
    try:
        done.set_result(_result(client, ended))
    except KilledWorker as e:
        done.set_exception(WorkerDiedError(str(e)))
    except CancelledError:
        done.set_exception(ConfigError(LOST))
    except Exception as e:  # noqa: BLE001 - told by the future
        done.set_exception(e)


def _result(client: Client, ended: Any) -> list[Outcome]:
    """What a task returned, however long that takes: a worker that dies takes results with it,
    and another, which may yet have to be started, does their tasks again.
    """
    while True:
        try:
            outcomes: list[Outcome] = ended.result(timeout=CONNECT_S)
        except TimeoutError:
            if client.status != "running":  # asking it would hang
                raise ConfigError(LOST) from None
        else:
            return outcomes


@contextmanager
def dask_pool(address: str | None, wanted: int | None) -> Iterator[DaskPool]:
    """Workers of the scheduler at `address`, or `wanted` ones here; ConfigError if none answers."""
    with configured():
        if address is None:
            with _local(wanted) as cluster, Client(cluster, set_as_default=False) as client:
                yield DaskPool(client, restart=partial(_restart, cluster, client))
            return
        try:
            client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as e:
            raise ConfigError(
                f"{address}: no Dask scheduler answers there within {CONNECT_S} s"
                f" ({type(e).__name__}); start one with: dask scheduler"
            ) from e
        with client:
            await_workers(client, f"the Dask scheduler at {address}")
            yield DaskPool(client)


@contextmanager
def configured() -> Iterator[None]:
    """Dask's settings as runs need them, where the user has not set them."""
    default = dask.config.merge(*dask.config.defaults)
    of = partial(dask.config.get, config=default)
    unset = {k: v for k, v in SETTINGS.items() if dask.config.get(k) == of(k)}
    for name in ("distributed", "distributed.client"):  # each has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is told by outcomes
    with dask.config.set(unset):
        yield


def await_workers(
    client: Client,
    name: str,
    refusals: Sequence[str] = (),
    restart: Callable[[], None] = lambda: None,
) -> None:
    """Wait for a worker, and say what for; see DaskPool. ConfigError where none will come."""
    if not threads_of(client):
        watcher.get().tell(f"waiting for a worker of {name}")
    while not threads_of(client):
        stop_if_refused(client, refusals)
        restart()
        try:
            client.wait_for_workers(1, timeout=POLL_S)
        except TimeoutError:
            continue


def stop_if_refused(client: Client, refusals: Sequence[str]) -> None:
    """Raise ConfigError, the newest refusal, if there is no worker and none will come."""
    if refusals and not threads_of(client):
        raise ConfigError(refusals[-1])


def _local(wanted: int | None) -> LocalCluster:
    return LocalCluster(
        n_workers=wanted,
        threads_per_worker=1,
        processes=True,
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        silence_logs=logging.CRITICAL,
    )


def _restart(cluster: LocalCluster, client: Client) -> None:
    """A worker that is killed while it starts, or starts slowly, is given up by Dask for good."""
    if len(threads_of(client)) < len(cluster.worker_spec):
        cluster.scale(len(cluster.worker_spec))
