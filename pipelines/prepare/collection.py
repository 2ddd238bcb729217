"""A collection: runs of one recipe, each of the files that no run before it has taken.

    COLLECTION/collection.json     names of the runs, oldest first; one is added before it begins
    COLLECTION/2026-11-24-0003/    a run, as ever; it stands against all before it
    COLLECTION/dataset/, report.*  of all runs that have finished: see `growth`

Which files are taken, and as what, the manifests of the runs tell, and nothing else. A run that has
not finished is continued before others are begun; nothing counts of it until then. So where its
files are not any more what they were, it begins anew.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, check_links, is_remote
from tokenmill.pipelines.core.shard import InputFile, Plan
from tokenmill.pipelines.corpus.passes import corpus_steps
from tokenmill.pipelines.prepare.against import check_keys
from tokenmill.pipelines.prepare.job import run_identity
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.collected import NAME, run_names
from tokenmill.pipelines.runs.manifest import (
    COMPLETE,
    check_apart,
    differences,
    flocked,
    read_manifest,
)
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.storage.atomic import json_text, sweep_partials
from tokenmill.pipelines.storage.inputs import files_among
from tokenmill.pipelines.storage.mirror import alone, mirrored, top_names

VERSION = "1"
FREE = ("inputs", "name")  # settings of a recipe that may change from run to run
ONE = "a collection has one recipe: change it back, or ingest into a new collection"


class NextRun(NamedTuple):
    """A run to be made, or to be continued. recipe: as it is held against the runs before."""

    name: str
    out: Place
    recipe: Recipe
    plan: Plan


class Collection:
    """A collection that this process holds, or looks at.

    place: where it is for the user.  folder: it, or what mirrors it.
    manifests: of its runs by name, oldest first; None of one that was killed before it had one.
    told: what happened to files that were taken, or to a run, in lines.
    """

    def __init__(self, place: Place, folder: Path) -> None:
        self.place, self.folder = place, folder
        self.told: list[str] = []
        names = run_names(folder) or []
        self.manifests = {name: read_manifest(folder / name) for name in names}

    @property
    def finished(self) -> dict[str, dict[str, Any]]:
        """Manifests of the runs that have finished whole, by name."""
        return {n: m for n, m in self.manifests.items() if m and m["status"] == COMPLETE}

    def look_again(self, name: str) -> None:
        """A run has ended."""
        self.manifests[name] = read_manifest(self.folder / name)

    def next_run(self, recipe: Recipe, *, again: bool = False) -> NextRun | None:
        """The run to continue, or else one of all files that are new; None if there are none.

        again: files that changed since they were taken are new.
        ConfigError: the recipe is not that of the collection, or see `plan_run`.
        """
        self._check(recipe)
        wanted = self._standing(recipe)
        unfinished = [name for name in self.manifests if name not in self.finished]
        for name in unfinished[:1]:
            plan = self._continued(name, wanted)
            if plan is not None:
                return NextRun(name, self._out(name), wanted, plan)
        seen: dict[str, list[Any]] = {}
        taken, failed = self._taken()

        def is_new(file: InputFile) -> bool:
            now = seen[file.path] = [file.bytes, str(file.version)]
            before = taken.get(file.path, now)
            return file.path not in taken or (before != now and (again or file.path in failed))

        plan = plan_run(wanted, is_new)
        self._tell_of(seen, taken, {f.path for f in plan.files})
        if not plan.shards:
            if not self.finished:
                paths = ", ".join(i.path for i in recipe.inputs)
                raise ConfigError(f"{recipe.name}: no files in {paths}; check the inputs")
            return None
        name = unfinished[0] if unfinished else self._begin()
        return NextRun(name, self._out(name), wanted, plan)

    def _out(self, name: str) -> Place:
        return f"{self.place}/{name}" if is_remote(self.place) else Path(self.place) / name

    def _check(self, recipe: Recipe) -> None:
        """Refuse a recipe that could not, or must not, make the next run."""
        if recipe.run.runner == "array":
            raise ConfigError("run.runner: array is of prepare alone; ingest with another")
        if recipe.tokenizer is None:
            raise ConfigError(
                f"{recipe.name}: tokenizer: a collection is one dataset, and without one there is"
                " none; name one, and output.text keeps the text beside it"
            )
        if is_remote(self.place) and recipe.run.runner not in ("auto", "threads"):
            raise ConfigError(
                f"{self.place}: workers elsewhere do not see what its runs hold; ingest with"
                " --runner threads, or into a folder that all workers share"
            )
        check_apart(recipe.inputs, self.place)
        check_keys(self._standing(recipe))
        refusals = (step.refusal_of_earlier_runs() for step in corpus_steps(recipe.steps))
        for refusal in filter(None, refusals):
            raise ConfigError(f"{recipe.name}: {refusal}")
        begun = [m["identity"] for m in self.manifests.values() if m is not None]
        if begun:
            here: dict[str, Any] = {
                "recipe": recipe.identity(),
                "tokenizer": recipe.tokenizing().engine().digest,
            }
            there: dict[str, Any] = {key: begun[-1][key] for key in here}
            found = differences(_same(there), _same(here), {})
            found += _inputs_changed(there["recipe"]["inputs"], here["recipe"]["inputs"])
            if found:
                raise ConfigError(f"{self.place}: {found[0]}; {ONE}")

    def _standing(self, recipe: Recipe) -> Recipe:
        """The recipe of the next run: against all that have finished, and for those to come."""
        runs = (str((self.folder / name).absolute()) for name in self.finished)
        run = recipe.run.model_copy(update={"keep_index": True})
        return recipe.model_copy(update={"against": (*recipe.against, *runs), "run": run})

    def _continued(self, name: str, recipe: Recipe) -> Plan | None:
        """The plan of a run that has not finished; None where it has to begin anew."""
        manifest = self.manifests[name]
        if manifest is None:
            return None
        files = manifest["identity"]["inputs"]
        plan = plan_run(recipe, lambda file: file.path in files)
        others = differences(manifest["identity"], run_identity(recipe, plan), {})
        if plan.shards and not others:
            return plan
        self.told.append(f"{name} had not finished and begins anew: {others[0]}")
        _empty(self.folder / name)
        self.manifests[name] = None
        return None

    def _taken(self) -> tuple[dict[str, list[Any]], set[str]]:
        """Files that runs have taken, as they were then; those of which nothing could be read."""
        taken: dict[str, list[Any]] = {}
        failed: set[str] = set()
        for manifest in self.finished.values():
            inputs = manifest["identity"]["inputs"]
            unread = {f["path"] for f in manifest["report"]["failed_inputs"]}
            taken |= inputs
            failed = (failed - inputs.keys()) | unread
        return taken, failed

    def _tell_of(
        self, seen: Mapping[str, list[Any]], taken: Mapping[str, list[Any]], new: set[str]
    ) -> None:
        changed = [p for p, was in taken.items() if seen.get(p, was) != was and p not in new]
        unseen = [path for path in taken if path not in seen]
        gone = sorted(set(unseen) - _there(unseen))
        told = [f"{path} has changed since it was taken: not read again" for path in changed]
        told += [f"{path} is gone since it was taken: its documents stay" for path in gone]
        self.told += [line for line in told if line not in self.told]

    def _begin(self) -> str:
        """The name of a run that begins, which the collection knows from now on."""
        name = f"{datetime.now(UTC):%Y-%m-%d}-{len(self.manifests) + 1:04d}"
        self.manifests[name] = None
        data = {"collection": VERSION, "runs": list(self.manifests)}
        mirror.write_text(self.folder / NAME, json_text(data))
        return name


@contextlib.contextmanager
def held_collection(place: Place) -> Iterator[Collection]:
    """Hold a collection for a block, one process at a time; ConfigError: held, or no collection."""
    if is_remote(place):
        with mirrored(str(place)) as claim:
            if not mirror.exists(claim / NAME):
                _only_ours(place, top_names(claim))
            with alone(claim), mirrored(str(place)) as folder:
                yield Collection(place, folder)
        return
    folder = Path(place).absolute()
    check_links(folder)
    if folder.exists() and not (folder / NAME).exists():
        _only_ours(place, os.listdir(folder) if folder.is_dir() else [folder.name])
    with flocked(folder, fcntl.LOCK_EX):
        for path in (folder, folder / "dataset"):
            sweep_partials(path)
        yield Collection(place, folder)


def _empty(out: Path) -> None:
    """Delete what a run has made; last its manifest, by which the rest is known as its."""
    for folder in [path for path in out.glob("*") if path.is_dir()]:
        shutil.rmtree(folder)
    manifest = out / "manifest.json"
    mirror.remove([path for path in mirror.files(out) if path != manifest])
    mirror.remove([manifest])


def _only_ours(place: Place, names: list[str]) -> None:
    others = sorted(n for n in names if n != ".lock" and not n.startswith((NAME, ".probe-")))
    if others:
        raise ConfigError(
            f"{place}: no collection, but holds {', '.join(others[:3])}; choose an empty or new one"
        )


def _same(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What of an identity must not change."""
    return {**identity, "recipe": {k: v for k, v in identity["recipe"].items() if k not in FREE}}


def _inputs_changed(there: list[dict[str, Any]], here: list[dict[str, Any]]) -> list[str]:
    """A line for each setting that an input of the same path has otherwise; paths come and go."""
    before = {i["path"]: i for i in there}
    return [
        f"inputs.{n}.{key} is {json.dumps(before[i['path']].get(key))} there, {json.dumps(i[key])}"
        " here"
        for n, i in enumerate(here)
        for key in i
        if i["path"] in before and before[i["path"]].get(key) != i[key]
    ]


def _there(paths: list[str]) -> set[str]:
    """Those of some paths that are files still."""
    stores: dict[str, list[str]] = {}
    for path in paths:
        stores.setdefault("/".join(path.split("/")[:3]) if "://" in path else "", []).append(path)
    return {file.path for of in stores.values() for file in files_among(of)}
