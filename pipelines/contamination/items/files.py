"""The files of benchmarks, and benchmarks that lie in the corpus itself."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from tokenmill.pipelines.contamination.items.hub import is_hub
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.shard import InputFile
from tokenmill.pipelines.storage.inputs import expand


def files_of(benchmark: Benchmark) -> list[InputFile]:
    """The files of a benchmark; none of a set on the hub, whose items an index keeps the digest of.

    Raises:
        ConfigError: nothing is there, it may not be read, or the store does not answer.
    """
    if is_hub(benchmark.path):
        return []
    try:
        return expand(benchmark.path)
    except (InputError, OSError) as e:
        raise ConfigError(f"benchmark {benchmark.name!r}: {e}") from None


class Inside(NamedTuple):
    """A benchmark and those of its files that are files of the corpus, as the corpus has them."""

    benchmark: Benchmark
    files: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return (
            f"benchmark {self.benchmark.name!r}: {self.files[0]}{more} is also read as corpus,"
            " which would find every item; move it out of the corpus, or narrow the corpus"
            " to a pattern such as FOLDER/*.parquet"
        )


def inside(benchmarks: Iterable[Benchmark], corpus_paths: Iterable[str]) -> list[Inside]:
    """The benchmarks that have files in the corpus.

    corpus_paths: files, folders and patterns, as `pipelines.storage.inputs.expand` takes them.

    Raises:
        ConfigError: a benchmark or a path of the corpus does not exist, or its store does not
            answer.
    """
    corpus = {_real(f.path): f.path for path in corpus_paths for f in _files(path)}
    by_benchmark = ((b, [corpus.get(_real(f.path)) for f in files_of(b)]) for b in benchmarks)
    shared = [(b, tuple(path for path in paths if path is not None)) for b, paths in by_benchmark]
    return [Inside(benchmark, paths) for benchmark, paths in shared if paths]


def _files(path: str) -> list[InputFile]:
    try:
        return expand(path)
    except (InputError, OSError) as e:
        raise ConfigError(str(e)) from None


def _real(path: str) -> str:
    return path if "://" in path else os.path.realpath(path)
