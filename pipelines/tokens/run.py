"""The run directory as those see it who make its dataset: where ids lie, and how they are made."""

from dataclasses import dataclass
from pathlib import Path

from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import SPOOL, RunFolder
from tokenmill.pipelines.tokens.options import Mix, Output, Tokenizer
from tokenmill.pipelines.tokens.tokenize import Engine, load_engine


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

    def tokens(self, split: str, key: str) -> Path:
        """Ids by input shard."""
        return self.out / "90-tokens" / split / f"part-{key}.arrow"

    def bucket_counts(self, split: str, group: int) -> Path:
        return self.out / "91-mix" / split / f"counts-{group:05d}.arrow"

    def buckets(self, split: str, group: int, block: int) -> Path:
        """Ids of groups of shards, each copy in the bucket of its place."""
        return self.out / "91-mix" / split / f"group-{group:05d}-{block:05d}.arrow"

    def sampled_out(self, key: str) -> Path:
        """A row for every document that no epoch has."""
        return self.out / "removed" / f"part-{key}.mix.parquet"

    def webdataset(self, split: str, key: str) -> Path:
        folder = self.out / "webdataset"
        parted = self.tokenizing.output.validation_frac > 0.0
        return (folder / split if parted else folder) / f"part-{key}.tar"

    def spool(self, key: str) -> Path:
        return self.path(SPOOL, key=key)

    @property
    def dataset(self) -> Path:
        return self.out / "dataset"
