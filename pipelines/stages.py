"""The stages a recipe can name."""

from pipelines.config import Config
from pipelines.filters.c4 import C4
from pipelines.filters.fineweb import FineWeb
from pipelines.filters.gopher_quality import GopherQuality
from pipelines.filters.gopher_repetition import GopherRepetition
from pipelines.filters.language import Language
from pipelines.filters.quality import Quality
from pipelines.images.captions import Captions
from pipelines.images.interleaved_text import InterleavedText
from pipelines.images.once import ImageOnce
from pipelines.images.rules import ImageRules
from pipelines.images.scores import DocumentScores, ImageScores
from pipelines.normalize import Normalize

STAGES: dict[str, type[Config]] = {
    "normalize": Normalize,
    "c4": C4,
    "gopher_quality": GopherQuality,
    "gopher_repetition": GopherRepetition,
    "fineweb": FineWeb,
    "language": Language,
    "quality": Quality,
    "images": ImageRules,
    "image_once": ImageOnce,
    "captions": Captions,
    "interleaved_text": InterleavedText,
    "image_scores": ImageScores,
    "document_scores": DocumentScores,
}
