"""What every step of a recipe is: settings with a name, and what the rest of a recipe must know."""

from typing import ClassVar

from tokenmill.pipelines.core.config import Config


class Step(Config):
    """The settings of one step.

    name: of the step, in recipes, receipts and reports.
    needs_images: it can only stand in a recipe with images.
    corpus_wide: it needs something of all documents before it knows what leaves: such a step is a
        `corpus.step.CorpusStep`. Every other one is called with a batch (`core.stage.Stage`).
    """

    name: ClassVar[str]
    needs_images: ClassVar[bool] = False
    corpus_wide: ClassVar[bool] = False

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
