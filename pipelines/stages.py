"""The stages a recipe can name."""

from pipelines.config import Config
from pipelines.filters.c4 import C4
from pipelines.filters.fineweb import FineWeb
from pipelines.filters.gopher_quality import GopherQuality
from pipelines.filters.gopher_repetition import GopherRepetition
from pipelines.normalize import Normalize

STAGES: dict[str, type[Config]] = {
    "normalize": Normalize,
    "c4": C4,
    "gopher_quality": GopherQuality,
    "gopher_repetition": GopherRepetition,
    "fineweb": FineWeb,
}
