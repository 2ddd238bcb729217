"""What a supervised fastText model says of a line, one n-gram and one label at a time."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

HS, NS, SOFTMAX, OVA = 1, 2, 3, 4


class Model(NamedTuple):
    """inputs, outputs: (n_rows, dim) and (n_labels, dim).  pruned: bucket to row behind words."""

    words: tuple[bytes, ...]
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    least: int
    most: int
    n: int
    bucket: int
    pruned: dict[int, int] | None
    loss: int
    inputs: np.ndarray
    outputs: np.ndarray


def fnv(word: bytes) -> int:
    h = 2166136261
    for byte in word:
        h = (h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619 & 0xFFFFFFFF
    return h


def rows(model: Model, text: str) -> list[int]:
    for blank in "\n\r\t\v\f\0":
        text = text.replace(blank, " ")
    tokens = [*(word for word in text.encode().split(b" ") if word), b"</s>"]
    found: list[int] = []
    hashes = []
    for token in tokens[: tokens.index(b"</s>") + 1]:
        if token in model.words:
            found.append(model.words.index(token))
        elif token.startswith(b"__label__"):
            continue
        hashes.append((fnv(token) + 2**31) % 2**32 - 2**31)
        if token != b"</s>":
            found += [row for gram in grams(token, model) for row in row_of(fnv(gram), model)]
    for i, h in enumerate(hashes):
        for other in hashes[i + 1 : i + model.n]:
            h = (h * 116049371 + other) % 2**64
            found += row_of(h, model)
    return found


def grams(token: bytes, model: Model) -> Iterator[bytes]:
    letters = f"<{token.decode()}>"
    for i in range(len(letters)):
        for j in range(i + 1, min(len(letters), i + model.most) + 1):
            bracket = j - i == 1 and (i == 0 or j == len(letters))
            if j - i >= model.least and not bracket:
                yield letters[i:j].encode()


def row_of(h: int, model: Model) -> list[int]:
    place = h % model.bucket
    if model.pruned is not None:
        return [len(model.words) + model.pruned[place]] if place in model.pruned else []
    return [len(model.words) + place]


def probabilities(model: Model, text: str) -> dict[str, float]:
    """Of each label, fastText's 1e-5 more than it is; none where the model knows no word."""
    found = rows(model, text)
    if not found:
        return {}
    z = model.outputs.astype(np.float64) @ model.inputs[found].astype(np.float64).mean(axis=0)
    if model.loss == HS:
        shares = by_tree(model.counts, z)
    elif model.loss == SOFTMAX:
        e = np.exp(z - z.max())
        shares = e / e.sum() + 1e-5
    else:
        shares = [stepped(x) + 1e-5 for x in z]
    return dict(zip(model.labels, shares, strict=True))


def stepped(x: float) -> float:
    if abs(x) > 8:
        return float(x > 0)
    return 1 / (1 + math.exp(8 - math.floor((x + 8) * 32) / 32))


def by_tree(counts: tuple[int, ...], z: np.ndarray) -> list[float]:
    """A Huffman tree from two queues: labels from the rarest on, and nodes as they are made."""
    n = len(counts)
    leaves, nodes = list(range(n - 1, -1, -1)), []
    weight, shares = dict(enumerate(counts)), {}
    children = {}
    for node in range(n, 2 * n - 1):
        pair = []
        for _ in range(2):
            leaf = leaves and (not nodes or weight[leaves[0]] < weight[nodes[0]])
            pair.append((leaves if leaf else nodes).pop(0))
        nodes.append(node)
        weight[node], children[node] = sum(weight[c] for c in pair), pair
    shares[2 * n - 2] = 1.0
    for node in range(2 * n - 2, n - 1, -1):
        left, right = children[node]
        p = 1 / (1 + math.exp(-z[node - n]))
        shares[left] = shares[node] * (1 - p + 1e-5)
        shares[right] = shares[node] * (p + 1e-5)
    return [shares[i] if shares[i] > 1e-5 else 0.0 for i in range(n)]
