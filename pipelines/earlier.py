"""Earlier runs that a run stands against: which can be, what they hold, whose a document is.

    against: [A, B]   A ─ index ─┐
                      B ─ index ─┴─ C: its documents are compared with those of A and B too

Each run of a chain was made against all before it: so each document has one id in all of them, and
none of one run duplicates one of another.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenmill.pipelines.config import Config
from tokenmill.pipelines.decontaminate import Decontaminate
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.kept_keys import AGAIN, check_keys, missing_file, receipts_of_index
from tokenmill.pipelines.keys import key_parameters
from tokenmill.pipelines.manifest import COMPLETE, PARTIAL_RUN, read_manifest
from tokenmill.pipelines.mirror import exists, present
from tokenmill.pipelines.passes import duplicate_finders, keyed_passes
from tokenmill.pipelines.receipt import digest_of
from tokenmill.pipelines.recipe import Recipe
from tokenmill.pipelines.repeats.steps import REPEATS, SAME
from tokenmill.pipelines.schema import shard_and_row
from tokenmill.pipelines.shard import EarlierRun
from tokenmill.pipelines.spans.steps import RepeatedSpans
from tokenmill.pipelines.steps import step_name, steps_of

FIRST_REASONS = 3  # differences named in a refusal


def earlier_runs(recipe: Recipe) -> tuple[EarlierRun, ...]:
    """The runs that the recipe stands against, oldest first.

    Raises:
        ConfigError: one is not a run, has not finished, keeps no index, makes other keys, or was
            not made against all before it; or this recipe would have to remove what they hold.
    """
    check_keys(recipe)
    made: list[EarlierRun] = []
    for number, path in enumerate(recipe.against):
        where = f"against.{number}: {path}"
        manifest = _finished(where, path)
        steps = steps_of(manifest["identity"], where=f"{where}/manifest.json")
        _check_steps(where, steps, recipe.steps)
        _check_chain(where, made, manifest)
        other_steps = _before_keys(steps) != _before_keys(recipe.steps)
        made.append(_indexed(where, Path(path), manifest, other_steps=other_steps))
    for step in recipe.steps if made else ():
        if isinstance(step, SAME) and step.keep != "first":
            raise ConfigError(
                f"{recipe.name}: {step.name} keeps the {step.keep} of equal documents, and what"
                f" earlier runs hold stays; give it keep: first"
            )
    return tuple(made)


def check_other(recipe: Recipe, out: Path) -> None:
    """Refuse a run that stands against itself.

    Raises:
        ConfigError: `out` is one of the earlier runs.
    """
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
    manifest = read_manifest(Path(path))
    if manifest is None:
        raise ConfigError(
            f"{where}: no run here (no manifest.json); name a directory that prepare made"
        )
    identity = manifest["identity"]
    if "recipe" not in identity or "measuring" in identity:
        raise ConfigError(f"{where}: not made by prepare; name a directory that is")
    if manifest["status"] == PARTIAL_RUN:
        raise ConfigError(
            f"{where}: some of its shards failed; run it again, or without the files that fail"
        )
    if manifest["status"] != COMPLETE:
        raise ConfigError(f"{where}: has not finished; run prepare again to continue it")
    return manifest


def _indexed(
    where: str, out: Path, manifest: Mapping[str, Any], *, other_steps: bool
) -> EarlierRun:
    """The run by its index, whose files are all there."""
    receipts = receipts_of_index(manifest)
    if not receipts:
        raise ConfigError(f"{where}: keeps no index of what it holds; {AGAIN}")
    gone = missing_file(out, receipts)
    if gone is not None:
        raise ConfigError(f"{where}: {gone.relative_to(out)} is gone, or not whole; {AGAIN}")
    return EarlierRun(
        out=out,
        digest=digest_of(receipt.digest for receipt in receipts),
        shards=len(receipts),
        docs=sum(receipt.facts["docs"] for receipt in receipts),
        index_bytes=sum(size for receipt in receipts for _, size, _ in receipt.files),
        other_steps=other_steps,
    )


def _check_steps(where: str, earlier: Sequence[Config], own: Sequence[Config]) -> None:
    """Refuse keys that cannot be compared."""
    there, here = _keys_of(earlier), _keys_of(own)
    names = [", ".join(name for part in parts for name in part) for parts in (there, here)]
    if [list(part) for part in there] != [list(part) for part in here]:
        order = "" if names[0] != names[1] else ", with other steps between"
        raise ConfigError(
            f"{where}: finds duplicates by {names[0]} there, by {names[1]} here{order}; give this"
            " recipe the same steps"
        )
    told = [
        f"{name}.{key} is {_said(a.get(key))} there, {_said(b.get(key))} here"
        for was, now in zip(there, here, strict=True)
        for name in was
        for a, b in [(was[name], now[name])]
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    ]
    if told:
        raise ConfigError(
            f"{where}: makes other keys: {'; '.join(told[:FIRST_REASONS])}; give this recipe the"
            " same settings"
        )


def _keys_of(steps: Sequence[Config]) -> list[dict[str, Any]]:
    """Of each pass that makes keys, its steps with the parameters of their keys."""
    return [key_parameters(duplicate_finders(part.after)) for part in keyed_passes(steps)]


def _said(value: Any) -> str:
    return json.dumps(value)


def _check_chain(where: str, before: Sequence[EarlierRun], manifest: Mapping[str, Any]) -> None:
    """Refuse a run that was not made against exactly those that are listed before it."""
    own = manifest["identity"].get("against", [])
    if own == [run.identity() for run in before]:
        return
    told = [run["path"] for run in manifest["report"].get("against", {}).get("runs", ())]
    if not own:
        raise ConfigError(
            f"{where}: was not made against {_listed(before)}, so both number their documents alike"
            " and may hold the same ones; make it again with"
            f" against: [{', '.join(str(run.out) for run in before)}]"
        )
    raise ConfigError(
        f"{where}: was itself made against {', '.join(told)}, and before it stands"
        f" {_listed(before) or 'none'} here; list all of a chain, oldest first, as they were then"
    )


def _listed(runs: Iterable[EarlierRun]) -> str:
    return ", ".join(str(run.out) for run in runs)


def remarks(recipe: Recipe, against: Sequence[EarlierRun]) -> list[str]:
    """What a reader must know of a run that stands against others, a sentence each."""
    counting = [
        step_name(step)
        for step in recipe.steps
        if isinstance(step, (*REPEATS, RepeatedSpans))
        or (isinstance(step, Decontaminate) and step.most_docs)
    ]
    made = []
    if counting and against:
        made.append(
            f"{', '.join(counting)} count in this run alone: what earlier runs hold adds nothing"
        )
    made += [
        f"{run.out} was made with other steps or settings before its last keys: where these edit,"
        " the same document has other keys"
        for run in against
        if run.other_steps
    ]
    return made


def _before_keys(steps: Sequence[Config]) -> list[Config]:
    """Those of the steps that stand before the last one that finds duplicates."""
    last = duplicate_finders(steps)[-1]
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
    """Which shard of its run a document is of, as in the names of files; negative: an earlier one.

    out: the run.
    """
    return shard_and_row(doc_id)[0] - first_ordinal(out)


def holder(manifest: Mapping[str, Any], doc_id: int) -> Path | None:
    """The earlier run that a document is of; None if it is of this one."""
    ordinal, end = shard_and_row(doc_id)[0], 0
    runs = manifest.get("report", {}).get("against", {}).get("runs", ())
    for run in runs:
        end += run["shards"]
        if ordinal < end:
            return Path(run["path"])
    return None
