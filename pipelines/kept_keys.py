"""The index of a finished run: keys of the documents that its dataset has, and of no others.

    11-keys ─┐
    90-tokens ┴─ which are in the dataset, whole or in pieces ── index/part-KEY.N.arrow

Rows are those of the key sidecars, a file for each shard and each pass that makes keys. By them a
later run finds what it has in common with this one, and reads none of its text. Keys are of a
text as it came to the step that compares it: what later steps cut out of it counts still.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.pipelines import mirror
from tokenmill.pipelines.arrow_files import arrow_file
from tokenmill.pipelines.drive import Finished
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.job import Done, Phase, Work
from tokenmill.pipelines.manifest import read_manifest
from tokenmill.pipelines.passes import keyed_passes, passes
from tokenmill.pipelines.pieces import NUMBERS
from tokenmill.pipelines.prepare_job import INDEX, PrepareJob, index_file
from tokenmill.pipelines.receipt import Receipt, digest_of
from tokenmill.pipelines.recipe import Recipe
from tokenmill.pipelines.sidecar import open_arrow
from tokenmill.pipelines.token_shards import splits

STEP = "kept-keys"
AGAIN = "run it again into a new --out with run.keep_index: true"


def index_phase(job: PrepareJob, finished: Finished) -> Phase:
    """The works that write the index, after the dataset; none where the recipe wants no index."""
    works = []
    if job.recipe.run.keep_index:
        by_pass = [finished.of(f"pass-{p.index}") for p in passes(job.recipe.steps)]
        packing = job.recipe.output.seq_len is not None  # decides what stays out
        packed = [receipt.digest for receipt in finished.of("state") if packing]
        packed += [receipt.digest for receipt in finished.of("mix")]  # and so does mixing
        read: dict[str, list[str]] = {receipt.key: [] for receipt in by_pass[-1]}
        for receipt in (r for receipts in by_pass for r in receipts if r.key in read):
            read[receipt.key].append(receipt.digest)
        works = [
            Work(
                step=STEP,
                key=key,
                inputs=digest_of([job.identity, *digests, *packed]),
                call=write_kept_keys,
                args=(key,),
            )
            for key, digests in read.items()
        ]
    return Phase(name=INDEX, works=tuple(works), whole=True)


def write_kept_keys(job: PrepareJob, key: str) -> Done:
    """Write the keys of those documents of a shard that are in the dataset."""
    held, paths, rows = _held(job, key), [], 0
    for number, part in enumerate(keyed_passes(job.recipe.steps)):
        batches, schema = open_arrow(job.keys(part.index, key))
        path = index_file(job.out, number, key)
        rows = 0
        with arrow_file(path, schema) as writer:
            for batch in batches:
                kept = batch.filter(pa.array(np.isin(batch["doc_id"], held)))
                if kept.num_rows:
                    writer.write_batch(kept)
                    rows += kept.num_rows
        paths.append(path)
    return Done(files=paths, facts={"docs": rows})


def _held(job: PrepareJob, key: str) -> npt.NDArray[np.uint64]:
    """Ids of a shard's documents in the dataset, and of those that pieces of it were cut from."""
    ids = [
        np.asarray(batch["doc_id"])
        for split in splits(job)
        for batch in open_arrow(job.tokens(split, key))[0]
    ]
    found = np.concatenate([np.empty(0, np.uint64), *ids])
    packing = job.out / "removed" / "packing.parquet"
    if job.recipe.output.seq_len is not None:  # the end of a split, shorter than a sequence
        left = pq.read_table(mirror.present(packing), columns=["doc_id", "detail"])
        whole = left.filter(pc.is_null(left["detail"]))  # a copy of each other one is in it
        found = np.setdiff1d(found, whole["doc_id"].to_numpy())
    if mirror.exists(job.sampled_out(key)):
        left = pq.read_table(mirror.present(job.sampled_out(key)), columns=["doc_id"])
        found = np.setdiff1d(found, left["doc_id"].to_numpy())
    return np.union1d(found, found & ~NUMBERS)


def receipts_of_index(manifest: Mapping[str, Any]) -> list[Receipt]:
    """The receipts of a finished run's index, shard by shard; none if it keeps no index."""
    return [Receipt.from_json(r) for r in manifest.get("receipts", ()) if r["step"] == STEP]


def missing_file(out: Path, receipts: Iterable[Receipt]) -> Path | None:
    """The first of the files that is not there, or not of its size."""
    for receipt in receipts:
        for name, size, _ in receipt.files:
            if mirror.size(out / name) != size:
                return out / name
    return None


def index_wanting(job: PrepareJob) -> bool:
    """Whether a finished run lacks an index that its recipe wants, and has what to make it from.

    Raises:
        ConfigError: it lacks one, and what it would be made from was deleted.
    """
    manifest = read_manifest(job.out) or {}
    found = receipts_of_index(manifest)
    if not job.recipe.run.keep_index or (found and missing_file(job.out, found) is None):
        return False
    made_from = [Receipt.from_json(r) for r in manifest["receipts"] if r["step"] != STEP]
    gone = missing_file(job.out, made_from)
    if gone is not None:
        raise ConfigError(
            f"{job.out}: has no index, and {gone.relative_to(job.out)}, of which it would be made,"
            f" was deleted when the run ended; leave run.keep_index out, or {AGAIN}"
        )
    return True


def check_keys(recipe: Recipe) -> None:
    """Refuse an index, or earlier runs, where documents have no keys to be compared by.

    Raises:
        ConfigError: no step of the recipe finds duplicates.
    """
    if keyed_passes(recipe.steps):
        return
    for name, wanted in (("against", recipe.against), ("run.keep_index", recipe.run.keep_index)):
        if wanted:
            raise ConfigError(
                f"{recipe.name}: {name}: no step of the recipe finds duplicates, so documents have"
                " no keys; add one, as exact or near, or leave it out"
            )
