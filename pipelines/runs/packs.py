"""The receipts of a run as a whole: where they lie, how they are found again and packed.

    works of a phase ── find ─┬─► receipts that hold ───────────────┬── pack ──► packs
                              └─► works left ── executor ─► receipts┘

receipts/STEP/KEY.json                     of one work: written last and alone, when it is done
receipts/STEP/00003-9f86d081884c.jsonl.gz  a pack: of works 3,000 to 3,999 of a finished phase, in
                                           order, a line each

A pack is put in place whole, when its works are done, and only then are the receipts in it removed.
So wherever a run is killed, a receipt lies alone, in a pack, or in both, which then say the same.
The name of a pack tells which works it is of: it never takes the place of a pack of others, where a
shard that failed moves them. Packs and receipts of works that are no part of the run any more go
when its last phase has ended.

receipts/STEP/00003-9f86d081884c.spent.jsonl.gz   a pack of works whose scratch a later phase has
                                                  read for the last time: it may be deleted

Only the process that drives a run looks into packs and writes them; one that does works looks for
their own receipts alone.
"""

import gzip
import json
import math
import threading
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.runs.receipt import (
    FAILED,
    RECEIPT,
    Receipt,
    WorkFacts,
    WorkId,
    is_scratch,
    is_whole,
    receipt_path,
    save_receipt,
    step_folder,
    valid_receipt,
)
from tokenmill.pipelines.runs.work import Spends
from tokenmill.pipelines.storage import mirror
from tokenmill.sizing.strict import parse_json

GROUP = 1000  # works of a pack: what is in memory once more while it is written, 1 to 4 MB of JSON
PACK = ".jsonl.gz"
SPENT = f".spent{PACK}"
LOOKERS = 16  # receipts looked at a time: each takes requests, or calls of a disk far away
DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError)


@dataclass(frozen=True)
class Found:
    """What a run directory has of the receipts of a phase.

    receipts: those that hold, by key.
    packs: of those that lie in a pack alone, its name.  n_packed: receipts in each pack.
    """

    receipts: dict[str, Receipt[Any]] = field(default_factory=dict)
    packs: dict[str, str] = field(default_factory=dict)
    n_packed: dict[str, int] = field(default_factory=dict)

    @property
    def spent(self) -> set[str]:
        """Keys of works whose scratch may be gone."""
        return {key for key, pack in self.packs.items() if pack.endswith(SPENT)}


def find_receipts(out: Path, works: Sequence[WorkId]) -> Found:
    """The receipts of works that are done already, wherever they lie; all works are of one step.

    A receipt of its own counts before the one in a pack: it was written later.
    """
    found, by_key = Found(), {work.key: work for work in works}
    if not works:
        return found
    files = mirror.find(step_folder(out, works[0].step), "*")
    with ThreadPoolExecutor(LOOKERS) as looking:
        for pack in (path for path in files if path.name.endswith(PACK)):
            receipts = _read(pack, works[0].facts)
            found.n_packed[pack.name] = len(receipts)
            own = [r for r in receipts if r.key in by_key and by_key[r.key].inputs == r.inputs]
            look = partial(is_whole, out, spent=pack.name.endswith(SPENT))
            for receipt, whole in zip(own, looking.map(look, own), strict=True):
                if whole:
                    found.receipts[receipt.key], found.packs[receipt.key] = receipt, pack.name
        keys = (p.name.removesuffix(RECEIPT) for p in files if p.name.endswith(RECEIPT))
        alone = [by_key[key] for key in keys if key in by_key]
        for work, valid in zip(alone, looking.map(partial(valid_receipt, out), alone), strict=True):
            if valid is not None:
                found.receipts[work.key] = valid
                found.packs.pop(work.key, None)
    return found


class Packing:
    """Packs a phase's receipts, none of failed works, a group at a time; for several threads."""

    def __init__(
        self,
        out: Path,
        works: Sequence[WorkId],
        found: Found,
        spends: Callable[[int, Sequence[WorkId]], object] | None = None,
    ) -> None:
        """found: what there was of them when the phase began.

        spends: called when all of a group are done and packed, with its number and its works.
        """
        self._out, self._found, self._spends = out, found, spends
        self._groups = [works[first : first + GROUP] for first in range(0, len(works), GROUP)]
        self._of = {work.key: number for number, g in enumerate(self._groups) for work in g}
        has = found.receipts
        self._own = [{w.key: has[w.key] for w in g if w.key in has} for g in self._groups]
        self._left = [len(g) - len(own) for g, own in zip(self._groups, self._own, strict=True)]
        self._names: dict[int, list[str]] = {}
        self._lock = threading.Lock()

    def note(self, key: str, receipt: Receipt[Any] | None) -> None:
        """How a work ended; None if it failed."""
        with self._lock:
            number = self._of[key]
            self._left[number] -= 1
            if receipt is not None:
                self._own[number][key] = receipt
            if self._left[number]:
                return
        self._pack(number, self._own[number])

    def end(self, receipts: Mapping[str, Receipt[Any]]) -> list[str]:
        """Pack those that nobody was told of.

        receipts: all of the phase.

        Returns the names of the files in the folder of the step that have them now.
        """
        for number in range(len(self._groups)):
            if number not in self._names:
                self._pack(number, receipts)
        return [name for number in sorted(self._names) for name in self._names[number]]

    def _pack(self, number: int, receipts: Mapping[str, Receipt[Any]]) -> None:
        group, found = self._groups[number], self._found
        having = [receipts[work.key] for work in group if work.key in receipts]
        if len(group) == 1:  # a pack of one would save nothing
            self._names[number] = [_alone(self._out, receipt, found) for receipt in having]
            return
        self._names[number] = [_packed(self._out, number, group, having, found)] if having else []
        self._own[number] = {}
        like = b""
        for receipt in having:
            like = receipt.settle(like)
        if self._spends is not None and len(having) == len(group):
            self._spends(number, group)


def _packed(
    out: Path, number: int, group: Sequence[WorkId], own: Sequence[Receipt[Any]], found: Found
) -> str:
    """The name of the pack of a group's receipts, which is written unless it is there."""
    name, step = _pack_name(number, group), group[0].step
    if _spent(name) in found.n_packed:
        name = _spent(name)
    is_there = all(found.packs.get(receipt.key) == name for receipt in own)
    if not is_there or found.n_packed[name] != len(own):
        _write_pack(step_folder(out, step) / name, own)
    fresh = (receipt for receipt in own if receipt.key not in found.packs)
    mirror.remove(receipt_path(out, step, r.key) for r in fresh)
    return name


def spend(out: Path, spends: Spends, number: int, works: Sequence[WorkId]) -> None:
    """Delete what works of a group were the last to read, once they are done.

    works: of the phase that reads; those before have the same keys.
    """
    pack = step_folder(out, spends.step) / _pack_name(number, works)
    receipts = _read(pack, None)
    if not receipts:  # spent before, or the works before were parted otherwise
        return
    _write_pack(pack.with_name(_spent(pack.name)), receipts)
    names = (name for receipt in receipts for name, _, _ in receipt.files)
    scratch = [n for n in names if is_scratch(n) and n.partition("/")[0] not in spends.but]
    mirror.remove([pack, *(out / name for name in scratch)])


def unspend(out: Path) -> None:
    """Let the receipts of all packs be proof again that their scratch is there, or of nothing."""
    for pack in mirror.find(out / "receipts", f"*/*{SPENT}"):
        plain = pack.with_name(pack.name.removesuffix(SPENT) + PACK)
        mirror.write_bytes(plain, mirror.read_bytes(pack))
        mirror.remove([pack])


def _spent(name: str) -> str:
    return name.removesuffix(PACK) + SPENT


def sweep_receipts(out: Path, kept: Mapping[str, Collection[str]]) -> None:
    """Delete receipts of works no longer part of the run, and errors; kept: file names by step."""
    for step, names in kept.items():
        files = mirror.find(step_folder(out, step), "*")
        stay = {*names, *(_spent(name) for name in names if name.endswith(PACK))}
        strays = [
            p for p in files if p.name.endswith((PACK, RECEIPT, FAILED)) and p.name not in stay
        ]
        mirror.remove(strays)


def receipts_of(
    out: Path, step: str, facts: type[WorkFacts] | None = None
) -> Iterator[Receipt[Any]]:
    """The receipts of a step of a run whose phases have ended, in order; one pack in memory.

    facts: what its works tell; None leaves them as they are in the JSON.
    """
    files = mirror.find(step_folder(out, step), "*")
    alone = {r.key: r for p in files if p.name.endswith(RECEIPT) for r in _read(p, facts)}
    for pack in (path for path in files if path.name.endswith(PACK)):
        for receipt in _read(pack, facts):
            yield alone.pop(receipt.key, receipt)
    yield from alone.values()


def _pack_name(number: int, works: Sequence[WorkId]) -> str:
    digest = digest_of(work.key for work in works)
    return f"{number:05d}-{digest[:12]}{PACK}"


def _write_pack(path: Path, receipts: Sequence[Receipt[Any]]) -> None:
    lines = (_line(receipt) for receipt in receipts)
    mirror.write_bytes(path, gzip.compress(b"".join(lines), compresslevel=6, mtime=0))


def _line(receipt: Receipt[Any]) -> bytes:
    text = json.dumps(receipt.to_json(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n".encode()


def _read(path: Path, facts: type[WorkFacts] | None) -> list[Receipt[Any]]:
    """The receipts of a pack, or one of its own; what cannot be read proves nothing."""
    return dated(path, facts)[0]


def dated(path: Path, facts: type[WorkFacts] | None = None) -> tuple[list[Receipt[Any]], float]:
    """As `_read`, and seconds since they were written; of what holds none, for ever."""
    try:
        if not path.name.endswith((PACK, RECEIPT)):
            return [], math.inf
        data, age_s = mirror.read_dated(path)
        lines = gzip.decompress(data).splitlines() if path.name.endswith(PACK) else [data]
        return [Receipt.from_json(parse_json(line), facts) for line in lines], age_s
    except (FileNotFoundError, *DAMAGED):
        return [], math.inf


def _alone(out: Path, receipt: Receipt[Any], found: Found) -> str:
    """The name of the file of a receipt that stays alone."""
    if receipt.key in found.packs:
        save_receipt(out, receipt)
    return receipt_path(out, receipt.step, receipt.key).name
