"""A local file that a recipe names, and whose bytes decide what a run does."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import model_validator

from tokenmill.pipelines.config import Config, FilePath
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.roots import within_roots


class PinnedFile(Config):
    """A file and the digest of its bytes, so that a run with other bytes is another run.

    file: on this machine.
    sha256: found when the recipe is read, unless it stands there; checked before the file is used.
    """

    way: ClassVar[str] = "check the path"  # out, where it cannot be read

    file: FilePath
    sha256: str = ""

    @model_validator(mode="before")
    @classmethod
    def _pin(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "sha256" in data or not isinstance(data.get("file"), str):
            return data
        path = Path(within_roots(data["file"])).expanduser()
        try:
            found = {**data, "sha256": sha256_of(path)}
        except ConfigError as e:
            raise ConfigError(f"{e}; {cls.way}") from e
        cls.look(path, found)
        return found

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        """Look into the file while its recipe is read, so that a mistake shows before work starts.

        Raises:
            ConfigError: it is not what the settings say.
        """

    def checked(self) -> Path:
        """The file, its bytes being those that the run began with.

        Raises:
            ConfigError: they are not, or it cannot be read.
        """
        _check(self.file, self.sha256)
        return Path(self.file)


@cache  # once a process: the file is read over for it
def _check(path: str, sha256: str) -> None:
    if sha256_of(Path(path)) != sha256:
        raise ConfigError(f"{path} has changed since the run began; put it back")


def sha256_of(path: Path) -> str:
    """The digest of a file, in hexadecimal.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        with path.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read ({e.strerror})") from e
