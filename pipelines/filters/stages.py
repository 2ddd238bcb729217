"""The stages a recipe can name."""

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.filters.bad_words import BadWords
from tokenmill.pipelines.filters.c4 import C4
from tokenmill.pipelines.filters.fineweb import FineWeb
from tokenmill.pipelines.filters.gopher_quality import GopherQuality
from tokenmill.pipelines.filters.gopher_repetition import GopherRepetition
from tokenmill.pipelines.filters.images.captions import Captions
from tokenmill.pipelines.filters.images.interleaved_text import InterleavedText
from tokenmill.pipelines.filters.images.once import ImageOnce
from tokenmill.pipelines.filters.images.rules import ImageRules
from tokenmill.pipelines.filters.images.scores import DocumentScores, ImageScores
from tokenmill.pipelines.filters.length import Length
from tokenmill.pipelines.filters.models.language import Language
from tokenmill.pipelines.filters.models.perplexity import Perplexity
from tokenmill.pipelines.filters.models.quality import Quality
from tokenmill.pipelines.filters.normalize import Normalize
from tokenmill.pipelines.filters.pii import Pii
from tokenmill.pipelines.filters.url_filter import UrlFilter

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
