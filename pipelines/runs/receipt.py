"""Receipts: proof that a piece of work was done, on what, and what it wrote.

A receipt is written last, after the files it lists were renamed into place. A file
without a receipt is never trusted; a receipt whose files are gone or of another size,
or whose `inputs` differ from what the work would read now, is not valid.

receipts/STEP/KEY.json    while the phase of the work goes on; then see `pipelines.runs.packs`
receipts/STEP/KEY.failed  of a work that failed since the run was begun or continued: why
"""

import contextlib
import json
import pickle
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, cast

import xxhash
from typing_extensions import TypeVar

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import json_text
from tokenmill.sizing.strict import parse_json

COPY_BYTES = 1 << 20
UPLOADS_AT_ONCE = 8
RECEIPT, FAILED = ".json", ".failed"
SETTLED = ("stats", "files", "facts", "inputs", "seconds")  # of a receipt
COUNTS = tuple(f.name for f in fields(StageStats))
SCRATCH = re.compile(r"\d\d-[^/]*/")


@dataclass(frozen=True, kw_only=True)
class WorkFacts:
    """What works of one kind tell later steps and the report: a dataclass of plain JSON values.

    One that holds others undoes `to_json` in a `from_json` of its own. Works whose `facts` name no
    such class tell a mapping.
    """

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` undoes it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises TypeError for the facts of another kind of work."""
        return cls(**data)


F = TypeVar("F", default=Mapping[str, Any])  # the facts of a kind of work
no_facts = cast(Callable[[], Any], dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkId:
    """Which piece of work it is.

    step, key: name it; `key` is the shard's, the band's, …
    inputs: digest over everything the work reads: recipe and receipts before it.
    facts: what it tells; None is a mapping.
    """

    step: str
    key: str
    inputs: str
    facts: type[WorkFacts] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt(Generic[F]):
    """What one piece of work did.

    Who drives a run has those of all its works in memory: see `settle`.

    step, key, inputs: of the work.
    files: (path below the run directory, bytes, xxh3-128 hex) of each file written; of a job that
        is not durable no hex.
    stats: what each stage did, in order.
    facts: what else later steps and the report need.
    seconds: (wall, CPU of this thread) the work took; no part of any digest.
    """

    step: str
    key: str
    inputs: str
    files: tuple[tuple[str, int, str], ...] = ()
    stats: tuple[tuple[str, StageStats], ...] = ()
    facts: F = field(default_factory=no_facts)
    seconds: tuple[float, float] = (0.0, 0.0)
    _settled: bytes = field(default=b"", init=False, repr=False, compare=False)
    _like: bytes = field(default=b"", init=False, repr=False, compare=False)

    def settle(self, like: bytes = b"") -> bytes:
        """Take a tenth of the memory: all but step and key is unpacked each time it is asked for.

        Where it was settled already, nothing is done.

        like: what another of the step returned, which says much the same; it is shared.
        """
        if self._settled:
            return like
        parts: list[Any] = [getattr(self, name) for name in SETTLED]
        parts[0] = [(name, *vars(of).values()) for name, of in self.stats]
        plain = pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
        packer = zlib.compressobj(1, zdict=like)
        object.__setattr__(self, "_settled", packer.compress(plain) + packer.flush())
        object.__setattr__(self, "_like", like)
        for name in SETTLED:
            object.__delattr__(self, name)
        return like or plain

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is settled; of other attributes that are not there."""
            if name not in SETTLED:
                raise AttributeError(f"a receipt has no {name!r}", name=name, obj=self)
            plain = zlib.decompressobj(zdict=self._like).decompress(self._settled)
            found = pickle.loads(plain)[SETTLED.index(name)]
            if name != SETTLED[0]:
                return found
            return tuple((of, StageStats(**dict(zip(COUNTS, n, strict=True)))) for of, *n in found)

    @property
    def digest(self) -> str:
        """Hex digest of what the work produced: equal for equal output, however long it took."""
        body = [self.step, self.key, self.files, [(n, s.to_json()) for n, s in self.stats]]
        text = json.dumps([*body, self._facts_to_json()], sort_keys=True)
        return xxhash.xxh3_128_hexdigest(text.encode())

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` undoes it."""
        return {
            "step": self.step,
            "key": self.key,
            "inputs": self.inputs,
            "files": [list(f) for f in self.files],
            "stats": [[name, stats.to_json()] for name, stats in self.stats],
            "facts": self._facts_to_json(),
            "seconds": list(self.seconds),
        }

    def _facts_to_json(self) -> dict[str, Any]:
        facts: Any = self.facts
        return facts.to_json() if isinstance(facts, WorkFacts) else dict(facts)

    @staticmethod
    def from_json(data: Mapping[str, Any], facts: type[WorkFacts] | None = None) -> "Receipt[Any]":
        """facts: what the work tells; None leaves them as they are in the JSON."""
        return Receipt(
            step=data["step"],
            key=data["key"],
            inputs=data["inputs"],
            files=tuple((p, n, d) for p, n, d in data["files"]),
            stats=tuple((name, StageStats.from_json(s)) for name, s in data["stats"]),
            facts=data["facts"] if facts is None else facts.from_json(data["facts"]),
            seconds=(data["seconds"][0], data["seconds"][1]),
        )


def step_folder(out: Path, step: str) -> Path:
    """Where all receipts of a step lie."""
    return out / "receipts" / step


def receipt_path(out: Path, step: str, key: str) -> Path:
    """Where a work's own receipt lies, until it is packed."""
    return step_folder(out, step) / f"{key}{RECEIPT}"


def save_receipt(out: Path, receipt: Receipt[Any]) -> None:
    """Write the receipt; from now on the work is done."""
    path = receipt_path(out, receipt.step, receipt.key)
    mirror.write_text(path, json_text(receipt.to_json()))


def note_failure(out: Path, work: WorkId, error: str) -> None:
    """Set down why a work failed, for who looks before the report does; no more than a help."""
    with contextlib.suppress(OSError, ConfigError):
        path = receipt_path(out, work.step, work.key).with_suffix(FAILED)
        mirror.write_text(path, error)


def failures(out: Path) -> Iterator[tuple[str, str, str]]:
    """(step, key, error) of the works that failed since the run was begun or continued."""
    for path in mirror.find(out / "receipts", f"*/*{FAILED}"):
        yield path.parent.name, path.name.removesuffix(FAILED), mirror.read_text(path)


def forget_failures(out: Path) -> None:
    """What failed is tried again."""
    mirror.remove(mirror.find(out / "receipts", f"*/*{FAILED}"))


def publish_files(out: Path, receipt: Receipt[Any]) -> None:
    """Put the files of a receipt where the run directory is, should it be elsewhere."""
    if mirror.of(out) is None:
        return
    with ThreadPoolExecutor(UPLOADS_AT_ONCE) as uploading:
        futures = [uploading.submit(mirror.publish, out / n, d) for n, _, d in receipt.files]
        try:
            for future in futures:
                future.result()
        finally:
            uploading.shutdown(cancel_futures=True)  # of those not begun, when one has failed


def valid_receipt(out: Path, work: WorkId) -> Receipt[Any] | None:
    """The work's own receipt if it holds today: same inputs, every file there and of its size.

    On an object store the process that drives the run knows the names and sizes of all that was
    there when it began, so that it asks only for receipts that there are: one request each.
    Others ask for the receipt and, if there is one, for the size of each file.
    """
    path = receipt_path(out, work.step, work.key)
    try:
        if not mirror.may_exist(path):
            return None
        receipt = Receipt.from_json(parse_json(mirror.read_text(path)), work.facts)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return None  # what cannot be read proves nothing: the work is done again
    return receipt if receipt.inputs == work.inputs and is_whole(out, receipt) else None


def is_whole(out: Path, receipt: Receipt[Any], *, spent: bool = False) -> bool:
    """Whether a receipt's files are there and of their size; spent: scratch is not looked at."""
    looked_at = (f for f in receipt.files if not (spent and is_scratch(f[0])))
    return all(mirror.size(out / name) == size for name, size, _ in looked_at)


def is_scratch(name: str) -> bool:
    """Whether a file of the run directory, by its name below it, goes when the run has finished."""
    return SCRATCH.match(name) is not None


def file_entry(out: Path, path: Path, *, digested: bool = True) -> tuple[str, int, str]:
    """(path below `out`, bytes, xxh3-128 hex) of a finished file.

    digested: else its size stands for what it holds, and it is not read again.
    """
    name = path.relative_to(out).as_posix()
    if not digested:
        return name, path.stat().st_size, ""
    hasher, size = xxhash.xxh3_128(), 0
    with path.open("rb") as f:
        while block := f.read(COPY_BYTES):
            hasher.update(block)
            size += len(block)
    return name, size, hasher.hexdigest()
