"""Documents to train on: drawn by id, so that they fit into memory; of equal texts the first.

inputs ─ readers ─► ids, texts ─ words_of ─► hashed words ─ Sample ─► Documents, their account
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I64, U64, Bools
from tokenmill.dedup.same.digest import digests, first_occurrence
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.quality_model import uniform
from tokenmill.pipelines.read.kept import with_kept_texts
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import Block, Section, Table, table

SHARD_BYTES = 256 * 10**6
WAY = "name it, as --text-column NAME"  # the text, for someone who has no recipe to do so in

# from texts to the `words` and `lengths` of `Documents`
WordsOf: TypeAlias = Callable[[pa.Array], tuple[npt.NDArray[Any], I64]]


class Documents(NamedTuple):
    """Documents as hashed words.

    draws: (n_docs,), of which the least stay.  digests: (n_docs, 2).  lengths: in words.
    words: (n_words,), of one document after the other; or each different one and its count.
    """

    draws: F64
    held_out: Bools
    digests: U64
    lengths: I64
    words: npt.NDArray[Any]

    def filter(self, kept: Bools) -> "Documents":
        """The documents that are `kept`: (n_docs,)."""
        words = self.words[np.repeat(kept, self.lengths)]
        columns = {name: getattr(self, name)[kept] for name in self._fields[:-1]}
        return self._replace(**columns, words=words)

    @property
    def offsets(self) -> I64:
        """(n_docs + 1,) int64, where each document's words begin and end."""
        return np.concatenate(([0], np.cumsum(self.lengths)))


class Sample:
    """Documents that were read: of more than `most` words, or documents, those of least draws."""

    def __init__(
        self,
        words_of: WordsOf,
        *,
        most: int,
        unit: Literal["words", "documents"],
        holdout: float,
        seed: int,
    ) -> None:
        self._words_of, self._most, self._unit = words_of, most, unit
        self._holdout, self._seed = holdout, seed
        self._parts: list[Documents] = []
        self._size, self._limit = 0, 1.0
        self.without_words = 0

    def add(self, ids: pa.Array, texts: pa.Array) -> None:
        """Add documents, in any number at a time."""
        draws = uniform(ids, "sample", self._seed)
        wanted = draws < self._limit
        ids, texts = ids.filter(pa.array(wanted)), texts.filter(pa.array(wanted))
        words, lengths = self._words_of(texts)
        held_out = uniform(ids, "holdout", self._seed) < self._holdout
        some = Documents(draws[wanted], held_out, digests(texts, "xxh3"), lengths, words)
        self.without_words += int(np.count_nonzero(lengths == 0))
        self._parts.append(some.filter(lengths > 0))
        self._size += int(self._sizes(self._parts[-1]).sum())
        if self._size > 2 * self._most:
            self._parts = [self.documents()]
            self._size = int(self._sizes(self._parts[0]).sum())
            self._limit = float(self._parts[0].draws.max())

    def documents(self) -> Documents:
        """As many words or documents as are wanted, or all; one document at least."""
        if not self._parts:
            self.add(pa.array([], pa.string()), pa.array([], pa.large_string()))
        whole = Documents(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
        order = np.argsort(whole.draws, kind="stable")
        fits = np.zeros(len(order), np.bool_)
        fits[order] = np.cumsum(self._sizes(whole)[order]) <= self._most
        fits[order[:1]] = True
        return whole if fits.all() else whole.filter(fits)

    def _sizes(self, documents: Documents) -> I64:
        return documents.lengths if self._unit == "words" else np.ones_like(documents.lengths)


def read_documents(
    inputs: Sequence[Input], sample: Sample, *, option: str, limits: Limits
) -> tuple[Documents, dict[str, Any], str]:
    """Read inputs into a sample; of equal texts the first stays.

    option: of the command line that named the inputs, for messages.

    Returns:
        The documents; where they come from, and what became of the others, as JSON; and the first
        thing that could not be read, as the end of a message, or "".

    ConfigError: an input cannot be read.
    """
    inputs = with_kept_texts(inputs)
    try:
        plan = plan_inputs(inputs, SHARD_BYTES, limits=limits, in_recipe=False)
    except ConfigError as e:
        raise ConfigError(f"{option}: {e}") from e
    failed = Counter({lost.cause: lost.docs or 0 for lost in plan.failed})
    failures = [lost.with_way(WAY).message for lost in plan.failed]
    n_read, digest = 0, hashlib.sha256()
    for shard in plan.shards:
        for batch in read_shard(shard, limits=limits):
            failed.update(batch.failed["reason"].to_pylist())
            failures = failures or batch.failed["detail"].to_pylist()[:1]
            n_read += batch.documents.num_rows
            digest.update(digests(batch.documents["text"], "xxh3").tobytes())
            sample.add(batch.documents["id"], batch.documents["text"])
    drawn = sample.documents()
    is_first = first_occurrence(drawn.digests) == np.arange(len(drawn.draws))
    documents = drawn.filter(is_first)
    account = {
        "sources": [given.source_name for given in inputs],
        "files": {file.name: file.bytes for file in plan.files},
        "skipped": list(plan.skipped),
        "documents_sha256": digest.hexdigest(),
        "read": n_read,
        "failed": dict(sorted(failed.items())),
        "without_words": sample.without_words,
        "repeated": len(drawn.draws) - len(documents.draws),
    }
    return documents, account, "".join(f"; {message}" for message in failures[:1])


def account_table(accounts: Mapping[str, Any], head: str, further: Sequence[str]) -> Table:
    """The documents of some accounts, by what each is of; head: of column 1; further: besides."""
    names = ("read", "failed", "without_words", "repeated", *further)
    rows = []
    for name, account in accounts.items():
        of = {**account, "failed": sum(account["failed"].values())}
        rows.append((name, *(f"{of[k]:,}" for k in names)))
    return table("Documents", (head, *(f">{k.replace('_', ' ')}" for k in names)), rows)


def account_markdown(title: str, key: str, blocks: Iterable[Block]) -> str:
    """What is said of a model as a Markdown document.  key: of its only section."""
    section = Section(key, "How it was trained, and how well", tuple(blocks))
    return markdown(title, [section])
