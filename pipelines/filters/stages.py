"""The filters of our own, in the order in which they are shown."""

from tokenmill.pipelines.core.step import Step
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
from tokenmill.pipelines.filters.select import Select
from tokenmill.pipelines.filters.url_filter import UrlFilter

STAGES: dict[str, type[Step]] = {
    stage.name: stage
    for stage in (
        Normalize,
        C4,
        BadWords,
        GopherQuality,
        GopherRepetition,
        FineWeb,
        Language,
        Length,
        Quality,
        Perplexity,
        UrlFilter,
        Pii,
        Select,
        ImageRules,
        ImageOnce,
        Captions,
        InterleavedText,
        ImageScores,
        DocumentScores,
    )
}
