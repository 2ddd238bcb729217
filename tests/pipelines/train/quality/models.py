"""Tiny models: ours with a few weights, and fastText's, byte by byte."""

import struct

import numpy as np

from tests.reference import quality as reference
from tokenmill.pipelines.filters.models.quality_model import LinearModel, save_model

WEIGHTS = {"good": 2.0, "fine": 1.0, "bad": -2.0, "naïve": 0.5}
WORDS = ("</s>", "good", "bad", "the")
LABELS = ("__label__hq", "__label__cc")


def linear(weights=WEIGHTS, *, n_features=1024, intercept=0.0):
    values = np.zeros(n_features, np.float32)
    for word, weight in weights.items():
        values[reference.murmur3(word.encode()) % n_features] = weight
    return LinearModel(values, intercept, {"training": {"by": "hand"}})


def saved(folder, **settings):
    path = folder / "tiny.npz"
    save_model(linear(**settings), path)
    return path


def dense(matrix):
    return struct.pack("<qq", *matrix.shape) + matrix.astype("<f4").tobytes()


def quantized(rows, dim, *, norms, part=2, drawn=None):
    """A QuantMatrix, and the matrix that it is: of zeros unless drawn."""
    drawn = drawn or np.random.default_rng(0)
    n_parts = -(-dim // part)
    codes = drawn.integers(0, 256, (rows, n_parts), np.uint8)
    centroids = drawn.normal(size=256 * dim).astype("<f4")
    made = struct.pack("<?qqi", norms, rows, dim, codes.size) + codes.tobytes()
    made += struct.pack("<4i", dim, n_parts, part, dim - part * (n_parts - 1))
    made += centroids.tobytes()
    by_part = [
        centroids[256 * at : 256 * (at + part)].reshape(256, -1) for at in range(0, dim, part)
    ]
    matrix = np.hstack([of[codes[:, p]] for p, of in enumerate(by_part)])
    if norms:
        scales, by_row = (
            drawn.normal(size=256).astype("<f4"),
            drawn.integers(0, 256, rows, np.uint8),
        )
        made += by_row.tobytes() + struct.pack("<4i", 1, 1, 1, 1) + scales.tobytes()
        matrix = matrix * scales[by_row][:, None]
    return made, matrix


def fasttext_bytes(
    *, words=WORDS, labels=LABELS, dim=2, inputs=None, outputs=None, kind=3, pruned=None,
    counts=None, n=1, loss=3, bucket=0, least=0, most=0,
):  # fmt: skip
    """A supervised model (softmax), or of `kind` another; quantized if a matrix is bytes."""
    args = struct.pack("<12id", dim, 5, 1, 1, 5, n, loss, kind, bucket, least, most, 100, 1e-4)
    sizes = len(words), len(labels)
    pairs = [number for pair in (pruned or {}).items() for number in pair]
    made = struct.pack("<ii", 793712314, 12) + args
    made += struct.pack("<3iqq", sum(sizes), *sizes, 100, -1 if pruned is None else len(pruned))
    for kind, names in enumerate((words, labels)):
        for i, name in enumerate(names):
            count = counts[i] if kind and counts else 10
            made += name.encode() + b"\0" + struct.pack("<qb", count, kind)
    made += struct.pack(f"<{len(pairs)}i", *pairs)
    for matrix in (inputs, outputs):
        is_bytes = isinstance(matrix, bytes)
        made += struct.pack("<?", is_bytes) + (matrix if is_bytes else dense(matrix))
    return made


RNG = np.random.default_rng(7)
INPUTS, OUTPUTS = RNG.normal(size=(len(WORDS), 2)), RNG.normal(size=(len(LABELS), 2))


def saved_fasttext(folder, **settings):
    path = folder / "tiny.bin"
    path.write_bytes(fasttext_bytes(**{"inputs": INPUTS, "outputs": OUTPUTS} | settings))
    return path


def fasttext_score(text, label):
    """The mean of the words' vectors, times those of the labels, by softmax."""
    rows = [WORDS.index(word) for word in text.split() if word in WORDS] + [0]
    z = OUTPUTS.astype(np.float32) @ INPUTS.astype(np.float32)[rows].mean(axis=0)
    p = np.exp(z) / np.exp(z).sum()
    return p[LABELS.index(label)]
