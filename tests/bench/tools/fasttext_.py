"""Models of fastText: a language told as by lid.176.ftz and .bin, a score as by DCLM's classifier.

The numbers are drawn, the sizes those of the published files but for the classifier's buckets, of
which it has ten times as many; the words are the corpus' own.
"""

from collections import Counter
from functools import partial

import fasttext
import numpy as np
import pyarrow as pa

from tests.bench.tools.ours import batches_of, text_of
from tests.pipelines.train.quality.models import fasttext_bytes, quantized
from tokenmill.pipelines.filters.models.fasttext import FastTextModel

LABELS, WORDS, KEPT, BUCKETS = 176, 7_000, 42_000, 2_000_000
FIRST = ("__label__0", "__label__hq")
QUALITY_BUCKETS, QUALITY_WORDS, DIM = 200_000, 100_000, 100


def words_of(part, n):
    counts = Counter(word for text in text_of(part).to_pylist() for word in text.split())
    return ("</s>", *(word for word, _ in counts.most_common(n)))


def lid(part, *, is_pruned):
    draw = np.random.default_rng(0)
    words = words_of(part, WORDS)
    if is_pruned:
        buckets = draw.choice(BUCKETS, KEPT, replace=False).tolist()
        inputs = quantized(len(words) + KEPT, 16, norms=True, drawn=draw)[0]
    else:
        inputs = draw.normal(size=(len(words) + BUCKETS, 16)).astype("<f4")
    return fasttext_bytes(
        words=words,
        labels=[f"__label__{i}" for i in range(LABELS)],
        counts=sorted(draw.integers(1, 10**6, LABELS).tolist(), reverse=True),
        dim=16,
        inputs=inputs,
        outputs=draw.normal(size=(LABELS, 16)),
        pruned={bucket: i for i, bucket in enumerate(buckets)} if is_pruned else None,
        loss=1, least=2, most=4, bucket=BUCKETS,
    )  # fmt: skip


def classifier(part):
    draw = np.random.default_rng(0)
    words = words_of(part, QUALITY_WORDS)
    inputs = draw.normal(size=(len(words) + QUALITY_BUCKETS, DIM)).astype("<f4")
    outputs = draw.normal(size=(2, DIM))
    return fasttext_bytes(
        words=words, dim=DIM, inputs=inputs, outputs=outputs, n=2, bucket=QUALITY_BUCKETS
    )


def ours(made):
    def prepared(part, scratch):
        (scratch / "model.bin").write_bytes(made(part))
        model = FastTextModel(scratch / "model.bin")
        batches = list(batches_of(part / "docs.parquet"))
        model.tell(batches[0]["text"])

        def work():
            told = pa.chunked_array([pa.array(model.tell(batch["text"])[0]) for batch in batches])
            return {"docs": len(told), "first": int(np.count_nonzero(np.asarray(told) == 0))}

        return work

    return prepared


def library(made):
    def prepared(part, scratch):
        (scratch / "model.bin").write_bytes(made(part))
        model, texts = fasttext.load_model(str(scratch / "model.bin")).f, text_of(part).to_pylist()

        def work():
            lines = (text.replace("\n", " ") + "\n" for text in texts)
            told = [model.predict(line, 1, 0.0, "strict")[0][1] for line in lines]
            return {"docs": len(told), "first": sum(label in FIRST for label in told)}

        return work

    return prepared


MODELS = {
    "language": partial(lid, is_pruned=True),
    "language unpruned": partial(lid, is_pruned=False),
    "quality": classifier,
}
STEPS = {f"fasttext {kind}": ours(made) for kind, made in MODELS.items()} | {
    f"fasttext {kind}: fasttext-predict": library(made) for kind, made in MODELS.items()
}
