"""Documents drawn from all that are left, and how many are the same as each, exactly and nearly.

    keys of all documents ── n rows drawn ──┬── exact: one walk over the keys counts equal digests
                                            └── near: walks until no new neighbour is found

The longest documents are taken for certain, as a few of them may be half of all text; the others
are drawn alike.

What a cluster keeps is its first document, so that is looked for too. Memory is that of the
documents drawn and of their clusters, of which equal documents count once.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.arrow_files import arrow_file
from pipelines.config import Config
from pipelines.dedup_steps import ExactDedup, NearDedup
from pipelines.estimating.closure import Closure
from pipelines.estimating.job import MeasureJob
from pipelines.estimating.key_sample import Clusters, sample_keys
from pipelines.estimating.scan import ENDS
from pipelines.job import Done
from pipelines.keys import key_parameters
from pipelines.recipe import step_name
from pipelines.sidecar import Rows, corpus_rows, open_arrow

I64 = npt.NDArray[np.int64]
FOUND = ("copies", "alike", "whole", "units")  # of a step, as `Copies` has them


class Copies(NamedTuple):
    """What a step finds of each probe.

    copies: (n,) int64, documents that it takes for the same, itself among them.
    first: what becomes of the first of them, which is kept: (n,) int64 each, by column of ENDS.
    alike: (n,) int64, those of them that are like the probe itself, not by way of others.
    whole: (n,) bool, all of them were found.
    units: (n,) int64, how many units of what was read hold one of them.
    """

    copies: I64
    first: dict[str, I64]
    alike: I64
    whole: npt.NDArray[np.bool_]
    units: I64


class Probed(NamedTuple):
    """Documents drawn of `corpus_docs`.

    doc_id: (n,) uint64, ascending.  certain: (n,) bool, taken rather than drawn.
    ends: (n,) int64 each, by column of ENDS.
    steps: by name, in the recipe's order.
    clusters: of equal documents, a sample of all; where no other ones are looked for.
    """

    corpus_docs: int
    doc_id: npt.NDArray[np.uint64]
    certain: npt.NDArray[np.bool_]
    ends: dict[str, I64]
    steps: dict[str, Copies]
    clusters: Clusters | None

    @property
    def last(self) -> Copies:
        """Of all steps together."""
        return list(self.steps.values())[-1]

    @property
    def others(self) -> int:
        """Documents of the corpus that were not taken for certain."""
        return self.corpus_docs - int(self.certain.sum())

    @property
    def scale(self) -> npt.NDArray[np.float64]:
        """(n,) documents of the corpus that each stands for."""
        n_drawn = int((~self.certain).sum())
        return np.where(self.certain, 1.0, self.others / max(n_drawn, 1))


def count_copies(job: MeasureJob, keys: tuple[str, ...], units: tuple[int, ...] = ()) -> Done:
    """Draw documents and count what is like them; write a row for each.

    keys: of the parts that were read, in order.  units: what each is of, ascending; if none are
        given, each is a unit.
    """
    rows = corpus_rows([job.keys(0, key) for key in keys], key_parameters(job.dedup))
    ends = corpus_rows([job.ends(key) for key in keys], {})
    certain = longest_rows(ends, job.measuring.probes)
    drawn = draw_rows(rows.n, job.measuring.probes, certain=certain, seed=job.measuring.seed)
    columns: dict[str, npt.NDArray[Any]] = {
        "doc_id": rows.take("doc_id", drawn) if len(drawn) else np.zeros(0, np.uint64),
        "certain": np.isin(drawn, certain),
        **taken(ends, drawn, "own."),
    }
    of_part = np.array(units or range(len(keys)), np.int64)
    of_batch = np.repeat(of_part, np.diff(rows.shard_batches))
    for step, found in _all_copies(rows, drawn, job.dedup, of_batch).items():
        columns |= taken(ends, found["first"], f"{step}.first.")
        columns |= {f"{step}.{name}": found[name] for name in FOUND}
    _write(job.probes, columns)
    facts: dict[str, Any] = {"corpus_docs": rows.n}
    files = [job.probes]
    if all(isinstance(step, ExactDedup) for step in job.dedup):
        sampled = sample_keys(rows, of_batch)
        _write(job.clusters, sampled.columns() | taken(ends, sampled.first, ""))
        facts["share"] = sampled.share
        files.append(job.clusters)
    return Done(files=files, facts=facts)


def _write(path: Path, columns: dict[str, npt.NDArray[Any]]) -> None:
    batch = pa.record_batch({name: pa.array(values) for name, values in columns.items()})
    with arrow_file(path, batch.schema) as writer:
        writer.write_batch(batch)


def read_copies(job: MeasureJob, facts: Mapping[str, Any]) -> Probed:
    """What `count_copies` wrote; facts: of its receipt."""
    columns = _columns(job.probes)
    steps = {
        step: Copies(
            first=_ends(columns, f"{step}.first."),
            **{name: columns[f"{step}.{name}"] for name in FOUND},
        )
        for step in map(step_name, job.dedup)
    }
    clusters = None
    if "share" in facts:
        of_keys = _columns(job.clusters)
        clusters = Clusters(
            share=facts["share"],
            first=_ends(of_keys, ""),
            **{name: of_keys[name] for name in ("sizes", "units", "unit", "giant")},
        )
    return Probed(
        corpus_docs=facts["corpus_docs"],
        doc_id=columns["doc_id"],
        certain=columns["certain"],
        ends=_ends(columns, "own."),
        steps=steps,
        clusters=clusters,
    )


def _columns(path: Path) -> dict[str, npt.NDArray[Any]]:
    (batch,) = open_arrow(path)[0]
    names = batch.schema.names
    return {name: np.asarray(batch[name].to_numpy(zero_copy_only=False)) for name in names}


def _ends(columns: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, I64]:
    return {name: columns[f"{prefix}{name}"] for name in ENDS.names}


def longest_rows(ends: Rows, n_probes: int) -> I64:
    """Rows, ascending, whose text is more than its share of a probe; half of the probes at most.

    None, if all documents are probed anyway.
    """
    if ends.n <= n_probes:
        return np.zeros(0, np.int64)
    total = sum(int(ends.values(b, "text_bytes").sum()) for b, _ in ends.walk())
    rows, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for b, start in ends.walk():
        here = ends.values(b, "text_bytes")
        long = np.flatnonzero(here * n_probes > total)
        rows.append(start + long)
        lengths.append(here[long])
    found, size = np.concatenate(rows), np.concatenate(lengths)
    return np.sort(found[np.argsort(-size, kind="stable")[: n_probes // 2]])


def draw_rows(n_rows: int, n_probes: int, *, certain: I64, seed: int) -> I64:
    """Rows, ascending: the certain ones, and others drawn without replacement; all, if as few."""
    if n_rows <= n_probes:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, 1])
    n_drawn = n_probes - len(certain)
    ranks = rng.choice(n_rows - len(certain), n_drawn, replace=False, shuffle=False)
    # the r-th of the other rows stands behind as many certain ones as have r or fewer before them
    others = ranks + np.searchsorted(certain - np.arange(len(certain)), ranks, side="right")
    return np.sort(np.concatenate([certain, others]))


def _all_copies(
    rows: Rows, drawn: I64, steps: tuple[Config, ...], units: I64
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """By step, what it and the ones before it take for the same; `first` is a row."""
    made: dict[str, dict[str, npt.NDArray[Any]]] = {}
    ones = np.ones(len(drawn), np.int64)
    last: dict[str, npt.NDArray[Any]]
    last = {name: ones for name in ("copies", "alike", "units")}
    last |= {"first": drawn, "whole": ones.astype(np.bool_)}
    for step in steps:
        if isinstance(step, ExactDedup):
            copies, first, spans = equal_digests(rows, drawn, units)
            found = {**last, "copies": copies, "first": first, "alike": copies, "units": spans}
        elif isinstance(step, NearDedup):
            found = Closure(rows, drawn, step, units).found()
        # a step adds to what is the same already: documents without shingles have no neighbours
        wider = np.greater(found["copies"], last["copies"])
        whole = last["whole"] & found["whole"]
        last = {name: np.where(wider, found[name], last[name]) for name in last}
        last["whole"] = whole
        made[step_name(step)] = last
    return made


def equal_digests(rows: Rows, drawn: I64, units: I64) -> tuple[I64, I64, I64]:
    """Of each row drawn: how many rows have its digest, the first of them, units they are in.

    units: (n_batches,) what each batch is of, ascending.
    """
    if not len(drawn):
        return drawn, drawn, drawn
    digests = rows.take("digest", drawn)
    halves = np.unique(digests[:, 0])  # comparing numbers first is ten times faster than pairs
    wanted, place = np.unique(_as_pairs(digests), return_inverse=True)
    counts = np.zeros(len(wanted), np.int64)
    first = np.full(len(wanted), rows.n, np.int64)
    spans, latest = counts.copy(), np.full(len(wanted), -1)
    for b, start in rows.walk():
        here = rows.values(b, "digest")
        near = np.minimum(np.searchsorted(halves, here[:, 0]), len(halves) - 1)
        maybe = np.flatnonzero(halves[near] == here[:, 0])
        pairs = _as_pairs(here[maybe])
        at = np.minimum(np.searchsorted(wanted, pairs), len(wanted) - 1)
        same = wanted[at] == pairs
        np.add.at(counts, at[same], 1)
        np.minimum.at(first, at[same], start + maybe[same])
        new = np.unique(at[same])
        new = new[latest[new] != units[b]]
        spans[new] += 1
        latest[new] = units[b]
    return counts[place], first[place], spans[place]


def _as_pairs(pairs: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
    """(n,) one sortable value for each (n, 2) digest."""
    return np.ascontiguousarray(pairs).view([("a", np.uint64), ("b", np.uint64)]).reshape(-1)


def taken(ends: Rows, wanted: I64, prefix: str) -> dict[str, I64]:
    """All columns of ENDS at rows in any order."""
    if not len(wanted):
        return {f"{prefix}{name}": np.zeros(0, np.int64) for name in ENDS.names}
    rows, place = np.unique(wanted, return_inverse=True)
    return {f"{prefix}{name}": ends.take(name, rows)[place] for name in ENDS.names}
