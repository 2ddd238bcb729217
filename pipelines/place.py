"""Where a run directory is: a folder here, or a prefix of a bucket."""

from pathlib import Path
from typing import TypeAlias

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.object_store_settings import bucket_and_key, is_remote

Place: TypeAlias = Path | str  # a string is s3://bucket/prefix


def place(text: str) -> Place:
    """What a command line names: a folder here, or an address, which is checked.

    Raises:
        ConfigError: it names no bucket, no prefix, or credentials.
    """
    if not is_remote(text):
        return Path(text)
    bucket, key = bucket_and_key(text)
    if not key:
        raise ConfigError(f"{text}: a whole bucket; name a prefix in it, as s3://{bucket}/run")
    return f"s3://{bucket}/{key}"


def folder_here(text: str) -> Path:
    """What a command line names that can be on this machine only.

    Raises:
        ConfigError: it is an address.
    """
    if is_remote(text):
        raise ConfigError(
            f"{text}: only inputs and runs of prepare can be on s3://; give a path of this machine"
        )
    return Path(text)


def below(out: Place, name: str) -> str:
    """A file of a run directory, as the user would name it."""
    return f"{out}/{name}" if is_remote(out) else str(Path(out).absolute() / name)
