"""lm-eval's janitor: the 13-grams of a benchmark in documents."""

import contextlib
import io
import json

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from lm_eval.decontamination.janitor import Janitor


def overlap(part, scratch):
    janitor = Janitor()
    for line in (part / "benchmark.jsonl").open(encoding="utf-8"):
        janitor.register_contaminant_python(json.loads(line)["question"])
    texts = [json.loads(line)["text"] for line in (part / "docs.jsonl").open(encoding="utf-8")]

    def work():
        changed = sum(janitor.clean_python(text) != [text] for text in texts)
        return {"docs": len(texts), "changed": changed}

    return work


def found(ngram):
    def make(part, scratch):
        janitor = Janitor(ngram_n=ngram)
        for line in (part / "benchmark.jsonl").open(encoding="utf-8"):
            janitor.register_contaminant_python(json.loads(line)["question"])
        texts = [json.loads(line)["text"] for line in (part / "docs.jsonl").open(encoding="utf-8")]

        def work():
            told = [i for i, text in enumerate(texts) if janitor.clean_python(text) != [text]]
            return {"told": told}

        return work

    return make


STEPS = {"overlap": overlap, "found 13": found(13), "found 8": found(8)}
