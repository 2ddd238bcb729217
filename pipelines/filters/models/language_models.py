"""Models that tell the language of texts: py3langid's, eldc, or a fastText model of the user's.

py3langid's model is read as data, and its arrays are walked here, ten times as fast:

    text ──automaton over bytes──► counts of sequences ──naive Bayes──► scores ──softmax──► shares

Model, scores and the temperature of the softmax are the library's (version 0.4); the model has 4
MB, is never unpickled, and comes from no network. Reference: Lui and Baldwin, langid.py: an
off-the-shelf language identification tool, ACL 2012.

Whatever a library calls a language, here it has its code of ISO 639-1 where it has one. Source:
ISO 639-3 code tables: the two-letter code of each three-letter one, and, for those that it takes
for several languages, the one that models are trained on (arb for Arabic).
"""

import functools
import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F32, F64, I32, I64, U16, text_buffers
from tokenmill.pipelines.core.config import PinnedFile
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.kernels.controls import MAY_COMPOSE
from tokenmill.pipelines.filters.kernels.langid import score_languages
from tokenmill.pipelines.filters.models import fasttext
from tokenmill.pipelines.filters.normalize import normalized, work_needed

_LABEL = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z]+)?$")

# nb is Bokmål, and so is no where nn is Nynorsk
_LISTED = json.loads(Path(__file__).with_name("languages.json").read_bytes())
CODES = dict(pair.split("=") for part in _LISTED.values() for pair in " ".join(part).split())


def code_of(label: str) -> str:
    """The code of a library's label, whose script does not count; the label where it is no code.

    >>> [code_of(label) for label in ("en", "eng_Latn", "zh-Hant", "nb", "ceb", "english")]
    ['en', 'en', 'zh', 'no', 'ceb', 'english']
    """
    found = _LABEL.match(label)
    return CODES.get(found[1], found[1]) if found else label


DIGITS = 6  # of a probability: what processors round otherwise is smaller
ROOM = 1 << 20  # features: 12 MB; a quarter of it costs a third of the speed
AT_ONCE = 4096  # texts: their scores take 4.6 MB


class Detected(NamedTuple):
    """(n_texts,) codes, null where none is told; probabilities: in [0, 1], 0 where none is."""

    codes: pa.Array
    probabilities: F64


@dataclass(frozen=True, eq=False)
class LangidModel:
    """moves, features, start, weights: as in `score_languages`.  prior: (n_classes,) float64.

    classes: (n_classes,) int64, the language of each, of which some have two (by script).
    languages: their codes.
    """

    moves: U16
    features: I32
    start: np.uint16
    weights: F32
    prior: F64
    classes: I64
    languages: tuple[str, ...]

    @property
    def known(self) -> frozenset[str]:
        """Codes of the languages that it can tell."""
        return frozenset(self.languages)

    def tell(self, text: pa.Array) -> Detected:
        """The most probable language of each text. text: (n_texts,) string or large_string."""
        parts = [self._tell(text.slice(at, AT_ONCE)) for at in range(0, len(text), AT_ONCE)]
        best = np.concatenate([part[0] for part in parts] or [np.empty(0, np.int64)])
        probabilities = np.concatenate([part[1] for part in parts] or [np.empty(0)])
        places = pa.array(best, mask=best < 0)
        return Detected(pa.array(self.languages, pa.string()).take(places), probabilities)

    def _tell(self, text: pa.Array) -> tuple[I64, F64]:
        """The number of the language of each text, -1 where none is, and its probability."""
        buffers = text_buffers(as_trained(text))
        n_bytes = buffers.lengths
        n_features, n_classes = self.weights.shape
        logs = np.log1p(np.arange(int(n_bytes.max()) + 1))
        room = max(len(logs), ROOM)
        ends = np.zeros(len(text) + 1, np.int64)
        scores = np.zeros((len(text), n_classes))
        seen, found = np.zeros(n_features, np.int32), np.empty(room, np.int32)
        given = *buffers, self.moves, self.features, self.start, self.weights
        score_languages(*given, logs, seen, found, np.empty(room, np.float64), ends, scores)
        # less sure of what is short: this keeps the probabilities calibrated, says the library
        scores = (scores + self.prior) / np.sqrt(np.maximum(n_bytes, 1))[:, None]
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        whole = np.zeros((len(text), len(self.languages)))
        for place, language in enumerate(self.classes):
            whole[:, language] += shares[:, place]
        tells = np.diff(ends) > 0
        best = np.where(tells, whole.argmax(axis=1), -1)
        return best, np.where(tells, whole.max(axis=1), 0.0).round(DIGITS)


def as_trained(text: pa.Array) -> pa.Array:
    """Texts all in capitals in small letters, and all composed (NFC)."""
    capitals = pc.utf8_is_upper(text)  # but for ª and º, small letters that have no case
    if pc.any(capitals).as_py():  # by Python: Arrow lowers each character by itself
        some = text.filter(capitals).to_pylist()
        small = [one.lower() if one.isupper() else one for one in some]
        text = pc.replace_with_mask(text, capitals, pa.array(small, text.type))
    return normalized(text, work_needed(text) & np.uint8(MAY_COMPOSE))


@functools.cache
def langid_model() -> LangidModel:
    """The library's model, once a process: 120 MB."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE  # optional
    from py3langid.modelio import load_model

    weights, prior, labels, moves, rows, features = load_model(MODEL_DIR / MODEL_FILE)
    states, row_of = np.asarray(moves), np.asarray(rows)
    codes = [code_of(label) for label in labels]
    languages = tuple(dict.fromkeys(codes))
    return LangidModel(
        moves=row_of[states],
        features=np.asarray(features, np.int32)[states],
        start=row_of[0],
        weights=np.ascontiguousarray(weights, np.float32),
        prior=np.asarray(prior, np.float64),
        classes=np.array([languages.index(code) for code in codes]),
        languages=languages,
    )


Library: TypeAlias = Literal["py3langid", "eldc", "fasttext"]
EXTRAS = {"py3langid": "language", "eldc": "eldc"}  # by module
# eldc's is a score, not a probability: whole English pages have 0.7 to 0.85
LEAST = {"py3langid": 0.65, "eldc": 0.5, "fasttext": 0.65}


class LanguageFile(PinnedFile):
    """A supervised model of fastText whose labels are languages, as lid.176.bin."""

    way = (
        "check the path; lid.176.bin (131 MB, CC BY-SA 3.0) is had from"
        " https://dl.fbaipublicfiles.com/fasttext/supervised-models/lid.176.bin"
    )

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        if not fasttext.is_fasttext(path):
            raise ConfigError(f"{path}: no fastText model; name one, as lid.176.bin or lid.176.ftz")
        fasttext.check_fasttext(path)


class Eldc:
    """Nito's ELD in C: 60 languages; it lets go of the interpreter while it looks."""

    def __init__(self) -> None:
        import eldc  # optional

        eldc.init()
        self._eldc = eldc.instance()
        self._eldc.set_scores(1)
        self.known = frozenset(map(code_of, eldc.LANGUAGES))

    def tell(self, text: pa.Array) -> Detected:
        found = [self._eldc.detect_details(one).scores for one in text.to_pylist()]
        codes = [code_of(next(iter(scores))) if scores else None for scores in found]
        values = [next(iter(scores.values()), 0.0) for scores in found]
        return Detected(pa.array(codes, pa.string()), np.array(values, np.float64))


class FastTextLanguages:
    """A fastText model; a label's language counts, not its script, as in eng_Latn."""

    def __init__(self, path: Path) -> None:
        self._model = fasttext.FastTextModel(path)
        self._codes = pa.array(codes_of(self._model.labels), pa.string())
        self.known = frozenset(self._codes.to_pylist())

    def tell(self, text: pa.Array) -> Detected:
        labels, probabilities = self._model.tell(text)
        return Detected(self._codes.take(pa.array(labels, mask=labels < 0)), probabilities)


def codes_of(labels: tuple[str, ...]) -> list[str]:
    return [code_of(label.removeprefix(fasttext.PREFIX)) for label in labels]


LanguageModel: TypeAlias = LangidModel | Eldc | FastTextLanguages


def check_library(library: Library) -> None:
    """ValueError, with what to install, where a library is missing."""
    if library in EXTRAS and find_spec(library) is None:
        raise ValueError(f"needs {library}; pip install 'tokenmill[{EXTRAS[library]}]'")


def known_languages(library: Library, file: LanguageFile | None) -> frozenset[str]:
    """Codes, before a run begins; none where the model file is gone, as of a finished run."""
    if file is None:
        return language_model(library, None).known
    path = Path(file.file)
    return frozenset(codes_of(fasttext.fasttext_labels(path))) if path.exists() else frozenset()


@functools.cache  # once a process
def language_model(library: Library, file: LanguageFile | None) -> LanguageModel:
    """The model of a library, or a file; ConfigError where the file changed since the run began."""
    if file is not None:
        return FastTextLanguages(file.checked())
    return Eldc() if library == "eldc" else langid_model()
