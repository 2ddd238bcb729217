"""Who leaves as a near duplicate of whom: every pair, in the order of the documents."""

from fractions import Fraction


def leaving(sets, keys, verify, n_earlier=0, same=lambda x, y: True):
    """{row: (row it leaves for, similarity)}.

    sets: of shingles.  keys: of each document, band by band; 0 is none.  verify: a decimal's text.
    n_earlier: documents of earlier runs, which stay.  same: whether two may be taken for one.
    """
    gone = {}
    for y in range(n_earlier, len(sets)):
        alike = []
        for x in range(y):
            met = any(a == b != 0 for a, b in zip(keys[x], keys[y], strict=True))
            if x not in gone and met and same(x, y):
                jaccard = Fraction(len(sets[x] & sets[y]), len(sets[x] | sets[y]))
                if jaccard >= Fraction(verify):
                    alike.append((-jaccard, x))
        if alike:
            jaccard, x = min(alike)
            gone[y] = x, -jaccard
    return gone
