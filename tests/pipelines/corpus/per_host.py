"""A corpus-wide step as a contributor writes it: at most so many documents of each host.

hosts of URLs, keys ── spill, by range ── those behind the first of a host, a range a work
                                                                 ── verdicts, a group a work
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from tokenmill.pipelines.core.step import register
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import Part, Room, parts
from tokenmill.pipelines.corpus.spill import KeyedStep, spilled
from tokenmill.pipelines.corpus.step import (
    KEY,
    Chain,
    Pass,
    Shuffled,
    Size,
    Told,
    fixed_size_list,
    group_works,
)
from tokenmill.pipelines.corpus.verdicts import Going, VerdictStep, write_verdicts
from tokenmill.pipelines.filters.images.keys import text_keys
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, values

LEAVING = Folder("2-of-hosts", "leaving-{number:05d}.arrow")
ROW = pa.schema([pa.field("row", pa.int64())])
LEAVING_BYTES = 24  # of a document of a range: its row, joined, sorted
KEPT_BYTES = 24  # of a document of a group that leaves: its row, joined, sorted
ROW_BYTES = 48  # of a part: row and key 24, their order 8, the key in order 16


@register
class PerHost(KeyedStep, VerdictStep):
    """Keep the first documents of each host, in input order.

    most: documents of a host that stay. Hosts are those of the documents' URLs, without ports; a
        document that has none stays, and so does all that earlier runs hold, and counts.
    """

    name: ClassVar[str] = "per_host"

    most: Annotated[int, Field(ge=1)]

    @property
    def reason(self) -> str:
        return "too_many_of_host"

    @property
    def shuffled(self) -> tuple[Shuffled, ...]:
        return (Shuffled(self.name, 2),)

    def key_fields(self) -> list[pa.Field]:
        return [pa.field(self.name, KEY)]

    def key_columns(self, documents: pa.RecordBatch, source: str) -> list[pa.Array]:
        hosts = [host_of(url) for url in documents["url"].to_pylist()]
        return [fixed_size_list(text_keys(pa.array(hosts, pa.string())))]

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        yield from self.spill(chain, size)
        ranges = {f"range-{n:05d}": (n,) for n in range(size.ranges)}
        yield from chain.phase(self.name, self.name, find_leaving, ranges)
        groups = group_works(size.new)
        yield from chain.phase("per_host kept", "kept-per_host", write_leaving, groups)

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        found = [r.facts for r in receipts if r.step.rpartition("-")[0] == self.name]
        names = ("hosts", "documents_that_left")
        return {"hosts": {name: sum(facts[name] for facts in found) for name in names}}


def host_of(url: str | None) -> str | None:
    try:
        return urlsplit(url).hostname if url else None
    except ValueError:  # brackets that do not match, and the like
        return None


def find_leaving(run: RunFolder, part: Pass, number: int) -> Done:
    """Write the documents of a range of hosts that leave: those of this run behind the first."""
    corpus, step = Corpus(run, part), part.step(PerHost.name, PerHost)
    keys = spilled(corpus, step.name, 0, number)
    left = corpus.memory_left(step.name, keys.n, LEAVING_BYTES, works=corpus.n_ranges)
    leaving, hosts = [np.empty(0, np.int64)], 0
    for some in parts(keys, Room(left, ROW_BYTES, 0)):
        n_hosts, behind = behind_the_first(some, step.most)
        hosts += n_hosts
        leaving.append(behind[behind >= corpus.shards.first_new_row])
    rows = np.sort(np.concatenate(leaving))
    path = corpus.path(LEAVING, number=number)
    with arrow_file(path, ROW) as writer:
        writer.write_batch(pa.record_batch([pa.array(rows)], schema=ROW))
    return Done(files=[path], facts={"hosts": hosts, "documents_that_left": len(rows)})


def behind_the_first(part: Part, most: int) -> tuple[int, npt.NDArray[np.int64]]:
    """How many hosts a part has, and the rows behind the first `most` of each."""
    if part.all_equal:  # one host of more documents than fit
        return 1, part.rows[most:]
    order = np.lexsort(part.keys.T)  # rows of a host stay in order
    new = np.ones(len(order), np.bool_)
    new[1:] = (part.keys[order[1:]] != part.keys[order[:-1]]).any(axis=1)
    starts = np.flatnonzero(new)
    places = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return len(starts), part.rows[order[places >= most]]


def write_leaving(run: RunFolder, part: Pass, group: int) -> Done:
    """Write the verdicts on every shard of a group."""
    corpus, step = Corpus(run, part), part.step(PerHost.name, PerHost)
    of_group, leaving = corpus.group(group)[1], [np.empty(0, np.int64)]
    corpus.memory_left(step.name, len(of_group), KEPT_BYTES, works=corpus.shards.n_groups)
    for number in range(corpus.n_ranges):
        rows = values(open_arrow(corpus.path(LEAVING, number=number))[0][0], "row")
        leaving.append(rows[slice(*np.searchsorted(rows, [of_group.start, of_group.stop]))])
    going = Going(np.sort(np.concatenate(leaving)))
    return Done(files=write_verdicts(corpus, step, group, going))
