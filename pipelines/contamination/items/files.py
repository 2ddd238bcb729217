"""The files of a benchmark, as the inventory of a run has them."""

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
