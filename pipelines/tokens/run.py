"""The run directory as those see it who make its dataset: where ids lie, and how they are made."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.tokens.options import Mix, Output, Tokenizer
from tokenmill.pipelines.tokens.tokenize import Engine, load_engine

TOKENS = Folder("90-tokens", "{split}/part-{key}.arrow", of_pass=False)  # ids by input shard


@dataclass(frozen=True, kw_only=True)
class Tokenizing:
    """How documents become a dataset.

    tokenizer: None writes their text alone.
    images: of documents that have any.  of_pages: they are pages of web archives.
    annotations: columns that steps added to documents.
    copies: names of the columns of how often documents were there (`corpus.copies`).
    mix: shares by source, in place of `weights`, which are those of the inputs.
    """

    tokenizer: Tokenizer | None
    output: Output
    images: Images | None = None
    of_pages: bool = False
    mix: Mix | None = None
    weights: tuple[float, ...] = ()
    annotations: tuple[pa.Field, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def grouped(self) -> bool:
        """Whether documents of one shard may weigh differently, by what is known of each."""
        if self.mix is None:
            return False
        brought = any(field.name == "source" for field in self.annotations)
        return bool(self.mix.columns) or brought or "*" in self.mix.shares

    @property
    def kept(self) -> tuple[pa.Field, ...]:
        """The annotations that token shards need: all where text is kept, else those of mixing."""
        asked = () if self.mix is None else self.mix.columns
        all_of_them = self.output.text is not None
        return tuple(f for f in self.annotations if all_of_them or f.name in asked)

    @property
    def made(self) -> str:
        """What a run ends with: its dataset, or text alone."""
        return "text" if self.tokenizer is None else "dataset"

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        """Of token ids; None of a run that makes none."""
        return None if self.tokenizer is None else self.engine().dtype

    @property
    def id_bytes(self) -> int:
        return 0 if self.dtype is None else self.dtype.itemsize

    def engine(self) -> Engine:
        """The tokenizer, loaded once a process; ConfigError: none is named, or as `load_engine`."""
        if self.tokenizer is None:
            raise ConfigError("tokenizer: null makes no tokens; name a tokenizer in the recipe")
        token = None if self.images is None else self.images.token
        return load_engine(self.tokenizer, self.output.dtype, token)


@dataclass(frozen=True, kw_only=True)
class TokenRun(RunFolder):
    @property
    def tokenizing(self) -> Tokenizing:
        raise NotImplementedError

    @property
    def dataset(self) -> Path:
        return self.out / "dataset"
