"""What the vectors of texts say for each label of a fastText model, by softmax, sigmoids or a tree.

The order and the precision of all sums are fastText's. Source: fastText 0.9.2, `predict`,
`computeOutput`, `buildTree` and `dfs` of loss.cc.
"""

import math

import numpy as np

from tokenmill.dedup.kernels._jit import F32, I32, I64, inlined, kernel
from tokenmill.pipelines.filters.kernels.fasttext import Scratch

HS, NS, SOFTMAX, OVA = 1, 2, 3, 4
MOST_SIGMOID, SIGMOIDS_PER_UNIT = np.float32(8), np.float32(32)  # of its table, made of the formula
UNSEEN = np.float32(-30)  # e to it is nothing beside 1 in float32
LEAST = 1e-5  # added to each probability
TIE = np.float32(1 - 1e-6)


@kernel
def label_sums(means: F32, labels: F32, norms: F32, sums: F32) -> None:
    """What each vector says for each label: their products, added up.

    means: (n_docs, width).  labels: (n_blocks, width, 8), by eight labels the numbers of each.
    norms: (8 * n_blocks,), by which sums are multiplied.  sums: (n_docs, 8 * n_blocks).
    """
    for block in range(labels.shape[0]):
        rows = labels[block]
        for m in range(means.shape[0]):
            a = b = c = d = e = f = g = h = np.float32(0)
            for j in range(means.shape[1]):
                x = means[m, j]
                a += x * rows[j, 0]
                b += x * rows[j, 1]
                c += x * rows[j, 2]
                d += x * rows[j, 3]
                e += x * rows[j, 4]
                f += x * rows[j, 5]
                g += x * rows[j, 6]
                h += x * rows[j, 7]
            at = 8 * block
            sums[m, at], sums[m, at + 1] = a * norms[at], b * norms[at + 1]
            sums[m, at + 2], sums[m, at + 3] = c * norms[at + 2], d * norms[at + 3]
            sums[m, at + 4], sums[m, at + 5] = e * norms[at + 4], f * norms[at + 5]
            sums[m, at + 6], sums[m, at + 7] = g * norms[at + 6], h * norms[at + 7]


@inlined
def logarithm(x: np.float32) -> np.float32:
    return np.float32(math.log(np.float64(x) + LEAST))


@inlined
def sigmoid(x: np.float32) -> np.float32:
    """By a table of 512 numbers, of which this is the one."""
    if x < -MOST_SIGMOID:
        return np.float32(0)
    if x > MOST_SIGMOID:
        return np.float32(1)
    place = np.float32(np.int64(np.float32(x + MOST_SIGMOID) * SIGMOIDS_PER_UNIT))
    x = np.float32(place / SIGMOIDS_PER_UNIT - MOST_SIGMOID)
    return np.float32(1 / (1 + np.float64(np.exp(-x))))


@inlined
def make_shares(sums: F32, n_labels: int, loss: int) -> None:
    """Replace sums by probabilities."""
    if loss != SOFTMAX:
        for i in range(n_labels):
            sums[i] = sigmoid(sums[i])
        return
    most = sums[0]
    for i in range(n_labels):
        most = max(most, sums[i])
    total = np.float32(0)
    for i in range(n_labels):
        x = np.float32(sums[i] - most)
        sums[i] = np.exp(x) if x > UNSEEN else np.float32(0)
        total += sums[i]
    for i in range(n_labels):
        sums[i] = np.float32(sums[i] / total)


@kernel
def tell(
    sums: F32, n_labels: int, loss: int, label: int, counts: I64, labels: I32, logs: F32
) -> None:
    """The best label of each text, of equal ones the last, and the logarithm of its probability.

    sums: (n_docs, n_labels or more); left as probabilities.
    label: to be told of; -1 for the best.
    counts: (n_docs,), of rows.  labels: -1 for a text without rows.
    """
    for d in range(counts.shape[0]):
        shares = sums[d]
        labels[d] = -1
        if counts[d] == 0:
            continue
        make_shares(shares, n_labels, loss)
        best = label
        if best < 0:
            best = 0
            for i in range(n_labels):
                if shares[i] > shares[best]:
                    best = i
            least, most = shares[best] * TIE, logarithm(shares[best])
            for i in range(best + 1, n_labels):
                if shares[i] >= least and logarithm(shares[i]) >= most:
                    best = i
        labels[d] = best
        logs[d] = logarithm(shares[best])


@kernel
def grow(counts: I64, children: I32, parents: I32, sums: I64) -> None:
    """A tree of labels by how frequent they are; node i is label i, the last one is the root.

    children: (n_nodes, 2), -1 of labels.  parents: (n_nodes,).  sums: (n_nodes,), more than all
    counts together.
    """
    n = counts.shape[0]
    for i in range(n):  # a slice takes two seconds to compile
        sums[i] = counts[i]
    leaf, node = n - 1, n
    for i in range(n, sums.shape[0]):
        for side in range(2):
            if leaf >= 0 and sums[leaf] < sums[node]:
                child = leaf
                leaf -= 1
            else:
                child = node
                node += 1
            children[i, side] = child
            parents[child] = i
        sums[i] = sums[children[i, 0]] + sums[children[i, 1]]


@inlined
def right_share(mean: F32, rows: F32, norms: F32, node: int) -> np.float32:
    """The probability of the second way from a node."""
    x = np.float32(0)
    if rows.shape[0] == 0:
        x = mean[node]
    else:
        for j in range(rows.shape[1]):
            x += mean[j] * rows[node, j]
        x *= norms[node]
    return np.float32(1 / (1 + np.float64(np.exp(-x))))


@inlined
def way_to(
    label: int, mean: F32, rows: F32, norms: F32, children: I32, parents: I32, nodes: I64
) -> np.float32:
    """The logarithm of a label's probability; less than that of LEAST is as little."""
    least = logarithm(np.float32(0))
    n = 0
    node = label
    while parents[node] >= 0:
        nodes[n] = node
        node = parents[node]
        n += 1
    score = np.float32(0)
    while n > 0 and score >= least:
        n -= 1
        share = right_share(mean, rows, norms, node - (parents.shape[0] + 1) // 2)
        if nodes[n] == children[node, 0]:
            share = np.float32(1 - np.float64(share))
        score = np.float32(score + logarithm(share))
        node = nodes[n]
    return score


@kernel
def tell_by_tree(
    means: F32, rows: F32, norms: F32, children: I32, parents: I32, scratch: Scratch, label: int,
    counts: I64, labels: I32, logs: F32,
) -> None:  # fmt: skip
    """As `tell`, by a tree; no label where all are less probable than LEAST.

    rows: (n_labels, width), of inner nodes; or (0, 0) if `means` have what each says.
    """
    n_labels = (parents.shape[0] + 1) // 2
    nodes, scores = scratch.nodes, scratch.scores
    least = logarithm(np.float32(0))
    for d in range(counts.shape[0]):
        labels[d] = -1
        if counts[d] == 0:
            continue
        if label >= 0:
            logs[d] = way_to(label, means[d], rows, norms, children, parents, nodes)
            labels[d] = label if logs[d] >= least else -1
            continue
        n = 1
        nodes[0] = parents.shape[0] - 1
        scores[0] = 0
        while n > 0:
            n -= 1
            node, score = nodes[n], scores[n]
            if score < least or (labels[d] >= 0 and score < logs[d]):
                continue
            if node < n_labels:
                labels[d] = node
                logs[d] = score
                continue
            share = right_share(means[d], rows, norms, node - n_labels)
            nodes[n + 1], nodes[n] = children[node]
            scores[n + 1] = score + logarithm(np.float32(1 - np.float64(share)))
            scores[n] = score + logarithm(share)
            n += 2
