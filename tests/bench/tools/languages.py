"""Language of documents: the step, and the library whose model it runs."""

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from tests.bench.tools.ours import batches_of, text_of
from tokenmill.pipelines.filters.models.language import Language

FIRST_CHARS = 10_000  # as the step looks at


def ours(part, scratch):
    stage, batches = Language(), list(batches_of(part / "docs.parquet"))
    stage(batches[0].slice(0, 1))  # the model is read once a process

    def work():
        kept = sum(stage(batch).kept.num_rows for batch in batches)
        return {"docs": sum(b.num_rows for b in batches), "kept": kept}

    return work


def library(part, scratch):
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    texts = [text[:FIRST_CHARS] for text in text_of(part).to_pylist()]

    def work():
        told = [identifier.classify(text) for text in texts]
        return {"docs": len(told), "kept": sum(c == "en" and p >= 0.65 for c, p in told)}

    return work


STEPS = {"language": ours, "language: py3langid": library}
