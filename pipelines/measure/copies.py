"""Documents drawn from all that are left, and how many are the same as each, exactly and nearly.

    keys of all documents ── n rows drawn ──┬── exact: one walk over the keys counts equal digests
                                            └── near: walks until no new neighbour is found

They are drawn of those that were chosen and pass the filters: of these is known what becomes of
them. The longest are taken for certain, as a few of them may be half of all text; the others are
drawn alike, so that the chance of each goes as that of being chosen.

What a cluster keeps is its first document, so that is looked for too. Memory is that of the
documents drawn and of their clusters, of which equal documents count once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I64, U64, Bools
from tokenmill.dedup.same.lsh import NO_KEY
from tokenmill.dedup.same.minhash import MinHash
from tokenmill.pipelines.core.schema import ROW_BITS
from tokenmill.pipelines.corpus.edges import Comparing
from tokenmill.pipelines.corpus.step import CorpusStep, key_parameters
from tokenmill.pipelines.filters.images.keys import has_key
from tokenmill.pipelines.measure.clusters import Closure, Clusters, equal_keys, sample_keys
from tokenmill.pipelines.measure.earlier import COMPARED_BYTES, Earlier
from tokenmill.pipelines.measure.images import count_images, narrowed
from tokenmill.pipelines.measure.job import (
    CLUSTERS_FILE,
    ENDS_FOLDER,
    PROBED_IMAGES_FILE,
    PROBES_FILE,
    MeasureJob,
)
from tokenmill.pipelines.measure.scan import ENDS
from tokenmill.pipelines.runs.folder import KEYS
from tokenmill.pipelines.runs.receipt import WorkFacts
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import Batch, Rows, arrow_file, counted_rows, open_arrow

STEP = "step."  # before its name, of the column of a step


class Copies(NamedTuple):
    """What a step finds of each probe.

    copies: (n,) as so many of which one is left: documents that it takes for the same, itself
        among them; infinite of one that leaves, where who leaves is known.
    first: what becomes of the first of them, which is kept: (n,) int64 each, by column of ENDS.
    alike: (n,) at least as many: those that are like the probe itself, not by way of others.
    whole: (n,) bool, all of them were found.  most: (n,) as many as there may be.
    units: (n,) int64, how many units of what was read hold one of them.
    """

    copies: F64
    first: dict[str, I64]
    alike: F64
    whole: Bools
    most: F64
    units: I64


class Probed(NamedTuple):
    """Documents drawn of `corpus_docs`.

    doc_id: (n,) uint64, ascending.  chance: (n,) that each was chosen and drawn.
    kept_id: (n,) uint64, the document that all steps leave of those like it.
    ends: (n,) int64 each, by column of ENDS.
    steps: by name, in the recipe's order.
    clusters: of equal documents, a sample of all; where no other ones are looked for.
    """

    corpus_docs: int
    doc_id: U64
    chance: F64
    kept_id: U64
    ends: dict[str, I64]
    steps: dict[str, Copies]
    clusters: Clusters | None

    @property
    def parts(self) -> I64:
        """(n,) number of the part of the inputs that each is in."""
        return (self.doc_id >> np.uint64(ROW_BITS)).astype(np.int64)

    @property
    def last(self) -> Copies:
        """Of all steps together."""
        return list(self.steps.values())[-1]

    @property
    def scale(self) -> F64:
        """(n,) documents of the corpus that each stands for."""
        return np.asarray(1 / self.chance, np.float64)


@dataclass(frozen=True, kw_only=True)
class ProbeFacts(WorkFacts):
    """Of the documents that were probed.

    corpus_docs: that have keys.  probes: drawn of them.
    steps: that were predicted, in order.  share: of the hash space whose keys were kept to count
        whole clusters; None if none were.
    """

    corpus_docs: int
    probes: int
    steps: Sequence[str]
    share: float | None = None


def count_copies(
    job: MeasureJob, keys: tuple[str, ...], units: tuple[int, ...] = (), read_frac: float = 1.0
) -> Done[ProbeFacts]:
    """Draw documents and count what is like them, and like their images; write a row for each.

    keys: of the parts that were read, in order.  units: what each is of, ascending; if none are
        given, each is a unit.  read_frac: of the inputs that was read.
    """
    rows = counted_rows([job.path(KEYS, key=key) for key in keys], key_parameters(job.dedup))
    ends = counted_rows([job.path(ENDS_FOLDER, key=key) for key in keys], {})
    drawn, chances = draw_probes(ends, job.measuring.probes, seed=job.measuring.seed)
    columns: dict[str, Any] = {
        "doc_id": rows.take("doc_id", drawn) if len(drawn) else np.zeros(0, np.uint64),
        "chance": chances,
        "ends": ends.take_in_any_order(ENDS.names, drawn),
    }
    of_part = np.array(units or range(len(keys)), np.int64)
    files = [job.out / PROBES_FILE]
    is_whole = read_frac >= 1
    steps = job.predicted
    if not is_whole:  # that which takes images out before the others
        steps = tuple(sorted(steps, key=lambda step: step.image_rule is None))
    probing = Probing(rows, drawn, of_part, is_whole=is_whole, asked=bool(job.filters))
    found_by = probing.all_copies(steps)
    share = None
    last = list(found_by.values())[-1]["first"] if found_by else drawn
    kept_id, fate = rows.take_in_any_order(["doc_id"], last)["doc_id"], None
    columns["kept_id"] = kept_id.astype(np.uint64)
    if job.recipe.images is not None:
        ids, kept = columns["doc_id"], columns["kept_id"]
        fate = count_images(job, keys, ids, kept, units=of_part, read_frac=read_frac)
        files.append(job.out / PROBED_IMAGES_FILE)
    image_step, behind = job.image_step and job.image_step.name, False
    for step, copies in found_by.items():
        behind = step == image_step or (behind and is_whole)
        first = ends.take_in_any_order(ENDS.names, copies["first"])
        # of one that was not chosen it is not known what becomes of it: as of the one that was
        is_known = first["chance"] > 0
        first = {n: np.where(is_known, c, columns["ends"][n]) for n, c in first.items()}
        if fate is not None and behind:
            first, copies = narrowed(first, copies, fate, rows.n)
        columns[f"{STEP}{step}"] = {**copies, "first": first}
    _write(job.out / PROBES_FILE, columns)
    if probing.whole_column is not None:
        sampled = sample_keys(rows, of_part, column=probing.whole_column)
        of_keys = sampled.columns()
        first = ends.take_in_any_order(ENDS.names, of_keys["first"])
        _write(job.out / CLUSTERS_FILE, {**of_keys, "first": first})
        share = sampled.share
        files.append(job.out / CLUSTERS_FILE)
    facts = ProbeFacts(corpus_docs=rows.n, probes=len(drawn), steps=list(found_by), share=share)
    return Done(files=files, facts=facts)


def _write(path: Path, columns: Mapping[str, Any]) -> None:
    batch = pa.RecordBatch.from_struct_array(_column(columns))
    with arrow_file(path, batch.schema) as writer:
        writer.write_batch(batch)


def _column(values: Any) -> pa.Array:
    """(n,) of an array; of columns by name, as a struct of them."""
    if not isinstance(values, Mapping):
        return pa.array(values)
    return pa.StructArray.from_arrays([_column(v) for v in values.values()], list(values))


def read_copies(job: MeasureJob, facts: ProbeFacts) -> Probed:
    """What `count_copies` wrote; facts: of its receipt."""
    columns = _read(job.out / PROBES_FILE)
    steps = {step: Copies(**columns.pop(f"{STEP}{step}")) for step in facts.steps}
    clusters = None
    if facts.share is not None:
        clusters = Clusters(share=facts.share, **_read(job.out / CLUSTERS_FILE))
    return Probed(corpus_docs=facts.corpus_docs, steps=steps, clusters=clusters, **columns)


def _read(path: Path) -> dict[str, Any]:
    (batch,) = open_arrow(path)[0]
    return {name: _values(batch[name]) for name in batch.schema.names}


def _values(column: pa.Array) -> Any:
    """What `_column` made."""
    if not pa.types.is_struct(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return {field.name: _values(column.field(field.name)) for field in column.type}


def draw_probes(ends: Rows, n_probes: int, *, seed: int) -> tuple[I64, F64]:
    """Rows, ascending, of documents that were chosen and pass, and the chance of each.

    A text of more than its share of a probe is drawn for certain; half of the probes at most.
    """
    n, total = 0, 0
    for batch in ends.walk():
        text = batch.values("text_bytes")[_there(batch)]
        n, total = n + len(text), total + int(text.sum())
    longest = _longest(ends, n_probes, total) if n > n_probes else np.zeros(0, np.int64)
    numbers = draw_rows(n, n_probes, certain=longest, seed=seed)
    rows, chances, before = [np.zeros(0, np.int64)], [np.zeros(0)], 0
    for batch in ends.walk():
        there = np.flatnonzero(_there(batch))
        low, high = np.searchsorted(numbers, [before, before + len(there)])
        there, before = there[numbers[low:high] - before], before + len(there)
        rows.append(batch.start + there)
        chances.append(batch.values("chance")[there])
    of_others = (len(numbers) - len(longest)) / max(n - len(longest), 1)
    drawn = np.where(np.isin(numbers, longest), 1.0, of_others)
    return np.concatenate(rows), np.concatenate(chances) * drawn


def _longest(ends: Rows, n_probes: int, total: int) -> I64:
    """Numbers, among those chosen that pass, ascending."""
    numbers, lengths, before = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for batch in ends.walk():
        text = batch.values("text_bytes")[_there(batch)]
        long = np.flatnonzero(text * n_probes > total)
        numbers.append(before + long)
        lengths.append(text[long])
        before += len(text)
    longest, size = np.concatenate(numbers), np.concatenate(lengths)
    return np.sort(longest[np.argsort(-size, kind="stable")[: n_probes // 2]])


def _there(batch: Batch) -> Bools:
    return np.asarray((batch.values("chance") > 0) & (batch.values("left_at") >= 0), np.bool_)


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


class Probing:
    """What the rows drawn are taken for the same as, by one step after the other.

    See `corpus.step.Probing`; `first` is a row.
    """

    def __init__(self, rows: Rows, drawn: I64, units: I64, *, is_whole: bool, asked: bool) -> None:
        """units: (n_shards,) what each shard of the rows is of.  is_whole: all inputs were read.

        asked: who passes the filters before is known of those alone that were asked.
        """
        self._rows, self._drawn, self._units, self._is_whole = rows, drawn, units, is_whole
        self._with_asked = asked
        ones = np.ones(len(drawn), np.int64)
        self._last: dict[str, npt.NDArray[Any]]
        self._last = {"copies": ones * 1.0, "alike": ones * 1.0, "most": ones * 1.0}
        self._last |= {"first": drawn, "whole": ones.astype(np.bool_), "units": ones}
        self._asked: list[str | None] = []
        self._unlike: list[tuple[str, str]] = []  # columns that texts may differ of, what is kept
        self._decided = np.zeros(len(drawn), np.bool_)  # by who stays, copies among them

    @property
    def whole_column(self) -> str | None:
        """The only column that was asked for, if every document has a key in it, the first of
        equal ones is kept, and all come to be compared.
        """
        return self._asked[0] if len(self._asked) == 1 and not self._with_asked else None

    def all_copies(self, steps: tuple[CorpusStep, ...]) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """By step, what it and the ones before it take for the same."""
        by_step: dict[str, dict[str, npt.NDArray[Any]]] = {}
        for step in steps:
            probed, last = step.probe(self), self._last
            # a step adds to what is the same already: documents without shingles have no neighbours
            wider = np.greater(probed["copies"], last["copies"])
            wider |= np.greater(probed["units"], last["units"])
            whole = last["whole"] & probed["whole"]
            most = probed.setdefault("most", np.full(len(wider), np.inf))
            self._last = {name: np.where(wider, probed[name], last[name]) for name in last}
            self._last["whole"] = whole
            self._last["most"] = np.where(whole, self._last["copies"], most)
            by_step[step.name] = self._last
        return by_step

    def unchanged(self) -> dict[str, npt.NDArray[Any]]:
        self._asked.append(None)
        return self._last

    def near(
        self, bands: Sequence[str], *, num_perm: int, verify: float
    ) -> dict[str, npt.NDArray[Any]]:
        self._asked.append(None)
        drawn, asked = (self._rows, self._drawn, self._units), self._with_asked
        return Closure(*drawn, bands=bands, num_perm=num_perm, verify=verify, asked=asked).found()

    def stars(
        self, bands: Sequence[str], *, minhash: MinHash, exact: bool, verify: float
    ) -> dict[str, npt.NDArray[Any]]:
        self._asked.append(None)
        first, place = np.unique(self._last["first"], return_inverse=True)
        keys = self._rows.take_all(bands, first)
        keyed = np.all([column != NO_KEY for column in keys.values()], axis=0)
        comparing = Comparing(self._rows, minhash, exact=exact, verify=verify, room=COMPARED_BYTES)
        earlier = Earlier(
            self._rows,
            first[keyed],
            self._units,
            bands=list(bands),
            comparing=comparing,
            stay=self._stay,
            asked=self._with_asked,
        )
        found = earlier.found(both_ways=not self._is_whole)
        stays, known = np.ones((2, len(first)), np.bool_)
        units = np.ones(len(first), np.int64)
        stays[keyed], known[keyed], units[keyed] = found.stays, found.known, found.units
        self._decided |= keyed[place]
        last, here = self._last["copies"], stays[place]
        return self._last | {
            "copies": np.where(here, last, np.inf),
            "alike": np.where(here | ~known[place], last, np.inf),
            "whole": known[place],
            "most": np.where(known[place], self._last["most"], np.inf),
            "units": np.maximum(units[place], self._last["units"]),
        }

    def equal(
        self, column: str, *, keep: str = "first", zeros_are_a_key: bool = False, texts: bool = True
    ) -> dict[str, npt.NDArray[Any]]:
        self._asked.append(column if zeros_are_a_key and keep == "first" else None)
        if not texts and self._decided.any():
            return self._equal_of_staying(column, keep)
        drawn = self._drawn
        if not texts:
            self._unlike.append((column, keep))
        known = ~self._decided  # of texts that are as alike as equal one stays already
        if not zeros_are_a_key and len(drawn):
            known &= has_key(self._rows.take(column, drawn))
        columns: dict[str, npt.NDArray[Any]] = {
            "copies": np.ones(len(drawn)),
            "first": drawn.copy(),
        }
        columns["units"] = np.ones(len(drawn), np.int64)
        equals = equal_keys(
            self._rows, drawn[known], self._units, column=column, keep=keep, asked=self._with_asked
        )
        for name, values in zip(("copies", "first", "units"), equals, strict=True):
            columns[name][known] = values
        most = np.where(known, np.inf, self._last["most"])
        return self._last | columns | {"alike": columns["copies"], "most": most}

    def _stay(self, rows: I64) -> Bools:
        """(n,) which rows, ascending, are left by steps that texts may differ of, if all pass."""
        stay = np.ones(len(rows), np.bool_)
        for column, keep in self._unlike if len(rows) else ():
            keyed = has_key(self._rows.take(column, rows))
            equals = equal_keys(self._rows, rows[keyed], self._units, column=column, keep=keep)
            stay[keyed] &= equals.kept == rows[keyed]
        return stay

    def _equal_of_staying(self, column: str, keep: str) -> dict[str, npt.NDArray[Any]]:
        """Of documents with the key of the one that stays for each row drawn, those that stay: it
        is known where all were drawn that have the key, else they are one at least, all at most.
        """
        drawn, last = self._drawn, self._last
        rows = np.union1d(drawn, last["first"])
        keyed = has_key(self._rows.take(column, rows))
        most, kept, units = np.ones(len(rows)), rows.copy(), np.ones(len(rows), np.int64)
        most[keyed], kept[keyed], units[keyed] = equal_keys(
            self._rows, rows[keyed], self._units, column=column, keep=keep, asked=self._with_asked
        )
        _, of_row = np.unique(kept, return_inverse=True)
        own, first = np.searchsorted(rows, drawn), np.searchsorted(rows, last["first"])
        goes = np.isinf(last["copies"])
        stays = drawn[(own == first) & ~goes]
        at = of_row[np.searchsorted(rows, stays)]
        n_staying = np.bincount(at, minlength=len(rows))
        told = np.bincount(of_row[own], last["whole"], len(rows))  # drawn, of known fate
        here = of_row[first]
        known = (told[here] == most[first]) & (n_staying[here] > 0)
        left = np.full(len(rows), self._rows.n if keep == "first" else -1, np.int64)
        (np.minimum if keep == "first" else np.maximum).at(left, at, stays)
        copies = np.where(known, n_staying[here], most[first])
        return {
            "copies": last["copies"] * copies,
            "first": np.where(known, left[here], last["first"]),
            "alike": last["alike"] * np.where(known, copies, 1),
            "whole": last["whole"] & (known | goes | (copies == 1)),
            "most": last["most"] * copies,
            "units": np.maximum(units[first], last["units"]),
        }
