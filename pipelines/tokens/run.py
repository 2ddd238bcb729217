"""The run directory as those see it who make its dataset: where ids lie, and how they are made."""

from dataclasses import dataclass
from pathlib import Path

from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.tokens.options import Mix, Output, Tokenizer
from tokenmill.pipelines.tokens.tokenize import Engine, load_engine

TOKENS = Folder("90-tokens", "{split}/part-{key}.arrow", of_pass=False)  # ids by input shard


@dataclass(frozen=True, kw_only=True)
class Tokenizing:
    """How documents become a dataset.

    images: of documents that have any.  of_pages: they are pages of web archives.
    mix: shares by source, in place of `weights`, which are those of the inputs.
    """

    tokenizer: Tokenizer
    output: Output
    images: Images | None = None
    of_pages: bool = False
    mix: Mix | None = None
    weights: tuple[float, ...] = ()

    def engine(self) -> Engine:
        """The tokenizer, loaded once a process.

        Raises:
            ConfigError: see `load_engine`.
        """
        token = None if self.images is None else self.images.token
        return load_engine(self.tokenizer, self.output.dtype, token)


@dataclass(frozen=True, kw_only=True)
class TokenRun(RunFolder):
    """A run directory that gets a dataset."""

    @property
    def tokenizing(self) -> Tokenizing:
        raise NotImplementedError

    @property
    def dataset(self) -> Path:
        return self.out / "dataset"
