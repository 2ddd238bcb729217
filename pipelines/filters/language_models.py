"""What tells the language of texts: py3langid's model, eldc, or a fastText model of the user's."""

import functools
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.filters.iso639 import code_of
from tokenmill.pipelines.filters.langid_model import Told, langid_model
from tokenmill.pipelines.pinned_file import PinnedFile
from tokenmill.pipelines.quality.fasttext_file import PREFIX, check_fasttext, is_fasttext
from tokenmill.pipelines.quality.fasttext_model import LIBRARY as FASTTEXT
from tokenmill.pipelines.quality.fasttext_model import best_labels

Library: TypeAlias = Literal["py3langid", "eldc", "fasttext"]
PROBES = {"py3langid": "py3langid", "eldc": "eldc", "fasttext": FASTTEXT}  # modules
EXTRAS = {"py3langid": "language", "eldc": "eldc", "fasttext": "fasttext"}
# eldc's is a score, not a probability: whole English pages have 0.7 to 0.85
LEAST = {"py3langid": 0.65, "eldc": 0.5, "fasttext": 0.65}


class LanguageFile(PinnedFile):
    """A supervised model of fastText whose labels are languages, as lid.176.bin."""

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        if not is_fasttext(path):
            raise ConfigError(f"{path}: no fastText model; name one, as lid.176.bin or lid.176.ftz")
        check_fasttext(path)


class LanguageModel(Protocol):
    @property
    def known(self) -> frozenset[str]:
        """Codes of the languages that it can tell."""

    def tell(self, text: pa.Array) -> Told:
        """The most probable language of each text."""


class Eldc:
    """Nito's ELD in C: 60 languages; it lets go of the interpreter while it looks."""

    def __init__(self) -> None:
        import eldc  # optional

        eldc.init()
        self._eldc = eldc.instance()
        self._eldc.set_scores(1)
        self.known = frozenset(map(code_of, eldc.LANGUAGES))

    def tell(self, text: pa.Array) -> Told:
        found = [self._eldc.detect_details(one).scores for one in text.to_pylist()]
        codes = [code_of(next(iter(scores))) if scores else None for scores in found]
        values = [next(iter(scores.values()), 0.0) for scores in found]
        return Told(pa.array(codes, pa.string()), np.array(values, np.float64))


class FastTextLanguages:
    """A fastText model; a label's language counts, not its script, as in eng_Latn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._codes = {
            label: code_of(label.removeprefix(PREFIX)) for label in check_fasttext(path).labels
        }
        self.known = frozenset(self._codes.values())

    def tell(self, text: pa.Array) -> Told:
        labels, probabilities = best_labels(self._path, text)
        codes = [None if label is None else self._codes[label] for label in labels]
        return Told(pa.array(codes, pa.string()), probabilities)


def check_library(library: Library) -> None:
    """Raises:
    ValueError: it is not installed.
    """
    if find_spec(PROBES[library]) is None:
        raise ValueError(f"needs {library}; pip install 'tokenmill[{EXTRAS[library]}]'")


def versions_of(library: Library) -> dict[str, str]:
    """What decides the answers besides the settings; a fastText file's bytes alone decide its."""
    return {} if library == "fasttext" else {library: version(library)}


def known_languages(library: Library, file: LanguageFile | None) -> frozenset[str]:
    """Codes, before a run begins; none where the model file is gone, as of a finished run."""
    if file is None:
        return language_model(library, None).known
    path = Path(file.file)
    return FastTextLanguages(path).known if path.exists() else frozenset()


@functools.cache  # once a process
def language_model(library: Library, file: LanguageFile | None) -> LanguageModel:
    """Raises:
    ConfigError: the file is not the one that the run began with.
    """
    if file is not None:
        return FastTextLanguages(file.checked())
    return Eldc() if library == "eldc" else langid_model()
