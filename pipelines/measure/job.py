"""The job of predicting a run, and where its scratch lies until the estimate is written.

OUT.scratch/manifest.json     what this prediction is
OUT.scratch/11-keys/…         keys of all documents, as the run itself would write them
OUT.scratch/ends/…            what becomes of the same documents, row by row
OUT.scratch/local/…           tokens of the documents of sampled parts
OUT.scratch/images/…          images of all documents, where the recipe has any
OUT.scratch/probed-images.arrow  of the documents drawn, and how often the corpus has each
OUT.scratch/probes.arrow      the documents drawn, and how many are like each
OUT.scratch/clusters.arrow    clusters of equal documents, a sample of all
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tokenmill.pipelines.contamination.decontaminate import Decontaminate
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.steps import RepeatedImages
from tokenmill.pipelines.corpus.passes import Pass, duplicate_finders, passes
from tokenmill.pipelines.measure.sample import DEFAULT_SAMPLE, EVERYTHING
from tokenmill.pipelines.prepare.identity import run_identity
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.manifest import open_run

MEASURE_VERSION = "3"  # raise it when the same settings and inputs make another estimate
DEFAULT_PROBES = 10_000


class Measuring(Step):
    """How a run is predicted.

    probes: documents drawn, of which all duplicates are counted.
    sample: of the inputs, what is tokenized: a share of their bytes, or over 1 bytes.
    budget: of the inputs, what may be read at all, alike; what is tokenized lies within.
    seed: of what is drawn.  cores: of the run that is predicted.
    grow_to: of a corpus that grows, so many times its documents, or over 2 documents.
    """

    recipe: Recipe
    probes: Annotated[int, Field(ge=1)] = DEFAULT_PROBES
    sample: Annotated[float, Field(gt=0)] = DEFAULT_SAMPLE
    budget: Annotated[float, Field(gt=0)] = EVERYTHING
    seed: Annotated[int, Field(ge=0)] = 0
    cores: Annotated[int, Field(ge=1)] = 1
    grow_to: Annotated[float, Field(ge=1)] | None = None

    def identity(self) -> dict[str, Any]:
        """What decides what is read and counted, as JSON."""
        return {
            "probes": self.probes,
            "sample": self.sample,
            "budget": self.budget,
            "seed": self.seed,
        }


@dataclass(frozen=True, kw_only=True)
class MeasureJob(PrepareJob):
    """The job of a prediction."""

    measuring: Measuring

    def ends(self, key: str) -> Path:
        return self.out / "ends" / f"part-{key}.arrow"

    def local(self, key: str) -> Path:
        return self.out / "local" / f"part-{key}.arrow"

    @property
    def probes(self) -> Path:
        return self.out / "probes.arrow"

    def images(self, key: str) -> Path:
        return self.out / "images" / f"part-{key}.arrow"

    @property
    def probed_images(self) -> Path:
        return self.out / "probed-images.arrow"

    @property
    def clusters(self) -> Path:
        return self.out / "clusters.arrow"

    @property
    def first_pass(self) -> Pass:
        return passes(self.recipe.steps)[0]

    @property
    def dedup(self) -> tuple[Step, ...]:
        """The steps that find duplicates, in order."""
        return tuple(s for p in passes(self.recipe.steps) for s in duplicate_finders(p.after))

    @property
    def repeated_images(self) -> RepeatedImages | None:
        """The step that takes images out that the corpus has too often."""
        return next((s for s in self.recipe.steps if isinstance(s, RepeatedImages)), None)

    @property
    def finders(self) -> tuple[Step, ...]:
        """The steps whose findings are told by probes, in order."""
        wanted = (*self.dedup, self.repeated_images)
        return tuple(step for step in self.recipe.steps if step in wanted)

    @property
    def is_probed(self) -> bool:
        """Whether documents are drawn: for their duplicates, or for those of their images."""
        return bool(self.dedup) or self.recipe.images is not None

    @property
    def later_stages(self) -> tuple[Step, ...]:
        """What documents go through when duplicates are gone."""
        return tuple(stage for part in passes(self.recipe.steps)[1:] for stage in part.stages)


def scratch_of(out: Path) -> Path:
    """The folder beside an estimate that its work is done in."""
    return out.with_name(f"{out.name}.scratch").absolute()


def open_measuring(out: Path, measuring: Measuring, plan: Plan) -> MeasureJob:
    """Begin a prediction that will be written to `out`, or continue it.

    plan: of the parts of the inputs.

    Raises:
        ConfigError: the recipe looks for duplicates more than once; or see `open_run`.
    """
    recipe = measuring.recipe
    check_one_pass(recipe)
    identity = {
        **run_identity(recipe, plan),
        "measuring": measuring.identity(),
        "measure_version": MEASURE_VERSION,
    }
    folder = scratch_of(out)
    digest = open_run(folder, identity)
    return MeasureJob(out=folder, recipe=recipe, identity=digest, measuring=measuring)


def check_alone(recipe: Recipe) -> None:
    """Refuse a recipe that stands against earlier runs.

    Raises:
        ConfigError: names the way out.
    """
    if recipe.against:
        raise ConfigError(
            "against: what inputs have in common with earlier runs is not predicted;"
            " --set against=[] measures the inputs alone, of which a run keeps no more"
        )


def check_one_pass(recipe: Recipe) -> None:
    """Refuse a recipe whose duplicates are looked for in two places.

    What takes out repeated images and paragraphs may stand between.

    Raises:
        ConfigError: names the second step.
    """
    parts = passes(recipe.steps)
    places = [p.index for p in parts if duplicate_finders(p.after)]
    last = max(places, default=0)
    others = [s for p in parts[:last] for s in p.after if isinstance(s, Decontaminate)]
    if last and (others or any(p.stages for p in parts[1 : last + 1])):
        late = duplicate_finders(parts[last].after)[0].name
        raise ConfigError(
            f"step {late!r} stands behind a corpus-wide step and others; a run is predicted where"
            " exact and near stand together, before decontaminate"
        )
