"""Earlier runs that a run stands against: which can be, what they hold, whose a document is.

    against: [A, B]   A ─ index ─┐
                      B ─ index ─┴─ C: its documents are compared with those of A and B too

Each run of a chain was made against all before it: so each document has one id in all of them, and
none of one run duplicates one of another.

The index of a finished run: keys of the documents that its dataset has, and of no others.

    11-keys ─┐
    90-tokens ┴─ which are in the dataset, whole or in pieces ── index/part-KEY.N.arrow

Rows are those of the key sidecars, a file for each shard and each pass that makes keys. By them a
later run finds what it has in common with this one, and reads none of its text. Keys are of a
text as it came to the step that compares it: what later steps cut out of it counts still.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenmill.dedup.arrays import U64
from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.pieces import NUMBERS
from tokenmill.pipelines.core.places import check_links, folder_here
from tokenmill.pipelines.core.schema import shard_and_row
from tokenmill.pipelines.core.shard import EarlierRun
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.passes import corpus_steps, keyed_passes, passes
from tokenmill.pipelines.corpus.step import is_corpus_wide, key_parameters
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import Recipe, steps_of
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.pipelines.runs.finished import missing_file, prepared_run
from tokenmill.pipelines.runs.folder import INDEX, KEYS
from tokenmill.pipelines.runs.manifest import COMPLETE, PARTIAL_RUN, check_layout, read_manifest
from tokenmill.pipelines.runs.receipt import Receipt, WorkFacts
from tokenmill.pipelines.runs.work import Done, Finished, Phase, Work
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.files import PARAMETERS, arrow_file, open_arrow
from tokenmill.pipelines.storage.mirror import exists, present
from tokenmill.pipelines.tokens.mix.spill import NOT_DRAWN
from tokenmill.pipelines.tokens.run import TOKENS
from tokenmill.pipelines.tokens.shards import splits

STEP = "kept-keys"
AGAIN = "run it again into a new --out with run.keep_index: true"


@dataclass(frozen=True, kw_only=True)
class KeptFacts(WorkFacts):
    """docs: of a shard, that the dataset has."""

    docs: int


def index_phase(job: PrepareJob, finished: Finished) -> Phase[KeptFacts]:
    """The works that write the index, after the dataset; none where the recipe wants no index."""
    works: list[Work[KeptFacts]] = []
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
                facts=KeptFacts,
                call=write_kept_keys,
                args=(key,),
            )
            for key, digests in read.items()
        ]
    return Phase(name=INDEX.name, works=tuple(works), whole=True)


def write_kept_keys(job: PrepareJob, key: str) -> Done[KeptFacts]:
    """Write the keys of those documents of a shard that are in the dataset."""
    held, paths, rows = _held(job, key), [], 0
    for number, part in enumerate(keyed_passes(job.recipe.steps)):
        batches, schema = open_arrow(job.path(KEYS, part.index, key=key))
        path = job.path(INDEX, key=key, number=number)
        rows = 0
        with arrow_file(path, schema) as writer:
            for batch in batches:
                kept = batch.filter(pa.array(np.isin(batch["doc_id"], held)))
                for step in part.finders:
                    kept = step.kept_keys(kept)
                if kept.num_rows:
                    writer.write_batch(kept)
                    rows += kept.num_rows
        paths.append(path)
    return Done(files=paths, facts=KeptFacts(docs=rows))


def _held(job: PrepareJob, key: str) -> U64:
    """Ids of a shard's documents in the dataset, and of those that pieces of it were cut from."""
    ids = [
        np.asarray(batch["doc_id"])
        for split in splits(job)
        for batch in open_arrow(job.path(TOKENS, split=split, key=key))[0]
    ]
    held = np.concatenate([np.empty(0, np.uint64), *ids])
    out, not_drawn = [], job.path(NOT_DRAWN, key=key)
    if job.recipe.output.seq_len is not None:  # the end of a split, shorter than a sequence
        # but not that of which a copy is in it
        out.append((job.out / "removed" / "packing.parquet", pc.field("detail").is_null()))
    if mirror.exists(not_drawn):
        out.append((not_drawn, None))
    for path, which in out:
        left = pq.read_table(bounded(mirror.present(path)), columns=["doc_id"], filters=which)
        held = np.setdiff1d(held, left["doc_id"].to_numpy())
    return np.union1d(held, held & ~NUMBERS)


def index_in_manifest(finished: Finished) -> dict[str, Any]:
    """What the manifest of a run says of its index, if it keeps one: a later run reads no receipt.

    docs: whose keys it has.  digest: of its receipts, by which runs against it know it.
    """
    receipts: list[Receipt[KeptFacts]] = finished.of(STEP)
    if not receipts:
        return {}
    docs = sum(receipt.facts.docs for receipt in receipts)
    digest = digest_of(receipt.digest for receipt in receipts)
    return {INDEX.name: {"shards": len(receipts), "docs": docs, "digest": digest}}


def _missing_of_index(out: Path, manifest: Mapping[str, Any]) -> Path | None:
    return missing_file(out, manifest, lambda top: top == INDEX.name)


def index_wanting(job: PrepareJob) -> bool:
    """Whether a finished run lacks a wanted index; ConfigError where what makes it was deleted."""
    if not job.recipe.run.keep_index:
        return False
    manifest = read_manifest(job.out) or {}
    if INDEX.name in manifest and _missing_of_index(job.out, manifest) is None:
        return False
    gone = missing_file(job.out, manifest, lambda top: top != INDEX.name)
    if gone is not None:
        raise ConfigError(
            f"{job.out}: has no index, and {gone.relative_to(job.out)}, of which it would be made,"
            f" was deleted when the run ended; leave run.keep_index out, or {AGAIN}"
        )
    return True


def check_keys(recipe: Recipe) -> None:
    """ConfigError for an index, or earlier runs, where no step finds duplicates by keys."""
    if keyed_passes(recipe.steps):
        return
    for name, wanted in (("against", recipe.against), ("run.keep_index", recipe.run.keep_index)):
        if wanted:
            raise ConfigError(
                f"{recipe.name}: {name}: no step of the recipe finds duplicates, so documents have"
                " no keys; add one, as exact or near, or leave it out"
            )


FIRST_REASONS = 3  # differences named in a refusal


def earlier_runs(recipe: Recipe) -> tuple[EarlierRun, ...]:
    """The runs that the recipe stands against, oldest first.

    ConfigError: one is not a run, has not finished, keeps no index, makes other keys, or was
        not made against all before it; or this recipe would have to remove what they hold.
    """
    check_keys(recipe)
    runs: list[EarlierRun] = []
    for number, path in enumerate(recipe.against):
        where = f"against.{number}: {path}"
        manifest = _finished(where, path)
        steps = steps_of(manifest["identity"], where=f"{where}/manifest.json")
        check_kept(where, manifest["identity"]["recipe"], steps)
        _check_steps(where, steps, recipe.steps)
        _check_chain(where, runs, manifest)
        other_steps = _before_keys(steps) != _before_keys(recipe.steps)
        runs.append(_indexed(where, Path(path), manifest, other_steps=other_steps))
        _check_index(where, runs[-1], recipe.steps)
    for step in corpus_steps(recipe.steps) if runs else ():
        refusal = step.refusal_of_earlier_runs()
        if refusal:
            raise ConfigError(f"{recipe.name}: {refusal}")
    return tuple(runs)


def check_other(recipe: Recipe, out: Path) -> None:
    """ConfigError where `out` is one of the earlier runs: none stands against itself."""
    for number, path in enumerate(recipe.against):
        if Path(path).resolve() == out.resolve():
            raise ConfigError(
                f"against.{number}: {path} is the run directory itself; choose another --out"
            )


def _finished(where: str, path: str) -> dict[str, Any]:
    """The manifest of a finished run of prepare."""
    if "://" in path:
        raise ConfigError(
            f"{where}: earlier runs are read from disk; copy its manifest.json and"
            " index/ to a folder, and name that"
        )
    check_links(Path(path))
    manifest = prepared_run(Path(path), where)
    if manifest["status"] == PARTIAL_RUN:
        raise ConfigError(
            f"{where}: some of its shards failed; run it again, or without the files that fail"
        )
    if manifest["status"] != COMPLETE:
        raise ConfigError(f"{where}: has not finished; run prepare again to continue it")
    check_layout(where, manifest)
    return manifest


def _indexed(
    where: str, out: Path, manifest: Mapping[str, Any], *, other_steps: bool
) -> EarlierRun:
    """The run by its index, whose files are all there."""
    if INDEX.name not in manifest:
        raise ConfigError(f"{where}: keeps no index of what it holds; {AGAIN}")
    gone = _missing_of_index(out, manifest)
    if gone is not None:
        raise ConfigError(f"{where}: {gone.relative_to(out)} is gone, or not whole; {AGAIN}")
    return EarlierRun(
        out=out,
        **manifest[INDEX.name],
        index_bytes=manifest["files"][INDEX.name]["bytes"],
        other_steps=other_steps,
    )


def _check_steps(where: str, earlier: Sequence[Step], own: Sequence[Step]) -> None:
    """Refuse keys that cannot be compared."""
    there, here = _keys_of(earlier), _keys_of(own)
    names = [", ".join(name for part in parts for name in part) for parts in (there, here)]
    if [list(part) for part in there] != [list(part) for part in here]:
        order = "" if names[0] != names[1] else ", with other steps between"
        raise ConfigError(
            f"{where}: finds duplicates by {names[0]} there, by {names[1]} here{order}; give this"
            " recipe the same steps"
        )
    others = [
        f"{name}.{key} is {_told(a, key)} there, {_told(b, key)} here"
        for was, now in zip(there, here, strict=True)
        for name in was
        for a, b in [(was[name], now[name])]
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    ]
    if others:
        raise ConfigError(
            f"{where}: makes other keys: {'; '.join(others[:FIRST_REASONS])}; give this recipe the"
            " same settings"
        )


def check_kept(where: str, recipe: Mapping[str, Any], steps: Sequence[Step]) -> None:
    """Refuse keys that say what a former version meant, by the earlier run's recipe as written."""
    said = [settings for step in recipe["steps"] for settings in step.values()]
    has_images = recipe.get("images") is not None
    for step, settings in zip(steps, said, strict=True):
        if is_corpus_wide(step):
            refusal = step.refusal_of_keys(settings, has_images=has_images)
            if refusal:
                raise ConfigError(
                    f"{where}: its index was made by another version of tokenmill, whose"
                    f" {step.name} {refusal}; {AGAIN}"
                )


def _told(parameters: Mapping[str, Any], key: str) -> str:
    return json.dumps(parameters[key]) if key in parameters else "not set"


def _check_index(where: str, run: EarlierRun, steps: Sequence[Step]) -> None:
    """Refuse an index of a version that kept other keys than its settings tell now."""
    for number, part in enumerate(keyed_passes(steps)):
        for key in run.keys[:1]:
            path = run.out / INDEX.name / INDEX.file.format(key=key, number=number)
            found = json.loads((open_arrow(path)[1].metadata or {}).get(PARAMETERS, b"{}"))
        if run.keys and found != key_parameters(part.finders):
            names = ", ".join(step.name for step in part.finders)
            raise ConfigError(
                f"{where}: its index was made by another version of tokenmill, and lacks keys that"
                f" {names} needs; {AGAIN}, or give near similarity: estimate, as it was then"
            )


def _keys_of(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Of each pass that makes keys, its steps with the parameters of their keys."""
    return [key_parameters(part.finders) for part in keyed_passes(steps)]


def _check_chain(where: str, before: Sequence[EarlierRun], manifest: Mapping[str, Any]) -> None:
    """Refuse a run that was not made against exactly those that are listed before it."""
    own = manifest["identity"].get("against", [])
    if own == [run.identity() for run in before]:
        return
    paths = [run["path"] for run in manifest["report"].get("against", {}).get("runs", ())]
    if not own:
        raise ConfigError(
            f"{where}: was not made against {_listed(before)}, so both number their documents alike"
            " and may hold the same ones; make it again with"
            f" against: [{', '.join(str(run.out) for run in before)}]"
        )
    raise ConfigError(
        f"{where}: was itself made against {', '.join(paths)}, and before it stands"
        f" {_listed(before) or 'none'} here; list all of a chain, oldest first, as they were then"
    )


def _listed(runs: Iterable[EarlierRun]) -> str:
    return ", ".join(str(run.out) for run in runs)


def remarks(recipe: Recipe, against: Sequence[EarlierRun]) -> list[str]:
    """What a reader must know of a run that stands against others, a sentence each."""
    counting = [step.name for step in corpus_steps(recipe.steps) if step.only_own_run]
    lines = []
    if counting and against:
        lines.append(
            f"{', '.join(counting)} count{'s' if len(counting) == 1 else ''} in this run alone:"
            " what earlier runs hold adds nothing"
        )
    lines += [
        f"{run.out} was made with other steps or settings before its last keys: where these edit,"
        " the same document has other keys"
        for run in against
        if run.other_steps
    ]
    return lines


def _before_keys(steps: Sequence[Step]) -> list[Step]:
    """Those of the steps that stand before the last one that finds duplicates."""
    last = [step for step in corpus_steps(steps) if step.has_keys][-1]
    return list(steps[: steps.index(last)])


def first_ordinal(out: Path) -> int:
    """The ordinal of a run's first shard: how many shards the runs before it have together."""
    path = out / "manifest.json"
    return _first_ordinal(out, present(path).stat().st_mtime_ns) if exists(path) else 0


@lru_cache(maxsize=8)
def _first_ordinal(out: Path, _written: int) -> int:
    manifest = read_manifest(out) or {"identity": {}}
    return sum(run["shards"] for run in manifest["identity"].get("against", ()))


def part_number(out: Path, doc_id: int) -> int:
    """Which shard of the run `out` a document is of, as in file names; negative: an earlier one."""
    return shard_and_row(doc_id)[0] - first_ordinal(out)


def holder(manifest: Mapping[str, Any], doc_id: int) -> Path | None:
    """The earlier run that a document is of; None if it is of this one."""
    ordinal, end = shard_and_row(doc_id)[0], 0
    runs = manifest.get("report", {}).get("against", {}).get("runs", ())
    for run in runs:
        end += run["shards"]
        if ordinal < end:
            return folder_here(run["path"])
    return None
