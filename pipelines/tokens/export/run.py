"""Export the dataset of a finished run to a folder, or finish an export that was begun there."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeAlias, TypedDict

import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.runs.manifest import (
    COMPLETE,
    RUNNING,
    held,
    open_run,
    read_manifest,
    write_manifest,
)
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.mirror import viewed
from tokenmill.pipelines.tokens.export.exported import Export, Format, Journal, Part, check_outside
from tokenmill.pipelines.tokens.export.mds import Shape, write_index, write_mds
from tokenmill.pipelines.tokens.export.megatron import write_megatron
from tokenmill.pipelines.tokens.export.parquet import write_parquet
from tokenmill.pipelines.tokens.export.rows import Tokens, batches, open_tokens

WORDS = {
    "export.format": "--format",
    "export.shard_bytes": "--shard-bytes",
    "export.by_source": "--by-source",
    "export.tokens_only": "--tokens-only",
}
Progress: TypeAlias = Callable[[int, int], None]  # files of the dataset: done, and all


class SplitReport(TypedDict):
    """bytes_per_id_byte: bytes of the files for each byte of token ids; None without tokens."""

    rows: int
    tokens: int
    files: int
    bytes: int
    bytes_per_id_byte: float | None


class ExportReport(TypedDict):
    """failed_shards: of the run, whose documents are missing.  without_tokens: splits."""

    format: Format
    path: str
    splits: dict[str, SplitReport]
    failed_shards: int
    without_tokens: list[str]


def export(run: Place, out: Path, what: Export, progress: Progress) -> ExportReport:
    """Write the dataset of a run in another format; the same dataset gives the same bytes.

    An export that was killed goes on: finished files stay, for Megatron the pairs of whole splits.
    ConfigError: the run has not finished, the format cannot hold it, or `out` holds something
        else or cannot be written.
    """
    check_outside(run, out)
    with viewed(run) as folder:
        tokens = open_tokens(folder)
        if what.tokens_only:
            tokens = tokens.ids_alone()
        _check(tokens, what, mirror.address(folder / "dataset"))
        with held(out) as target:
            identity = {"export": vars(what), "dataset": dict(tokens.fingerprints)}
            open_run(target, identity, WORDS)
            parts = _finished(target)
            if parts is None:
                parts = _write(tokens, what, target, progress)
                if open_tokens(folder).fingerprints != tokens.fingerprints:
                    raise ConfigError(
                        f"{run}: its dataset was made anew while it was exported; delete {out} and"
                        " export again"
                    )
                listed = [part._asdict() for part in parts]
                manifest = {"status": COMPLETE, "identity": identity, "parts": listed}
                write_manifest(target, manifest)
                (target / Journal.NAME).unlink(missing_ok=True)
    return _report(tokens, what, out, parts)


def _check(tokens: Tokens, what: Export, dataset: str) -> None:
    """Refuse what the format cannot hold, before anything is written."""
    if "images" in tokens.schema.names and what.format != "parquet":
        raise ConfigError(
            f"{dataset} has images, which {what.format} files of ids cannot hold; --format parquet"
            " keeps them"
        )
    if what.by_source and "source" not in tokens.schema.names:
        raise ConfigError(
            f"--by-source: {dataset} has packed sequences, of several sources each; prepare it"
            " without output.seq_len, which Megatron does not need"
        )


def _finished(target: Path) -> list[Part] | None:
    """The parts of a complete export; None where there is something to do."""
    manifest = read_manifest(target) or {}
    if manifest.get("status") != COMPLETE:
        return None
    parts = [Part.from_json(part) for part in manifest["parts"]]
    if all(part.is_there(target) for part in parts):
        return parts
    write_manifest(target, {"status": RUNNING, "identity": manifest["identity"]})
    Journal(target, parts)
    return None


def _write(tokens: Tokens, what: Export, target: Path, progress: Progress) -> list[Part]:
    journal = Journal(target)
    done, total = count(), sum(map(len, tokens.splits.values()))

    def advance() -> None:
        progress(next(done), total)

    advance()
    for split, files in tokens.splits.items():
        there = journal.of(split)
        rows = batches(files, tokens.schema.names, sum(part.rows for part in there), advance)
        for part in _parts(tokens, what, target, split, rows, len(there)):
            journal.add(part)
    if what.format == "mds":
        for split in tokens.splits:
            write_index(target, split, Shape(tokens, what.shard_bytes), journal.of(split))
    return journal.parts


def _parts(
    tokens: Tokens,
    what: Export,
    target: Path,
    split: str,
    rows: Iterator[pa.RecordBatch],
    first: int,
) -> Iterator[Part]:
    """Write a split from its part `first` on."""
    if what.format == "megatron":
        if not first:
            yield write_megatron(target, split, tokens, rows, by_source=what.by_source)
        return
    write = write_parquet if what.format == "parquet" else write_mds
    yield from write(target, split, tokens, rows, shard_bytes=what.shard_bytes, first=first)


def _report(tokens: Tokens, what: Export, out: Path, parts: list[Part]) -> ExportReport:
    splits: dict[str, SplitReport] = {}
    for split in tokens.splits:
        own = [part for part in parts if part.split == split]
        n_tokens = sum(part.tokens for part in own)
        size = sum(file.bytes for part in own for file in part.files)
        ids = n_tokens * tokens.dtype.itemsize
        splits[split] = {
            "rows": sum(part.rows for part in own),
            "tokens": n_tokens,
            "files": sum(len(part.files) for part in own),
            "bytes": size,
            "bytes_per_id_byte": size / ids if ids else None,
        }
    return {
        "format": what.format,
        "path": str(out),
        "splits": splits,
        "failed_shards": tokens.failed,
        "without_tokens": [name for name, split in splits.items() if not split["tokens"]],
    }
