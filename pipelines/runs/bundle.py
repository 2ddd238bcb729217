"""Bundles: works done in turn by one process, which may be another one on another machine.

What a process needs for them is looked at once: that it sees the run directory, and that its
libraries are those of the process that began the run, since other ones may make other bytes.
"""

import pickle
import platform
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile

import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.core.plugins import plugin_versions
from tokenmill.pipelines.runs.work import Job, Outcome, Work, attempt
from tokenmill.pipelines.storage.mirror import join_run

# whose output is, or decides, what a run writes; those that are extras count where they are
# installed at its beginning
LIBRARIES = (
    "tokenmill",
    "numpy",
    "numba",
    "pyarrow",
    "tokenizers",
    "gigatoken",
    "xxhash",
    "pillow",
    "resiliparse",
    "w3lib",
    "trafilatura",
    "chardet",
    "py3langid",
    "eldc",
    "spacy",
    *("jieba", "sudachipy", "sudachidict_core", "pythainlp", "pyvi", "indic-nlp-library"),
    "kenlm",
    "sentencepiece",
)

_stopped: set[str] = set()


def versions() -> Mapping[str, str]:
    """Of Python, the libraries that decide what a run writes, and the plug-ins."""
    return {**_library_versions(), **plugin_versions()}


@cache
def _library_versions() -> Mapping[str, str]:
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def do_bundle(
    job: Job,
    works: Sequence[Work],
    wanted: Mapping[str, str] | None = None,
    *,
    within: Callable[[str], AbstractContextManager[object]] = nullcontext,
    of: str = "",
) -> list[Outcome]:
    """Do works in turn; how each ended can be sent to another process.

    wanted: versions that this process must have, as `versions` tells them.
    within: opened with the run's identity around the works: what they may leave for each other.
    of: whom `stop_bundles` names, to have no work begin any more.
    ConfigError: this process cannot work on the run, or no other could go on either.
    """
    if wanted is not None:
        check_process(job, wanted)
        pa.set_cpu_count(1)  # there is a process for each core
    with within(job.identity):
        left = takewhile(lambda _work: of not in _stopped, works)
        ended = (attempt(job, work) for work in left)
        return [replace(o, error=o.error and sendable(o.error)) for o in ended]


def stop_bundles(of: str) -> None:
    """Have bundles of this process, of one that submitted them, begin no work any more."""
    _stopped.add(of)


def check_process(job: Job, wanted: Mapping[str, str]) -> None:
    """ConfigError, naming machine and lack, where the run is not seen, or libraries differ."""
    host, here = socket.gethostname(), versions()
    other = [f"{n} {here.get(n, 'none')}, not {v}" for n, v in wanted.items() if here.get(n) != v]
    if other:
        raise ConfigError(
            f"worker on {host}: has {'; '.join(other)}; install there what the run began with"
        )
    if job.remote is not None:
        try:
            join_run(job.out, job.remote, job.options.scratch_bytes)
        except ConfigError as e:
            raise ConfigError(f"worker on {host}: {e}") from e
    elif not job.manifest.is_file():
        raise ConfigError(
            f"worker on {host}: does not see {job.out}; put --out on a file system that all workers"
            " share, or on s3://"
        )


def sendable(error: BaseException) -> BaseException:
    """The error, or one that tells of it where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever an error of some library does there
        notes = getattr(error, "__notes__", ())
        return ShardError(" ".join((f"{type(error).__name__}: {error}", *notes)))
    return error
