"""Images that look alike, slowly: every pair, in order."""

import numpy as np

SIDE, COARSE = 16, 8


def parts(look):
    """Brightness, the two colours, and what is opaque."""
    look = np.asarray(look, np.float64)
    fine, rest = look[: SIDE * SIDE], look[SIDE * SIDE :]
    return fine.reshape(SIDE, SIDE), *rest.reshape(3, COARSE, COARSE)


def around(cells, row, column):
    near = cells[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
    return near.max() - near.min()


def alike(one, other):
    (x, *x_colours, x_alpha), (y, *y_colours, y_alpha) = parts(one), parts(other)
    if x.std() == 0 or y.std() == 0:
        return False
    gain = max(x.std() / y.std(), y.std() / x.std())
    colour = sorted(np.abs(np.array(c) - 128).mean() for c in (x_colours, y_colours))
    if colour[0] < 1 and colour[1] >= 2:  # one is the other's grey copy
        if gain > 1.1 or abs(x.mean() - y.mean()) > 8:
            return False
    elif gain > 1.5 or (np.abs(np.array(x_colours) - y_colours).sum(axis=0) > 40).any():
        return False
    both = x_alpha.min() < 255 and y_alpha.min() < 255
    if both and np.abs(x_alpha - y_alpha).max() > 48:
        return False
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return all(
        abs(a[at] - b[at]) - 0.15 * min(around(a, *at), around(b, *at)) <= 0.35
        for at in np.ndindex(SIDE, SIDE)
    )


def stars(hashes, looks, kinds, distance):
    """Of each image (the one it leaves for, bits), or None; hashes, looks: of its views."""
    gone = []
    for i, kind in enumerate(kinds):
        near = [
            ((h ^ k).bit_count(), j)
            for j in range(i)
            if gone[j] is None and kinds[j] == kind
            for v, h in enumerate(hashes[i])
            for w, k in enumerate(hashes[j])
            if 0 in (v, w) and (h ^ k).bit_count() <= distance and alike(looks[i][v], looks[j][w])
        ]
        gone.append(min(near)[::-1] if near else None)
    return gone


def same_picture(one, other, distance):
    """Of two pictures, (who, kind, hash, look): who is (0, 0) and kind 0 where there is none."""
    (who, kind, bits, look), (other_who, other_kind, other_bits, other_look) = one, other
    if any(who) and tuple(who) == tuple(other_who):
        return True
    near = kind == other_kind != 0 and (bits ^ other_bits).bit_count() <= distance
    return near and alike(look, other_look)


def same_pictures(some, others, distance):
    return all(
        any(same_picture(one, other, distance) for other in of)
        for these, of in ((some, others), (others, some))
        for one in these
    )
