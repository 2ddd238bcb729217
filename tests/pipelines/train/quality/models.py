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


def quantized(rows, dim, *, norms):
    """A QuantMatrix of zeros: one part of each vector for two of its dimensions."""
    parts = (dim + 1) // 2
    made = struct.pack("<?qqi", norms, rows, dim, rows * parts) + bytes(rows * parts)
    made += struct.pack("<4i", dim, parts, 2, dim - 2 * (parts - 1)) + bytes(4 * 256 * dim)
    return made + (bytes(rows) + struct.pack("<4i", 1, 1, 1, 1) + bytes(4 * 256) if norms else b"")


def fasttext_bytes(
    *, words=WORDS, labels=LABELS, dim=2, inputs=None, outputs=None, kind=3, pruned=-1
):
    """A supervised model (softmax), or of `kind` another; quantized if `inputs` are bytes."""
    args = struct.pack("<12id", dim, 5, 1, 1, 5, 1, 3, kind, 0, 0, 0, 100, 1e-4)
    n = len(words), len(labels)
    made = struct.pack("<ii", 793712314, 12) + args
    made += struct.pack("<3iqq", sum(n), *n, 100, pruned)
    for k, names in enumerate((words, labels)):
        made += b"".join(name.encode() + b"\0" + struct.pack("<qb", 10, k) for name in names)
    made += bytes(8 * max(0, pruned))
    if isinstance(inputs, bytes):
        made += struct.pack("<?", True) + inputs
    else:
        made += struct.pack("<?", False) + dense(inputs)
    return made + struct.pack("<?", False) + dense(outputs)


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
