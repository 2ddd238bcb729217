"""The job of predicting a run, and where its scratch lies until the estimate is written.

OUT.scratch/manifest.json     what this prediction is
OUT.scratch/11-keys/…         keys of all documents, as the run itself would write them
OUT.scratch/ends/…            what becomes of the same documents, row by row
OUT.scratch/local/…           tokens of documents that were chosen
OUT.scratch/images/…          images of all documents, where the recipe has any
OUT.scratch/probed-images.arrow  of the documents drawn, and how often the corpus has each
OUT.scratch/probes.arrow      the documents drawn, and how many are like each
OUT.scratch/clusters.arrow    clusters of equal documents, a sample of all
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pyarrow as pa
from pydantic import Field

from tokenmill.dedup.arrays import Bools
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.passes import corpus_steps, passes
from tokenmill.pipelines.corpus.step import CorpusStep, ImageRule, Pass
from tokenmill.pipelines.measure.sample import EVERYTHING
from tokenmill.pipelines.prepare.job import PrepareJob, run_identity
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.folder import Folder
from tokenmill.pipelines.runs.manifest import open_run

# raise it when the same settings and inputs make another estimate, or another scratch
MEASURE_VERSION = "28"
DEFAULT_PROBES = 10_000
QUICK_BYTES = 256e6  # read in some ten seconds of CPU: a minute beside other work
ENDS_FOLDER, LOCAL_FOLDER, IMAGES_FOLDER = (
    Folder(name, "part-{key}.arrow", of_pass=False) for name in ("ends", "local", "images")
)
PROBES_FILE, PROBED_IMAGES_FILE = "probes.arrow", "probed-images.arrow"
CLUSTERS_FILE = "clusters.arrow"


class Measuring(Config):
    """How a run is predicted.

    probes: documents drawn, of which all duplicates are counted.
    sample: of the inputs, what goes through all steps: a share of their bytes, or over 1 bytes;
        as many documents as are probed at least. None is 32 MB, or all of less.
    budget: of the inputs, what may be read at all, alike; the sample lies within.
    seed: of what is drawn.  cores: of the run that is predicted.
    grow_to: of a corpus that grows, so many times its documents, or over 2 documents.
    """

    recipe: Recipe
    probes: Annotated[int, Field(ge=1)] = DEFAULT_PROBES
    sample: Annotated[float, Field(gt=0)] | None = None
    budget: Annotated[float, Field(gt=0)] = EVERYTHING
    seed: Annotated[int, Field(ge=0)] = 0
    cores: Annotated[int, Field(ge=1)] = 1
    grow_to: Annotated[float, Field(ge=1)] | None = None

    def identity(self) -> dict[str, Any]:
        """What decides what is read and counted, as JSON."""
        return self.model_dump(include={"probes", "sample", "budget", "seed"})


@dataclass(frozen=True, kw_only=True)
class MeasureJob(PrepareJob):
    durable: ClassVar[bool] = False

    measuring: Measuring

    @cached_property
    def first_pass(self) -> Pass:
        return passes(self.recipe.steps)[0]

    @cached_property
    def predicted(self) -> tuple[CorpusStep, ...]:
        """The corpus-wide steps whose findings are told by probes, in order; see `counting`."""
        return tuple(s.counting() for s in corpus_steps(self.recipe.steps) if is_predicted(s))

    @cached_property
    def not_predicted(self) -> tuple[CorpusStep, ...]:
        """Those of which nothing is told: documents are taken to leave them as they came."""
        return tuple(s for s in corpus_steps(self.recipe.steps) if not is_predicted(s))

    @cached_property
    def leaves(self) -> tuple[Callable[[pa.RecordBatch], Bools] | None, ...]:
        """Of each of these, what tells which documents it leaves unchanged; opened once a job."""
        return tuple(step.leaves(self) for step in self.not_predicted)

    @cached_property
    def dedup(self) -> tuple[CorpusStep, ...]:
        """Those of the predicted steps that compare documents by keys, in order."""
        return tuple(step for step in self.predicted if step.has_keys)

    @property
    def image_step(self) -> CorpusStep | None:
        """The step that takes images out that the corpus has too often."""
        return next((step for step in self.predicted if step.image_rule is not None), None)

    @property
    def image_rule(self) -> ImageRule | None:
        return None if self.image_step is None else self.image_step.image_rule

    @property
    def is_probed(self) -> bool:
        """Whether documents are drawn: for their duplicates, or for those of their images."""
        return bool(self.dedup) or self.recipe.images is not None

    @cached_property
    def counted_stages(self) -> tuple[Step, ...]:
        """Stages that all documents go through: those before the first that only removes some."""
        stages = self.first_pass.stages
        counted = [all(s.changes_text for s in stages[: n + 1]) for n in range(len(stages))]
        return stages[: sum(counted)]

    @property
    def filters(self) -> tuple[Step, ...]:
        """The other stages before duplicates are looked for: of all documents those that are
        chosen go through them, and the others through what changes texts alone.
        """
        return self.first_pass.stages[len(self.counted_stages) :]

    @cached_property
    def later_stages(self) -> tuple[Step, ...]:
        """What documents go through when duplicates are gone."""
        return tuple(stage for part in passes(self.recipe.steps)[1:] for stage in part.stages)


class _Asked:
    """A `corpus.step.Probing` that tells nothing but that it was asked."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: True


def is_predicted(step: CorpusStep) -> bool:
    """Whether probes tell what a step finds."""
    asked: Any = _Asked()
    return step.probe(asked) is not None


def scratch_of(out: Path) -> Path:
    """The folder beside an estimate that its work is done in."""
    return out.with_name(f"{out.name}.scratch").absolute()


def open_measuring(folder: Path, measuring: Measuring, plan: Plan) -> MeasureJob:
    """Begin a prediction whose scratch is a folder, or continue it.

    plan: of the parts of the inputs.
    ConfigError: see `open_run`.
    """
    identity = {
        **run_identity(measuring.recipe, plan),
        "measuring": measuring.identity(),
        "measure_version": MEASURE_VERSION,
    }
    digest = open_run(folder, identity)
    return MeasureJob(out=folder, recipe=measuring.recipe, identity=digest, measuring=measuring)


def check_one_pass(recipe: Recipe) -> None:
    """Refuse a recipe whose duplicates are looked for in two places; ConfigError: names the second.

    What takes out repeated images and paragraphs may stand between.
    """
    parts = passes(recipe.steps)
    places = [part.index for part in parts if part.finders]
    last = max(places, default=0)
    others = [step for part in parts[:last] for step in part.after if step.makes_pieces]
    if last and (others or any(p.stages for p in parts[1 : last + 1])):
        late = parts[last].finders[0].name
        raise ConfigError(
            f"step {late!r} stands behind a corpus-wide step and others; a run is predicted where"
            " exact and near stand together, before decontaminate"
        )
