"""What every step of a recipe is: settings with a name, and what the rest of a recipe must know."""

from typing import ClassVar, TypeVar

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.plugins import Registry


class Step(Config):
    """The settings of one step.

    name: of the step, in recipes, receipts and reports.
    needs_images: it can only stand in a recipe with images.
    corpus_wide: it needs something of all documents before it knows what leaves: such a step is a
        `corpus.step.CorpusStep`. Every other one is called with a batch (`core.stage.Stage`).
    edits_texts: it changes the text of documents that stay, each by itself.
    makes_pieces: it cuts documents into pieces, each a document of its own (`core.pieces`).
    """

    name: ClassVar[str]
    needs_images: ClassVar[bool] = False
    corpus_wide: ClassVar[bool] = False
    edits_texts: ClassVar[bool] = False
    makes_pieces: ClassVar[bool] = False

    @property
    def needs_dates(self) -> bool:
        """Whether documents must have a column `date`."""
        return False

    @property
    def cuts_text(self) -> bool:
        """Whether it cuts stretches out of a text, so that images lose their places in it."""
        return False

    @property
    def without_cutting(self) -> str:
        """The setting by which it cuts nothing, as "action: document"; "" if there is none."""
        return ""

    def versions(self) -> dict[str, str]:
        """Of libraries that decide its verdicts."""
        return {}


STEPS: Registry[type[Step]] = Registry("step", own=("tokenmill.pipelines.prepare.steps",))
AnyStep = TypeVar("AnyStep", bound=type[Step])


def register(step: AnyStep) -> AnyStep:
    """Let recipes name a step; also a decorator of its class.

    Raises:
        ConfigError: another step has its name.
    """
    STEPS.register(step.name, step)
    return step
