"""What chance decides of documents, one after the other, in whole numbers and fractions."""

from fractions import Fraction

import xxhash

ONE = 1 << 32
WORD = 1 << 64


def state(name, seed):
    return xxhash.xxh3_64_intdigest(name.encode(), seed=seed)


def number(begin, nth):
    """The n-th number of a SplitMix64 generator, by stepping it."""
    z = 0
    for _ in range(nth):
        begin = (begin + 0x9E3779B97F4A7C15) % WORD
        z = begin
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
        z ^= z >> 31
    return z


def draw(name, seed):
    return Fraction(number(state(name, seed), 1) // ONE, ONE)


def copies(name, seed, weight, epochs):
    """The epoch of each copy of a document, in order."""
    step = Fraction(round(weight * ONE), ONE)
    place, found = draw(name, seed), []
    while place < epochs * step:
        (epoch,) = [e for e in range(epochs) if e * step <= place < (e + 1) * step]
        found.append(epoch)
        place += 1
    return found


def mixed(documents, seed, weights, epochs, salts=None):
    """Numbers of documents in the order of the dataset.

    documents: their ids.  weights: of each.  salts: of each, what is added to its state.
    """
    placed = []
    for i, name in enumerate(documents):
        begin = (state(name, seed) + (salts[i] if salts else 0)) % WORD
        for nth, epoch in enumerate(copies(name, seed, weights[i], epochs)):
            placed.append((epoch, number(begin, nth + 2), i))
    return [i for _, _, i in sorted(placed)]
