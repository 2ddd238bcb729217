"""SHA-1 of many short spans of bytes, the first half of its words."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U32, U64, inlined, kernel

BLOCK = 64
LENGTH_AT = 56  # of the last block: the number of bits, 8 bytes, highest first
END = 0x80  # stands behind the message
H0 = np.uint32(0x67452301)
H1 = np.uint32(0xEFCDAB89)
H2 = np.uint32(0x98BADCFE)
H3 = np.uint32(0x10325476)
H4 = np.uint32(0xC3D2E1F0)
K0 = np.uint32(0x5A827999)
K1 = np.uint32(0x6ED9EBA1)
K2 = np.uint32(0x8F1BBCDC)
K3 = np.uint32(0xCA62C1D6)


@inlined
def rotated(x: np.uint32, n: int) -> np.uint32:
    """To the left."""
    return np.uint32((x << np.uint32(n)) | (x >> np.uint32(32 - n)))


@inlined
def swapped(x: np.uint32) -> np.uint64:
    """The bytes of a word the other way round."""
    low = (x >> np.uint32(24)) | ((x >> np.uint32(8)) & np.uint32(0xFF00))
    return np.uint64(
        np.uint32(low | ((x & np.uint32(0xFF00)) << np.uint32(8)) | (x << np.uint32(24)))
    )


@kernel
def sha1_words(data: U8, offsets: I64, tail: U8, w: U32, out: U64) -> None:
    """Set `out[i]` to the first 8 bytes, as they lie, of the digest of span i.

    data, offsets: span `i` at `data[offsets[i]:offsets[i + 1]]`.
    tail: (64,), scratch: the end of a message.  w: (80,), scratch.  out: (n,).
    Source: FIPS 180-4, section 6.1.
    """
    for span in range(out.shape[0]):
        start = offsets[span]
        n = offsets[span + 1] - start
        h0, h1, h2, h3, h4 = H0, H1, H2, H3, H4
        for block in range((n + 8) // BLOCK + 1):
            at = block * BLOCK
            if at + BLOCK <= n:
                for t in range(16):
                    i = start + at + 4 * t
                    w[t] = np.uint32(
                        (np.uint32(data[i]) << np.uint32(24))
                        | (np.uint32(data[i + 1]) << np.uint32(16))
                        | (np.uint32(data[i + 2]) << np.uint32(8))
                        | np.uint32(data[i + 3])
                    )
            else:
                left = max(n - at, 0)
                tail[:] = 0
                for j in range(left):
                    tail[j] = data[start + at + j]
                if n >= at:
                    tail[left] = END
                if left < LENGTH_AT:
                    bits = n * 8
                    for j in range(8):
                        tail[LENGTH_AT + j] = (bits >> (56 - 8 * j)) & 0xFF
                for t in range(16):
                    w[t] = np.uint32(
                        (np.uint32(tail[4 * t]) << np.uint32(24))
                        | (np.uint32(tail[4 * t + 1]) << np.uint32(16))
                        | (np.uint32(tail[4 * t + 2]) << np.uint32(8))
                        | np.uint32(tail[4 * t + 3])
                    )
            for t in range(16, 80):
                w[t] = rotated(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1)
            a, b, c, d, e = h0, h1, h2, h3, h4
            for t in range(20):
                f = np.uint32((b & c) | (~b & d))
                a, b, c, d, e = (
                    np.uint32(rotated(a, 5) + f + e + K0 + w[t]), a, rotated(b, 30), c, d
                )  # fmt: skip
            for t in range(20, 40):
                f = np.uint32(b ^ c ^ d)
                a, b, c, d, e = (
                    np.uint32(rotated(a, 5) + f + e + K1 + w[t]), a, rotated(b, 30), c, d
                )  # fmt: skip
            for t in range(40, 60):
                f = np.uint32((b & c) | (b & d) | (c & d))
                a, b, c, d, e = (
                    np.uint32(rotated(a, 5) + f + e + K2 + w[t]), a, rotated(b, 30), c, d
                )  # fmt: skip
            for t in range(60, 80):
                f = np.uint32(b ^ c ^ d)
                a, b, c, d, e = (
                    np.uint32(rotated(a, 5) + f + e + K3 + w[t]), a, rotated(b, 30), c, d
                )  # fmt: skip
            h0, h1, h2 = np.uint32(h0 + a), np.uint32(h1 + b), np.uint32(h2 + c)
            h3, h4 = np.uint32(h3 + d), np.uint32(h4 + e)
        out[span] = swapped(h0) | (swapped(h1) << np.uint64(32))
