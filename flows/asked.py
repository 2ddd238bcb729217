"""What is asked for, read, checked and planned: once, before a server is needed for it.

A command does this while its server starts; a flow that a deployment runs does it itself.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import ValidationError

from tokenmill.pipelines.core.config import explain
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place, folder_here, is_remote, place
from tokenmill.pipelines.core.shard import Plan
from tokenmill.sizing.units import UnitError, parse_bytes, parse_count

# What searches, predicts and runs is imported by who asks for it: a mistake is told before.
if TYPE_CHECKING:
    from tokenmill.pipelines.contamination.check import Check
    from tokenmill.pipelines.contamination.copies import Copies
    from tokenmill.pipelines.contamination.paraphrases import Paraphrasing
    from tokenmill.pipelines.measure.job import Measuring
    from tokenmill.pipelines.prepare.collection import Collection
    from tokenmill.pipelines.prepare.recipe import Recipe

T = TypeVar("T", "Recipe", "Check", "Measuring")
Run = TypeVar("Run", "Recipe", "Check")  # says itself who does the work
Out = TypeVar("Out", bound=Place)  # only a run may lie in an object store


class Asked(NamedTuple, Generic[T, Out]):
    """What is to be made of `what`: a run of a recipe, a search for benchmarks, or a prediction.

    out: its directory; of a prediction, the file.  report: of a run or search that has finished.
    job: of an earlier moment, for what it knows of its inputs.
    """

    what: T
    out: Out
    plan: Plan
    report: Any = None
    job: Any = None


def read_recipe(
    recipe: str | Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    run: RunOptions | None = None,
) -> "Recipe":
    """A recipe by its path or the name of one that ships, or the whole of it as data.

    settings: in place of the file's, by key.  run: what it says, in place of the recipe's.
    ConfigError: see `load_recipe`.
    """
    from tokenmill.pipelines.prepare.recipe import find_recipe, load_recipe, make_recipe

    over = dict(settings or {})
    if run is not None:
        said = run.model_dump(mode="json", exclude_unset=True)
        over |= {f"run.{name}": value for name, value in said.items()}
    if isinstance(recipe, str):
        return load_recipe(find_recipe(recipe), over)
    given = dict(recipe)
    for key in over:
        section, _, name = key.partition(".")
        if section != "run" or "." in name:
            raise ConfigError(f"settings: {key!r} is for a recipe file; put it into the recipe")
        given["run"] = {**(given.get("run") or {}), name: over[key]}
    return make_recipe(given, where="recipe")


def ask_run(recipe: "Recipe", out: str) -> "Asked[Recipe, Place]":
    """Plan a run; of one that has finished no file is looked into, unless one has changed.

    ConfigError: see `pipelines.prepare.prepare`; or the roots do not allow `out`.
    """
    from tokenmill.pipelines.prepare import prepare as preparing

    where = place(out)
    known = preparing.known_plan(recipe, where)
    if known is not None:
        asked = _asked(recipe, where, known, preparing)
        if asked.report is not None:
            return asked
    return _asked(recipe, where, preparing.plan_run(recipe), preparing)


class Ingesting:
    """A collection that is held, and the next run of it, planned; None where nothing is new."""

    def __init__(self, collection: "Collection", recipe: "Recipe", *, again: bool) -> None:
        self.collection, self._recipe, self._again = collection, recipe, again
        self.out = collection.place
        self.advance()

    def advance(self) -> None:
        """Plan the next run."""
        from tokenmill.pipelines.prepare import prepare as preparing

        found = self.collection.next_run(self._recipe, again=self._again)
        self.name, self.asked = "", None
        if found is not None:
            self.name = found.name
            self.asked = _asked(found.recipe, found.out, found.plan, preparing)

    def has_ended(self) -> bool:
        """Whether the run that was planned has finished whole."""
        self.collection.look_again(self.name)
        return self.name in self.collection.finished


@contextmanager
def ingesting(recipe: "Recipe", into: str, *, again: bool) -> Iterator[Ingesting]:
    """Hold a collection, plan its next run; ConfigError also where the roots forbid `into`."""
    from tokenmill.pipelines.prepare.collection import held_collection

    with held_collection(place(into)) as collection:
        yield Ingesting(collection, recipe, again=again)


def ask_check(check: "Check", out: str) -> "Asked[Check, Path]":
    """Plan a search; ConfigError as `contamination.check`, or where the roots forbid `out`."""
    from tokenmill.pipelines.contamination import check as searching

    return _asked(check, folder_here(out), searching.plan_check(check), searching)


def _asked(what: Run, out: Out, plan: Plan, module: ModuleType) -> Asked[Run, Out]:
    """module: of the pipeline, which opens its directory, and reads its report there."""
    from tokenmill.flows.pools.choose import check_pool
    from tokenmill.pipelines.runs.manifest import read_manifest
    from tokenmill.pipelines.runs.receipt import forget_failures
    from tokenmill.pipelines.storage.mirror import viewed

    with viewed(out) as folder:
        is_new = read_manifest(folder) is None
    if is_new:
        check_pool(what.run)  # before there is a run, which status would tell of
    with module.opened(what, out, plan) as job:
        report = module.finished_report(job)
        if report is None:
            if not is_new:
                check_pool(what.run)
            forget_failures(job.out)
    return Asked(what, out, plan, report, job)


def ask_measuring(measuring: "Measuring", out: str) -> "Asked[Measuring, Path]":
    """Plan a prediction; ConfigError as `measure.run`, or where the roots do not allow `out`."""
    from tokenmill.flows.pools.choose import check_pool
    from tokenmill.pipelines.measure import run as estimating
    from tokenmill.pipelines.prepare.prepare import plan_run

    file = folder_here(out)
    check_pool(measuring.recipe.run)
    plan = plan_run(measuring.recipe)
    sample = estimating.sample_of(measuring, plan)
    with estimating.opened(measuring, file, sample.plan):
        return Asked(measuring, file, plan)


def whole(out: Place) -> str:
    """A place by an address that means the same wherever it is read."""
    return str(out) if is_remote(out) else str(Path(out).absolute())


def _input(named: str, text_column: str | None) -> dict[str, str | None]:
    """A path of a corpus; the column behind a last colon, unless that is of the file's name.

    Of a column that is named lists of texts are taken too, each on a line.
    """
    from tokenmill.pipelines.contamination.items.spec import split_fields
    from tokenmill.pipelines.read.readers import reader_of

    path, column = split_fields(named)
    is_file = os.path.exists(path) or reader_of(path) is not None
    if not is_file and (reader_of(named) is not None or not set("*?[") & set(path)):
        path, column = named, ""
    text = column or text_column
    return {"path": path, "text": text, "join": None if text is None else "\n"}


def check_of(
    corpus: Sequence[str],
    specs: Sequence[str],
    matching: Mapping[str, Any],
    *,
    copies: "Copies | None",
    paraphrases: "Paraphrasing | None",
    verdict: float | Literal["gpt3"],
    text_column: str | None,
    run: RunOptions,
    exclude: Sequence[str],
) -> "Check":
    """A search of a corpus for benchmarks.

    corpus: paths, each with a colon and the column of its text behind it where `text_column` is
        not its.  specs: as `parse_benchmark` reads them.  matching: settings of `Matching` besides.
    ConfigError: one line that names what is wrong and the way out.
    """
    from tokenmill.pipelines.contamination.check import Check
    from tokenmill.pipelines.contamination.items.spec import FORM, parse_benchmark, read_known

    if not specs:
        known = ", ".join(benchmark.name for benchmark in read_known())
        raise ConfigError(
            f"no --benchmark; write --benchmark {FORM}, or the name alone of one that is read"
            f" from the hub: {known}"
        )
    benchmarks = [parse_benchmark(spec) for spec in specs]
    names = [benchmark.name for benchmark in benchmarks]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--benchmark {name!r} stands twice; give each its own name")
    settings = {
        "inputs": [{**_input(named, text_column), "exclude": exclude} for named in corpus],
        "matching": {**matching, "benchmarks": benchmarks},
        "copies": copies,
        "paraphrases": paraphrases,
        "verdict": verdict,
        "run": run,
    }
    try:
        return Check.model_validate(settings)
    except ValidationError as e:
        raise explain(e, "contamination", Check) from e


def measuring_of(
    recipe: "Recipe",
    *,
    probes: int,
    sample: str | None,
    budget: str,
    quick: bool,
    grow_to: str | None,
    seed: int,
    cores: int | None,
) -> "Measuring":
    """What is asked for, as the options say it; ConfigError names the option and the way out."""
    for name, value in (("probes", probes), ("cores", cores)):
        if value is not None and value < 1:
            raise ConfigError(f"--{name} {value}: must be 1 at least")
    if seed < 0:
        raise ConfigError(f"--seed {seed}: must be 0 at least")
    if recipe.tokenizer is None:
        raise ConfigError(
            f"{recipe.name}: tokenizer: null makes no tokens, which measure predicts; name a"
            " tokenizer, as --set tokenizer.path=gpt2.json"
        )
    some = None if sample is None else _share("--sample", sample)
    all_read = _share("--budget", budget)
    if quick and all_read != 1:
        raise ConfigError(f"--budget {budget}: is the budget of --quick; leave one of the two out")
    growth = None if grow_to is None else _grow_to(grow_to)
    from tokenmill.pipelines.measure.job import QUICK_BYTES, Measuring

    if quick:
        all_read = QUICK_BYTES
    return Measuring(
        recipe=recipe,
        probes=probes,
        sample=some,
        budget=all_read,
        seed=seed,
        cores=cores or recipe.run.n_workers,
        grow_to=growth,
    )


def _grow_to(text: str) -> float:
    """Times as many documents up to 2, as 1.5x, or documents, as 30M.

    >>> _grow_to("1.5x"), _grow_to("30M")
    (1.5, 30000000.0)
    """
    from tokenmill.pipelines.measure.unseen import FURTHEST

    try:
        found = float(text[:-1]) if text.endswith("x") else parse_count(text)
    except (ValueError, UnitError):
        found = 0.0
    if not 1 <= found < float("inf") or (found <= FURTHEST) != text.endswith("x"):
        raise ConfigError(
            f"--grow-to {text!r}: write times as many documents (1.5x), {FURTHEST:g}x at most,"
            " beyond which no model of growth can be trusted; or documents (30M)"
        )
    return found


def _share(option: str, text: str) -> float:
    """A share of the bytes up to 1, as 0.2 or 20%, or bytes, as 5GB.

    >>> _share("--sample", "20%"), _share("--budget", "5 GB")
    (0.2, 5000000000.0)
    """
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = None
    try:
        found = float(parse_bytes(text)) if share is None else share
    except UnitError:
        found = 0.0
    if not 0 < found < float("inf") or (text.endswith("%") and found > 1):
        raise ConfigError(f"{option} {text!r}: write a share of the bytes (20%), or bytes (5GB)")
    return found
