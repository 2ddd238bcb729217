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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64, Bools, read_only
from tokenmill.dedup.arrays import parts as cut_parts
from tokenmill.dedup.kernels import sets as kernels
from tokenmill.dedup.same.lsh import MAX_BUCKET, Bands, buckets
from tokenmill.dedup.same.minhash import MinHash
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.pipelines.corpus.edges import (
    ALIKE,
    ALIKE_EDGE,
    Comparing,
    Edges,
    EdgeWriter,
    merged,
)
from tokenmill.pipelines.corpus.pairs import (
    KEPT_BYTES,
    PAIRS_AT_ONCE,
    Clusters,
    cluster_facts,
    merged_pairs,
    pair_facts,
)
from tokenmill.pipelines.corpus.rows import Corpus, range_bits
from tokenmill.pipelines.corpus.shuffle import (
    WORD_BITS,
    RangeWriter,
    Room,
    parts,
    rows_between,
    turned,
)
from tokenmill.pipelines.corpus.spill import KeyedStep, spilled
from tokenmill.pipelines.corpus.step import Chain, Pass, Shuffled, Size, facts_of
from tokenmill.pipelines.corpus.verdicts import Going, VerdictStep, write_verdicts
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, values

BUCKETS = Folder("2-buckets", "{band:03d}-{number:05d}.arrow")
LEADERS = Folder("2-leaders", "{round}-{band:03d}-{number:05d}.arrow")
STARS = Folder("2-stars", "{round}.arrow")

BUCKET = pa.schema([pa.field("key", pa.uint64()), pa.field("rows", pa.large_list(pa.int64()))])
STAR = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("of", pa.int64()),
        pa.field("shared", pa.uint32()),
        pa.field("union", pa.uint32()),
    ]
)
LED = MAX_BUCKET  # comparisons for each document of a crowded bucket, at most
FAN_IN = 32  # files of edges that one work joins
MOST_ROUNDS = 8  # of the crowded buckets
MEMBERS = 1 << 12  # of the buckets in a batch of a file
MOST_PAIRS = 1 << 18  # looked at at a time, and at least those of a bucket
MOST_TAKEN = 1 << 18  # rows whose keys are looked at at a time: more do not read faster
GONE_BYTES = 16  # of a document that leaves: the row it leaves for, and sorting these
MEMBER_BYTES = 32  # of a row besides its keys: number, order, where it is
ROW_BYTES = 52  # row numbers and key 16, partition 4, members 8, in order 8, ends 4, keys 8, bits
LARGEST_BYTES = 36  # of a hash table at most 16, keys 8, members' places 12
LEAST_BYTES = 1 << 20  # of memory that a work needs, for pairs and a batch of each file


class NearStep(Protocol):
    """What the works must know of the step, whose `name` is that of its class."""

    name: str

    @property
    def shuffled(self) -> tuple[Shuffled, ...]: ...

    @property
    def exact(self) -> bool: ...

    verify: float

    def minhash(self) -> MinHash: ...

    def lsh(self) -> Bands: ...


Crowd = tuple[int, ...]  # by band, a bit for each range whose file has crowded buckets


def found_edges(chain: Chain, name: str, bands: int, size: Size) -> Phases[Crowd]:
    """Compare what shares a band; of crowded buckets, each with the first alone."""
    works = {
        f"band-{band:03d}-{n:05d}": (name, band, n)
        for band in range(bands)
        for n in range(size.ranges)
    }
    made = yield from chain.phase("buckets", "buckets", find_buckets, works)
    crowd = [0] * bands
    for key, (_, band, n) in works.items():
        crowd[band] |= (made[key].facts["crowded"] > 0) << n
    comparing = {key: (*args, tuple(crowd)) for key, args in works.items()}
    yield from chain.phase("bands", "bands", find_alike, comparing)
    return tuple(crowd)


def places(crowd: Crowd) -> list[tuple[int, int]]:
    """Band and range of the files with crowded buckets.

    >>> places((0, 0b101))
    [(1, 0), (1, 2)]
    """
    return [
        (band, n)
        for band, bits in enumerate(crowd)
        for n in range(bits.bit_length())
        if bits >> n & 1
    ]


def decided(chain: Chain, name: str, bands: int, size: Size) -> Phases[tuple[int, Clusters]]:
    """Decide who leaves, round for round; the last round, and its largest clusters."""
    crowd = yield from found_edges(chain, name, bands, size)
    n_files = yield from _joined(chain, 0, bands * size.ranges, FAN_IN)
    files = [(0, *n_files)]
    last = yield from chain.phase(name, name, decide, {"round-0": (name, 0, tuple(files))})
    crowded = places(crowd)
    for number in range(1, MOST_ROUNDS + 1 if crowded else 1):
        works = {
            f"round-{number}-{band:03d}-{n:05d}": (name, number, i, band, n, crowd)
            for i, (band, n) in enumerate(crowded)
        }
        made = yield from chain.phase("crowded", "crowded", find_more, works)
        if not sum(receipt.facts["edges"] for receipt in made.values()):
            return number - 1, _largest(last)
        files.append((number, *(yield from _joined(chain, number, len(crowded), 1))))
        args = name, number, tuple(files)
        last = yield from chain.phase(name, name, decide, {f"round-{number}": args})
    return MOST_ROUNDS if crowded else 0, _largest(last)


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


# buckets


@dataclass(frozen=True)
class Buckets:
    """Rows that share a key, bucket after bucket.

    keys: (n_buckets,).  rows: (n,) ascending in a bucket.  ends: (n_buckets,) where each ends.
    """

    keys: U64
    rows: I64
    ends: I64

    @property
    def sizes(self) -> I64:
        return np.diff(self.ends, prepend=0)

    def where(self, wanted: Bools) -> "Buckets":
        sizes = self.sizes
        rows = self.rows[np.repeat(wanted, sizes)]
        return Buckets(self.keys[wanted], rows, np.cumsum(sizes[wanted]))

    def __iter__(self) -> Iterator[I64]:
        """The rows of each."""
        return iter(np.split(self.rows, self.ends[:-1]) if len(self.ends) else ())


def find_buckets(run: RunFolder, part: Pass, name: str, band: int, number: int) -> Done:
    """Write the buckets of a range of a band's keys."""
    corpus, step = Corpus(run, part), _step(part, name)
    keys, bits = spilled(corpus, name, band, number), range_bits(corpus.n)
    left = corpus.memory_left(name, 0, 0, works=_n_works(corpus, step))
    path, n_crowded = corpus.path(BUCKETS, band=band, number=number), 0
    with arrow_file(path, BUCKET) as writer:
        for part_ in parts(keys, Room(left, ROW_BYTES, LARGEST_BYTES)):
            if part_.all_equal:
                found = Buckets(part_.keys[:1], part_.rows, np.array([len(part_.rows)]))
            else:
                same = buckets(part_.keys, prefix_bits(keys.n))
                begins = np.concatenate(([0], same.ends[:-1]))[: len(same.ends)].astype(np.int64)
                of_buckets = part_.keys[same.members[begins]]
                found = Buckets(of_buckets, part_.rows[same.members], same.ends)
            found = replace(found, keys=turned(found.keys, (WORD_BITS - bits) % WORD_BITS))
            # of a bucket without rows of this run none leaves
            found = found.where(found.rows[found.ends - 1] >= corpus.shards.first_new_row)
            _write(writer, found)
            n_crowded += int((found.sizes > MAX_BUCKET).sum())
    return Done(files=[path], facts={"crowded": n_crowded})


def _write(writer: pa.ipc.RecordBatchFileWriter, found: Buckets) -> None:
    starts = np.concatenate(([0], found.ends))
    for at in cut_parts(found.sizes, MEMBERS) if len(found.ends) else ():
        bounds = starts[at.start : at.stop + 1]
        rows = pa.array(found.rows[bounds[0] : bounds[-1]])
        lists = pa.LargeListArray.from_arrays(pa.array(bounds - bounds[0]), rows)
        writer.write_batch(pa.record_batch([pa.array(found.keys[at]), lists], schema=BUCKET))


def _read(path: Path) -> Iterator[Buckets]:
    """The buckets of a file, some at a time."""
    for batch in open_arrow(path)[0]:
        rows = np.asarray(batch["rows"].values)
        yield Buckets(values(batch, "key"), rows, np.asarray(batch["rows"].offsets)[1:])


def _small(path: Path) -> Iterator[Buckets]:
    for found in _read(path):
        small = found.sizes <= MAX_BUCKET
        if small.any():
            yield found if small.all() else found.where(small)


def _crowded(path: Path) -> Iterator[Buckets]:
    for found in _read(path):
        crowded = found.sizes > MAX_BUCKET
        if crowded.any():
            yield found.where(crowded)


# edges


class Band:
    """Pairs of documents that share a key of a band, and of no earlier one whose bucket is small.

    Nor do they share one of an earlier crowded bucket whose first document is the first of the two:
    there they are compared.
    """

    def __init__(self, corpus: Corpus, step: NearStep, band: int, crowd: Crowd, left: int) -> None:
        """crowd: files of crowded buckets.  left: bytes of memory."""
        self._rows, self._old = corpus.rows(), corpus.shards.first_new_row
        self._columns = [column.keys for column in step.shuffled[:band]]
        self._crowded: dict[int, tuple[U64, I64]] = {}
        files = places(crowd[:band])
        for other in sorted({of for of, _ in files}):
            paths = [corpus.path(BUCKETS, band=of, number=n) for of, n in files if of == other]
            some = [
                (found.keys, found.rows[np.concatenate(([0], found.ends[:-1]))])
                for path in paths
                for found in _crowded(path)
            ]
            keys, firsts = (np.concatenate(columns) for columns in zip(*some, strict=True))
            order = np.argsort(keys)
            self._crowded[other] = keys[order], firsts[order]
        self.comparing = Comparing(
            self._rows, step.minhash(), exact=step.exact, verify=step.verify, room=left // 2
        )
        self._at_once = max(min(left // 8 // (MEMBER_BYTES + 24 * band), MOST_TAKEN), MAX_BUCKET)
        most = max(min(left // 8 // 16, MOST_PAIRS), MAX_BUCKET * (MAX_BUCKET - 1) // 2)
        self._pairs = np.empty((most, 2), np.int64)
        self.candidates = 0

    def of_buckets(self, found: Sequence[Buckets]) -> Iterator[Edges]:
        """The edges of small buckets."""
        rows = np.concatenate([some.rows for some in found])
        order = np.argsort(rows)
        keys = np.empty((len(rows), len(self._columns)), np.uint64)
        keys[order] = self._keys(rows[order])
        keys_left = self._handled(keys, rows)
        old = rows < self._old
        begin = 0
        for some in found:
            members = slice(begin, begin + len(some.rows))
            yield from self._of_buckets(some, old[members], keys_left[members], keys[members])
            begin += len(some.rows)

    def _of_buckets(self, found: Buckets, old: Bools, keys_left: U64, keys: U64) -> Iterator[Edges]:
        out, n = self._pairs, np.zeros(1, np.int64)
        ends, is_old = read_only(found.ends), read_only(old)
        bucket, earlier, later = 0, read_only(keys_left), read_only(keys)
        while bucket < len(ends):
            bucket = kernels.bucket_pairs(ends, bucket, is_old, earlier, later, out, n)
            pairs = found.rows[out[: n[0]]]
            self.candidates += len(pairs)
            yield from self.comparing.edges(pairs[:, 0], pairs[:, 1])

    def of_leader(self, leader: int, others: I64) -> Iterator[Edges]:
        """The edges of a document to (n,) later ones that share its key, which ascend."""
        row = np.array([leader])
        own = self._handled(self._keys(row), row)
        for start in range(0, len(others), self._at_once):
            some = others[start : start + self._at_once]
            met = ((self._keys(some) == own) & (own != 0)).any(axis=1)
            some = some[~met]
            self.candidates += len(some)
            yield from self.comparing.edges(np.broadcast_to(row, some.shape).copy(), some)

    @property
    def at_once(self) -> int:
        """Rows whose keys may be looked at at a time."""
        return self._at_once

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
        for band, (crowded, firsts) in self._crowded.items():
            at = np.minimum(np.searchsorted(crowded, keys[:, band]), len(crowded) - 1)
            made[(crowded[at] == keys[:, band]) & (firsts[at] != rows), band] = 0
        return made


def find_alike(run: RunFolder, part: Pass, name: str, band: int, number: int, crowd: Crowd) -> Done:
    """Write the edges of a range of a band: of crowded buckets those to their first row."""
    corpus, step = Corpus(run, part), _step(part, name)
    left = _memory(corpus, step, _n_works(corpus, step))
    of_band = Band(corpus, step, band, crowd, left)
    path = corpus.path(ALIKE, round=0, level=0, number=band * corpus.n_ranges + number)
    with arrow_file(path, ALIKE_EDGE) as writer:
        out = EdgeWriter(writer, left // 4)
        held: list[Buckets] = []
        buckets_path = corpus.path(BUCKETS, band=band, number=number)
        for found in _small(buckets_path):
            if held and sum(len(some.rows) for some in (*held, found)) > of_band.at_once:
                _write_all(out, of_band.of_buckets(held))
                held = []
            held.append(found)
        if held:
            _write_all(out, of_band.of_buckets(held))
        for found in _crowded(buckets_path) if crowd[band] >> number & 1 else ():
            for rows in found:
                others = rows[max(1, int(np.searchsorted(rows, corpus.shards.first_new_row))) :]
                _write_all(out, of_band.of_leader(int(rows[0]), others))
        out.flush()
    return Done(files=[path], facts={"candidates": of_band.candidates, "edges": out.n})


def _write_all(out: EdgeWriter, edges: Iterator[Edges]) -> None:
    for some in edges:
        out.write(some)


def find_more(
    run: RunFolder,
    part: Pass,
    name: str,
    round_: int,
    place: int,
    band: int,
    number: int,
    crowd: Crowd,
) -> Done:
    """Let those that stay of crowded buckets lead, and write the edges to them."""
    corpus, step = Corpus(run, part), _step(part, name)
    left = _memory(corpus, step, len(places(crowd)))
    of_band = Band(corpus, step, band, crowd, left)
    path = corpus.path(ALIKE, round=round_, level=0, number=place)
    fields = {"band": band, "number": number}
    led_path = corpus.path(LEADERS, round=round_, **fields)
    given_up = 0
    with arrow_file(path, ALIKE_EDGE) as writer, arrow_file(led_path, BUCKET) as led:
        out = EdgeWriter(writer, left // 4)
        leaders_before = _leaders(corpus, round_ - 1, fields)
        for found in _crowded(corpus.path(BUCKETS, **fields)):
            stays = ~_gone(corpus, round_ - 1, found.rows)
            for key, rows, stay in zip(
                found.keys, found, np.split(stays, found.ends[:-1]), strict=True
            ):
                before = next(leaders_before, rows[:1])
                leading = _Leading(rows, before, corpus.shards.first_new_row)
                for at in np.flatnonzero(stay & ~np.isin(rows, before)).tolist():
                    if leading.may_lead(at):
                        for edges in of_band.of_leader(int(rows[at]), leading.later(at)):
                            out.write(edges)
                            leading.like(edges.right)
                given_up += leading.given_up
                _write(led, Buckets(np.array([key]), leading.rows(), leading.ends()))
        out.flush()
    facts = {"candidates": of_band.candidates, "edges": out.n, "given_up": given_up}
    return Done(files=[path, led_path], facts=facts)


class _Leading:
    """Who leads of a crowded bucket: all later rows of this run are compared with it."""

    def __init__(self, rows: I64, leaders: I64, first_new: int) -> None:
        self._rows, self._first_new = rows, max(int(np.searchsorted(rows, first_new)), 0)
        self._leaders = np.searchsorted(rows, leaders).tolist()
        spent = sum(len(rows) - self._begin(at) for at in self._leaders)
        self._left = LED * len(rows) - spent
        self._like = np.zeros(len(rows), np.bool_)
        self.given_up = 0

    def _begin(self, at: int) -> int:
        return max(at + 1, self._first_new)

    def later(self, at: int) -> I64:
        return self._rows[self._begin(at) :]

    def may_lead(self, at: int) -> bool:
        """Whether a row leads from now on; it does not if it is like another that does."""
        if self._like[at]:
            return False
        cost = len(self._rows) - self._begin(at)
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
    for found in _read(corpus.path(LEADERS, round=round_, **fields)) if round_ else ():
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
    """Join some files of edges of the level below."""
    corpus = Corpus(run, part)
    below = range(number * FAN_IN, min((number + 1) * FAN_IN, n_below))
    paths = [corpus.path(ALIKE, round=round_, level=level - 1, number=n) for n in below]
    path = corpus.path(ALIKE, round=round_, level=level, number=number)
    with arrow_file(path, ALIKE_EDGE) as writer:
        out = RangeWriter(writer, ALIKE_EDGE, 0, PAIRS_AT_ONCE)
        for edges in merged(paths):
            out.write(*edges)
        out.flush()
    return Done(files=[path])


# who leaves


def decide(
    run: RunFolder, part: Pass, name: str, round_: int, files: Sequence[tuple[int, int, int]]
) -> Done:
    """Write who leaves for whom, by all edges.

    files: round, level and number of those that hold them.
    """
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
    with arrow_file(path, STAR) as writer:
        out = RangeWriter(writer, STAR, 0, PAIRS_AT_ONCE)
        for edges in merged(paths):
            places = np.empty(len(edges.left), np.int64)
            sides = read_only(edges.left), read_only(edges.right)
            shares = read_only(edges.shared), read_only(edges.union)
            n = kernels.decide(*sides, *shares, first_new, gone, places)
            leaving = edges.at(places[:n])
            out.write(leaving.right, leaving.left, leaving.shared, leaving.union)
            kept.append(leaving.left)
            n_edges, n_gone = n_edges + len(edges.left), n_gone + n
        out.flush()
    corpus.memory_left(
        name, n_gone, GONE_BYTES, least=LEAST_BYTES // 8 + n_new // 8, of="documents that leave"
    )
    facts: dict[str, Any] = cluster_facts(corpus, np.concatenate(kept))
    return Done(files=[path], facts={**facts, "edges": n_edges})


def write_stars(
    run: RunFolder, part: Pass, name: str, round_: int, largest: Clusters, group: int
) -> Done:
    """Write the verdicts on every shard of a group, as a round decided.

    largest: clusters of which a pair is told.
    """
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
    last = last.rpartition("-")[0]
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


def _n_works(corpus: Corpus, step: NearStep) -> int:
    return step.lsh().bands * corpus.n_ranges


def _memory(corpus: Corpus, step: NearStep, works: int) -> int:
    """Bytes for a work that compares."""
    return corpus.memory_left(step.name, corpus.n, 0, works=works, least=LEAST_BYTES)
