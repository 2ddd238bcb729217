"""Who leaves for whom, where each document that leaves is like the one it names.

    keys ── buckets: a range of a band a work ── edges: the same ── joined in a tree ── decided
                         └── crowded ones: more leaders, edges, decided anew, until nothing changes

In the order of rows a document leaves if, and only if, an earlier one that stays shares a band key
with it and is as alike as is asked; it names the most alike of these, the earliest of equals. Rows
of earlier runs come first and stay.

Of a bucket of at most MAX_BUCKET documents all pairs are compared, each in the first such band
that it shares. A larger one is crowded: its documents are compared with its first, and then, round
for round, with those of the others that stay, its leaders, until each that stays was one, or is
like one. It is given up on where this takes more than LED comparisons for each of its documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64, Bools, read_only
from tokenmill.dedup.kernels import sets as kernels
from tokenmill.dedup.same.lsh import MAX_BUCKET, Bands
from tokenmill.dedup.same.minhash import MinHash
from tokenmill.pipelines.corpus import buckets
from tokenmill.pipelines.corpus.buckets import BUCKETS, Crowd
from tokenmill.pipelines.corpus.edges import ALIKE, ALIKE_EDGE, Comparing, Edges, EdgeWriter, merged
from tokenmill.pipelines.corpus.pairs import (
    KEPT_BYTES,
    PAIRS_AT_ONCE,
    Clusters,
    cluster_facts,
    merged_pairs,
    pair_facts,
)
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import range_file, rows_between
from tokenmill.pipelines.corpus.spill import KeyedStep
from tokenmill.pipelines.corpus.step import Chain, Pass, Shuffled, Size, facts_of
from tokenmill.pipelines.corpus.verdicts import Going, VerdictStep, write_verdicts
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import arrow_file, values

LEADERS = Folder("2-leaders", "{round}-{band:03d}-{number:05d}.arrow")
STARS = Folder("2-stars", "{round}.arrow")

STAR = pa.schema({"row": pa.int64(), "of": pa.int64(), "shared": pa.uint32(), "union": pa.uint32()})
LED = MAX_BUCKET  # comparisons for each document of a crowded bucket, at most
FAN_IN = 32  # files of edges that one work joins
MOST_ROUNDS = 8  # of the crowded buckets
MOST_PAIRS = 1 << 18  # looked at at a time, and at least those of a bucket
MOST_TAKEN = 1 << 18  # rows whose keys are looked at at a time: more do not read faster
GONE_BYTES = 16  # of a document that leaves: the row it leaves for, and sorting these
MEMBER_BYTES = 32  # of a row besides its keys: number, order, where it is
LEAST_BYTES = 1 << 20  # of memory that a work needs, for pairs and a batch of each file


class NearStep(Protocol):
    """What the works must know of the step, whose `name` is that of its class."""

    name: str

    @property
    def shuffled(self) -> tuple[Shuffled, ...]: ...

    @property
    def exact(self) -> bool: ...

    @property
    def looks_at_images(self) -> bool: ...

    verify: float

    def minhash(self) -> MinHash: ...


def found_edges(chain: Chain, name: str, bands: int, size: Size) -> Phases[Crowd]:
    """Compare what shares a band; of crowded buckets, each with the first alone."""
    works = buckets.works_of(bands, size)
    by_key = {f"band-{of.start:03d}-{n:05d}": (name, of, n) for of, n in works}
    made = yield from chain.phase("buckets", "buckets", buckets.find_buckets, by_key)
    crowd = [0] * bands
    for key, (_, of, n) in by_key.items():
        for band, n_crowded in zip(of, made[key].facts["crowded"], strict=True):
            crowd[band] |= (n_crowded > 0) << n
    comparing = {
        key: (*args, place, tuple(crowd)) for place, (key, args) in enumerate(by_key.items())
    }
    yield from chain.phase("bands", "bands", find_alike, comparing)
    return tuple(crowd)


def decided(chain: Chain, name: str, bands: int, size: Size) -> Phases[tuple[int, Clusters]]:
    """Decide who leaves, round for round; the last round, and its largest clusters."""
    crowd = yield from found_edges(chain, name, bands, size)
    n_files = yield from _joined(chain, 0, len(buckets.works_of(bands, size)), FAN_IN)
    files = [(0, *n_files)]
    last = yield from chain.phase(name, name, decide, {"round-0": (name, 0, tuple(files))})
    files_at_once = buckets.crowded_works(crowd, size)
    for number in range(1, MOST_ROUNDS + 1 if files_at_once else 1):
        works = {
            f"round-{number}-{i:05d}": (name, number, i, some, crowd)
            for i, some in enumerate(files_at_once)
        }
        made = yield from chain.phase("crowded", "crowded", find_more, works)
        if not sum(receipt.facts["edges"] for receipt in made.values()):
            return number - 1, _largest(last)
        files.append((number, *(yield from _joined(chain, number, len(files_at_once), 1))))
        args = name, number, tuple(files)
        last = yield from chain.phase(name, name, decide, {f"round-{number}": args})
    return MOST_ROUNDS if files_at_once else 0, _largest(last)


def _largest(made: Mapping[str, Receipt]) -> Clusters:
    (receipt,) = made.values()
    return tuple((doc_id, n) for doc_id, n in receipt.facts["largest"])


def _joined(chain: Chain, round_: int, n_files: int, most: int) -> Phases[tuple[int, int]]:
    """Join files of edges until there are no more than `most`; their level, and how many."""
    level = 0
    while n_files > most:
        level, below, n_files = level + 1, n_files, -(-n_files // FAN_IN)
        works = {
            f"edges-{round_}-{level}-{n:05d}": (round_, level, n, below) for n in range(n_files)
        }
        yield from chain.phase("edges", "edges", join_edges, works)
    return level, n_files


# edges


class Comparisons:
    """Pairs that a work compares, held until there are many: a set is then made once for all."""

    def __init__(self, corpus: Corpus, step: NearStep, crowd: Crowd, works: int) -> None:
        """crowd: files of crowded buckets.  works: of the phase."""
        left = corpus.memory_left(step.name, corpus.n, 0, works=works, least=LEAST_BYTES)
        self.corpus, self.step, self.left, self.rows = corpus, step, left, corpus.rows()
        self.comparing = Comparing(
            self.rows,
            step.minhash(),
            exact=step.exact,
            verify=step.verify,
            room=left // 2,
            pictures=step.looks_at_images,
        )
        most = max(min(left // 16 // 16, MOST_PAIRS), MAX_BUCKET * (MAX_BUCKET - 1) // 2)
        self.pairs = np.empty((most, 2), np.int64)
        self._held: list[I64] = []
        self._crowd, self._crowded = crowd, dict[int, tuple[U64, I64]]()
        self.candidates = 0

    def hold(self, pairs: I64) -> Iterator[Edges]:
        """Take (n, 2) pairs; the edges of those before, if they are many with these."""
        if sum(map(len, self._held)) + len(pairs) > len(self.pairs):
            yield from self.edges()
        self._held.append(pairs)

    def edges(self) -> Iterator[Edges]:
        """The edges of the pairs that are held, which are then no longer."""
        held, self._held = self._held, []
        if held:
            yield from self.of_pairs(np.concatenate(held))

    def of_pairs(self, pairs: I64) -> Iterator[Edges]:
        """The edges of (n, 2) pairs."""
        self.candidates += len(pairs)
        yield from self.comparing.edges(pairs[:, 0], pairs[:, 1])

    def crowded_before(self, band: int) -> dict[int, tuple[U64, I64]]:
        """By band before one, the keys of crowded buckets, ascending, and the first row of each."""
        files = buckets.places(self._crowd[:band])
        for other in sorted({of for of, _ in files} - self._crowded.keys()):
            paths = [self.corpus.path(BUCKETS, band=of, number=n) for of, n in files if of == other]
            some = [
                (found.keys, found.rows[np.concatenate(([0], found.ends[:-1]))])
                for path in paths
                for found in buckets.crowded(path)
            ]
            keys, firsts = (np.concatenate(columns) for columns in zip(*some, strict=True))
            order = np.argsort(keys)
            self._crowded[other] = keys[order], firsts[order]
        return {of: self._crowded[of] for of, _ in files}


class Band:
    """Pairs of documents that share a key of a band, and of no earlier one whose bucket is small.

    Nor do they share one of an earlier crowded bucket whose first document is the first of the two:
    there they are compared.
    """

    def __init__(self, of: Comparisons, band: int) -> None:
        self._rows, self._out = of.rows, of.pairs
        self._old = of.corpus.shards.first_new_row
        self._columns = [column.keys for column in of.step.shuffled[:band]]
        self._crowded = of.crowded_before(band)
        self.at_once = max(min(of.left // 8 // (MEMBER_BYTES + 24 * band), MOST_TAKEN), MAX_BUCKET)

    def of_small(self, path: Path) -> Iterator[I64]:
        """The pairs of the small buckets of a file."""
        held: list[buckets.Buckets] = []
        for found in buckets.small(path):
            if held and sum(len(some.rows) for some in (*held, found)) > self.at_once:
                yield from self._of_buckets(held)
                held = []
            held.append(found)
        if held:
            yield from self._of_buckets(held)

    def _of_buckets(self, found: Sequence[buckets.Buckets]) -> Iterator[I64]:
        rows = np.concatenate([some.rows for some in found])
        ends = np.cumsum(np.concatenate([np.diff(some.ends, prepend=0) for some in found]))
        order = np.argsort(rows)
        keys = np.empty((len(rows), len(self._columns)), np.uint64)
        keys[order] = self._keys(rows[order])
        earlier, later = read_only(self._handled(keys, rows)), read_only(keys)
        ends, old = read_only(ends), read_only(rows < self._old)
        bucket, n = 0, np.zeros(1, np.int64)
        while bucket < len(ends):
            bucket = kernels.bucket_pairs(ends, bucket, old, earlier, later, self._out, n)
            yield rows[self._out[: n[0]]]

    def of_leader(self, rows: I64, at: int, begin: int, keys: U64 | None = None) -> Iterator[I64]:
        """Pairs of one of (n,) documents that share a key with those from `begin` on.

        Those that earlier bands had are left out.  keys: of all, if they are at hand.
        """
        row = rows[at : at + 1]
        own = self._handled(self._keys(row) if keys is None else keys[at : at + 1], row)
        for start in range(begin, len(rows), self.at_once):
            some = rows[start : start + self.at_once]
            theirs = self._keys(some) if keys is None else keys[start : start + self.at_once]
            some = some[~((theirs == own) & (own != 0)).any(axis=1)]
            yield np.column_stack((np.broadcast_to(row, some.shape), some))

    def keys_at_hand(self, rows: I64) -> U64 | None:
        """(n, n_bands before) of rows, which ascend; None where they are too many."""
        return self._keys(rows) if len(rows) <= self.at_once else None

    def _keys(self, rows: I64) -> U64:
        """(n, n_bands before) of rows, which ascend."""
        if not self._columns or not len(rows):
            return np.empty((len(rows), len(self._columns)), np.uint64)
        taken = self._rows.take_all(self._columns, rows)
        return np.column_stack([taken[name] for name in self._columns])

    def _handled(self, keys: U64, rows: I64) -> U64:
        """As `keys`, with 0 in place of those that leave a pair to a later band.

        rows: (n,) the earlier ones of pairs.
        """
        if not self._crowded:
            return keys
        made = keys.copy()
        for band, (of_crowded, firsts) in self._crowded.items():
            at = np.minimum(np.searchsorted(of_crowded, keys[:, band]), len(of_crowded) - 1)
            made[(of_crowded[at] == keys[:, band]) & (firsts[at] != rows), band] = 0
        return made


def find_alike(
    run: RunFolder, part: Pass, name: str, bands: range, number: int, place: int, crowd: Crowd
) -> Done:
    """Write the edges of a range of some bands: of crowded buckets those to their first row.

    place: of the work among all.
    """
    corpus, step = Corpus(run, part), _step(part, name)
    works = len(buckets.works_of(step.joined_columns, corpus.size))
    comparisons = Comparisons(corpus, step, crowd, works)
    path = corpus.path(ALIKE, round=0, level=0, number=place)
    with arrow_file(path, ALIKE_EDGE) as writer:
        out = EdgeWriter(writer, comparisons.left // 4)
        for band in bands:
            of_band = Band(comparisons, band)
            buckets_path = corpus.path(BUCKETS, band=band, number=number)
            for pairs in of_band.of_small(buckets_path):
                _write_all(out, comparisons.hold(pairs))
            for found in buckets.crowded(buckets_path) if crowd[band] >> number & 1 else ():
                for rows in found:
                    first_new = int(np.searchsorted(rows, corpus.shards.first_new_row))
                    for pairs in of_band.of_leader(rows, 0, max(1, first_new)):
                        _write_all(out, comparisons.hold(pairs))
        _write_all(out, comparisons.edges())
        out.flush()
    return Done(files=[path], facts={"candidates": comparisons.candidates, "edges": out.n})


def _write_all(out: EdgeWriter, edges: Iterator[Edges]) -> None:
    for some in edges:
        out.write(some)


def find_more(
    run: RunFolder,
    part: Pass,
    name: str,
    round_: int,
    place: int,
    files: Sequence[tuple[int, int]],
    crowd: Crowd,
) -> Done:
    """Let those that stay of crowded buckets lead, and write the edges to them.

    place: of the work among all.  files: band and range of those that it looks at.
    """
    corpus, step = Corpus(run, part), _step(part, name)
    comparisons = Comparisons(corpus, step, crowd, len(buckets.crowded_works(crowd, corpus.size)))
    path = corpus.path(ALIKE, round=round_, level=0, number=place)
    paths, given_up = [path], 0
    with arrow_file(path, ALIKE_EDGE) as writer:
        out = EdgeWriter(writer, comparisons.left // 4)
        for band, number in files:
            paths.append(corpus.path(LEADERS, round=round_, band=band, number=number))
            with arrow_file(paths[-1], buckets.BUCKET) as led:
                given_up += sum(_led(comparisons, round_, band, number, out, led))
        out.flush()
    facts = {"candidates": comparisons.candidates, "edges": out.n, "given_up": given_up}
    return Done(files=paths, facts=facts)


def _led(
    comparisons: Comparisons,
    round_: int,
    band: int,
    number: int,
    out: EdgeWriter,
    led: pa.ipc.RecordBatchFileWriter,
) -> Iterator[int]:
    """Write the edges and leaders of the crowded buckets of a file; how many each gave up on."""
    corpus, of_band = comparisons.corpus, Band(comparisons, band)
    fields = {"band": band, "number": number}
    leaders_before = _leaders(corpus, round_ - 1, fields)
    for found in buckets.crowded(corpus.path(BUCKETS, **fields)):
        stays = ~_gone(corpus, round_ - 1, found.rows)
        for key, rows, stay in zip(
            found.keys, found, np.split(stays, found.ends[:-1]), strict=True
        ):
            before = next(leaders_before, rows[:1])
            leading = _Leading(rows, before, corpus.shards.first_new_row)
            keys = of_band.keys_at_hand(rows)
            may = np.flatnonzero(stay & ~np.isin(rows, before)).tolist()
            several = len(may) > 1 and keys is not None
            comparisons.comparing.hold(rows if several else rows[:0])
            for at in may:
                if leading.may_lead(at):
                    for pairs in of_band.of_leader(rows, at, leading.begin(at), keys):
                        for edges in comparisons.of_pairs(pairs):
                            out.write(edges)
                            leading.like(edges.right)
            buckets.write(led, buckets.Buckets(np.array([key]), leading.rows(), leading.ends()))
            yield leading.given_up


class _Leading:
    """Who leads of a crowded bucket: all later rows of this run are compared with it."""

    def __init__(self, rows: I64, leaders: I64, first_new: int) -> None:
        self._rows, self._first_new = rows, max(int(np.searchsorted(rows, first_new)), 0)
        self._leaders = np.searchsorted(rows, leaders).tolist()
        spent = sum(len(rows) - self.begin(at) for at in self._leaders)
        self._left = LED * len(rows) - spent
        self._like = np.zeros(len(rows), np.bool_)
        self.given_up = 0

    def begin(self, at: int) -> int:
        return max(at + 1, self._first_new)

    def may_lead(self, at: int) -> bool:
        """Whether a row leads from now on; it does not if it is like another that does."""
        if self._like[at]:
            return False
        cost = len(self._rows) - self.begin(at)
        if cost > self._left:
            self.given_up += 1
            return False
        self._left -= cost
        self._leaders.append(at)
        return True

    def like(self, rows: I64) -> None:
        """These are like the last that leads."""
        self._like[np.searchsorted(self._rows, rows)] = True

    def rows(self) -> I64:
        leaders: I64 = self._rows[np.sort(self._leaders)]
        return leaders

    def ends(self) -> I64:
        return np.array([len(self._leaders)])


def _leaders(corpus: Corpus, round_: int, fields: dict[str, int]) -> Iterator[I64]:
    """The rows that led each crowded bucket after a round; after the first, each's first alone."""
    for found in buckets.read(corpus.path(LEADERS, round=round_, **fields)) if round_ else ():
        yield from found


def _gone(corpus: Corpus, round_: int, rows: I64) -> Bools:
    """(n,) rows that leave, as a round decided."""
    path, gone = corpus.path(STARS, round=round_), np.zeros(len(rows), np.bool_)
    if len(rows):
        for batch in rows_between([path], "row", [int(rows.min()), int(rows.max()) + 1]):
            gone |= np.isin(rows, values(batch, "row"))
    return gone


def join_edges(
    run: RunFolder, part: Pass, round_: int, level: int, number: int, n_below: int
) -> Done:
    corpus = Corpus(run, part)
    below = range(number * FAN_IN, min((number + 1) * FAN_IN, n_below))
    paths = [corpus.path(ALIKE, round=round_, level=level - 1, number=n) for n in below]
    path = corpus.path(ALIKE, round=round_, level=level, number=number)
    with range_file(path, ALIKE_EDGE, 0, PAIRS_AT_ONCE) as out:
        for edges in merged(paths):
            out.write(*edges)
    return Done(files=[path])


# who leaves


def decide(
    run: RunFolder, part: Pass, name: str, round_: int, files: Sequence[tuple[int, int, int]]
) -> Done:
    """Write who leaves for whom, by all edges; files: round, level and number of theirs."""
    corpus = Corpus(run, part)
    first_new = corpus.shards.first_new_row
    n_new = int(corpus.shards.starts[-1]) - first_new
    corpus.memory_left(name, n_new // 64 + 1, 8)
    paths = [
        corpus.path(ALIKE, round=of, level=level, number=number)
        for of, level, n in files
        for number in range(n)
    ]
    gone = np.zeros(n_new // 64 + 1, np.uint64)
    kept, n_edges, n_gone = [np.empty(0, np.int64)], 0, 0
    path = corpus.path(STARS, round=round_)
    with range_file(path, STAR, 0, PAIRS_AT_ONCE) as out:
        for edges in merged(paths):
            found = np.empty(len(edges.left), np.int64)
            sides = read_only(edges.left), read_only(edges.right)
            shares = read_only(edges.shared), read_only(edges.union)
            n = kernels.decide(*sides, *shares, first_new, gone, found)
            leaving = edges.at(found[:n])
            out.write(leaving.right, leaving.left, leaving.shared, leaving.union)
            kept.append(leaving.left)
            n_edges, n_gone = n_edges + len(edges.left), n_gone + n
    corpus.memory_left(
        name, n_gone, GONE_BYTES, least=LEAST_BYTES // 8 + n_new // 8, of="documents that leave"
    )
    facts: dict[str, Any] = cluster_facts(corpus, np.concatenate(kept))
    return Done(files=[path], facts={**facts, "edges": n_edges})


def write_stars(
    run: RunFolder, part: Pass, name: str, round_: int, largest: Clusters, group: int
) -> Done:
    """Write a round's verdicts on a group's shards; largest: clusters of which a pair is told."""
    corpus, step = Corpus(run, part), part.step(name, VerdictStep)
    of_group = corpus.group(group)[1]
    between = rows_between(
        [corpus.path(STARS, round=round_)], "row", [of_group.start, of_group.stop]
    )
    columns = [[values(batch, field) for field in STAR.names] for batch in between]
    empty = [np.empty(0, field.type.to_pandas_dtype()) for field in STAR]
    rows, of, shared, union = (np.concatenate(some) for some in zip(empty, *columns, strict=True))
    corpus.memory_left(name, len(rows), KEPT_BYTES, works=corpus.shards.n_groups, of="duplicates")
    similarity = (shared / np.maximum(union, 1)).astype(np.float32)
    going = Going(rows, corpus.ids_of(of), similarity)
    facts = pair_facts(corpus, going, largest)
    return Done(files=write_verdicts(corpus, step, group, going), facts=facts)


def told_of(receipts: Sequence[Receipt], name: str, lsh: Bands, verify: float) -> dict[str, Any]:
    """What was compared, and what the last round decided."""
    by_step = [(receipt.step.rpartition("-")[0], receipt) for receipt in receipts]
    rounds = [receipt for step, receipt in by_step if step == name]
    compared = [receipt.facts for step, receipt in by_step if step in ("bands", "crowded")]
    if not rounds:
        return {}
    more = [receipt for step, receipt in by_step if step == "crowded"]
    last = max((receipt.key for receipt in more), default="").rpartition("-")[0]
    return {
        "bands": {
            **{n: sum(facts[n] for facts in compared) for n in ("candidates", "edges")},
            "given_up": sum(r.facts["given_up"] for r in more if r.key.startswith(f"{last}-")),
            "recall": {f"{s:g}": round(lsh.recall(s), 4) for s in (0.7, 0.75, 0.8, 0.9)},
        },
        name: {
            **max(rounds, key=lambda receipt: receipt.key).facts,
            **merged_pairs(facts_of(receipts, f"kept-{name}")),
            "verify": verify,
        },
    }


def _step(part: Pass, name: str) -> Any:
    return part.step(name, KeyedStep)
