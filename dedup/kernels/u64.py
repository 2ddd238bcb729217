"""Numbers to reckon with beside a uint64: with an int64 Numba makes a float of it.

Kernels number bytes and slots in uint64, too: a signed index is tested for being negative at each
use, which makes the loop over letters of `kernels.words` 3 times slower.
"""

import numpy as np

ZERO, ONE, TWO, THREE, FOUR = map(np.uint64, range(5))
SIX, SEVEN, EIGHT, U64_32, U64_56, U64_63, U64_64 = map(np.uint64, (6, 7, 8, 32, 56, 63, 64))
