"""The stages a recipe can name."""

from pipelines.config import Config
from pipelines.filters.bad_words import BadWords
from pipelines.filters.c4 import C4
from pipelines.filters.fineweb import FineWeb
from pipelines.filters.gopher_quality import GopherQuality
from pipelines.filters.gopher_repetition import GopherRepetition
from pipelines.filters.language import Language
from pipelines.filters.length import Length
from pipelines.filters.perplexity import Perplexity
from pipelines.filters.pii import Pii
from pipelines.filters.quality import Quality
from pipelines.filters.url_filter import UrlFilter
from pipelines.images.captions import Captions
from pipelines.images.interleaved_text import InterleavedText
from pipelines.images.once import ImageOnce
from pipelines.images.rules import ImageRules
from pipelines.images.scores import DocumentScores, ImageScores
from pipelines.normalize import Normalize

STAGES: dict[str, type[Config]] = {
    "normalize": Normalize,
    "c4": C4,
    "bad_words": BadWords,
    "gopher_quality": GopherQuality,
    "gopher_repetition": GopherRepetition,
    "fineweb": FineWeb,
    "language": Language,
    "length": Length,
    "quality": Quality,
    "perplexity": Perplexity,
    "url_filter": UrlFilter,
    "pii": Pii,
    "images": ImageRules,
    "image_once": ImageOnce,
    "captions": Captions,
    "interleaved_text": InterleavedText,
    "image_scores": ImageScores,
    "document_scores": DocumentScores,
}
