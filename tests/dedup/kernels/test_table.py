"""Hashes of bytes, tables by them and filters, beside whole numbers of Python."""

from bisect import bisect_left
from itertools import product

import numpy as np
import pytest

from tests.dedup.kernels.plain import plain
from tokenmill.dedup.kernels import swar, table

MASK = (1 << 64) - 1
FOLD, FIRST, FINAL = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SPREAD = 0xD6E8FEB86659FD93
SOME = [0, 1, 2, 0x7F, 0x80, 1 << 31, 1 << 32, 1 << 63, FOLD, FIRST, MASK - 1, MASK]
BYTES = np.random.default_rng(0).integers(0, 256, 40, dtype=np.uint8)
ENDS = [(start, stop) for start, stop in product(range(20), range(33)) if start <= stop]


def little(data):
    return int.from_bytes(data.tobytes(), "little")


def mixed(h):
    h = (h ^ h >> 32) * FINAL & MASK
    return (h ^ h >> 32) | 1


def folded(h, chunk):
    h = (h ^ chunk) * FOLD & MASK
    return h ^ h >> 32


def test_eight_bytes_are_one_number():
    for at in (0, 1, 32):
        assert plain(swar.eight)(BYTES, np.uint64(at)) == little(BYTES[at : at + 8])
    for x, n in product(SOME, range(1, 9)):
        assert plain(swar.first_of)(np.uint64(x), np.uint64(n)) == x & ((1 << 8 * n) - 1)


def test_bits_are_counted_and_bytes_before_the_first_flag():
    for x in (*SOME, *(1 << k for k in range(64)), *((1 << k) - 1 for k in range(64))):
        assert plain(swar.n_bits)(np.uint64(x)) == x.bit_count()
    for at, more in product(range(8), (0, 0x8080 << 48, 1 << 63)):
        flags = np.uint64(0x80 << 8 * at | more >> 8 * (7 - at) << 8 * (7 - at))
        assert plain(swar.bytes_below)(flags) == min(
            k for k in range(8) if int(flags) >> 8 * k & 128
        )


def test_whole_eights_without_a_bit_are_skipped():
    bits = np.uint64(0x8080808080808080)
    for start, stop in ENDS:
        for odd in {*range(start, stop, 3), stop}:
            data = np.full(40, 0x7F, np.uint8)
            data[odd] = 0xFF
            whole = (min(odd, stop) - start) // 8 * 8
            assert plain(swar.skip)(data, start, stop, bits) == start + whole


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
def test_as_many_are_less_as_python_finds(dtype):
    ascending = [1, 3, 3, 3, 7, 9]
    for n, x in product(range(7), range(11)):
        array = np.array(ascending[:n], dtype)
        assert plain(table.n_less)(array, dtype(x)) == bisect_left(ascending[:n], x)


def finalized(h):
    h = (h ^ h >> 30) * FIRST & MASK
    h = (h ^ h >> 27) * FINAL & MASK
    return (h ^ h >> 31) or 1


def test_hashes_are_what_they_were_and_never_that_of_an_empty_slot():
    for x in SOME:
        assert plain(table.mixed)(np.uint64(x)) == mixed(x) != 0
        assert plain(table.finalized)(np.uint64(x)) == finalized(x) != 0
        for chunk in SOME:
            assert plain(table.folded)(np.uint64(x), np.uint64(chunk)) == folded(x, chunk)


def test_a_slice_has_one_hash_wherever_it_stands():
    for start, stop in ENDS:
        size, at = stop - start, start
        data, ends = BYTES[start:stop], (np.uint64(start), np.uint64(stop))
        if size:
            h = size * FINAL & MASK
            while at + 8 < stop:
                h, at = folded(h, little(BYTES[at : at + 8])), at + 8
            told = plain(table.slice_key)(BYTES, *ends)
            assert told == mixed(folded(h, little(BYTES[at:stop])))
        h, at = size * FOLD & MASK, start
        while size >= 8 and at + 8 < stop:
            h, at = folded(h, little(BYTES[at : at + 8])), at + 8
        last = little(data[-8:])
        told = plain(table.piece_key)(BYTES, *ends)
        assert told == mixed((h ^ last) * FOLD & MASK)
        assert plain(table.piece_key)(BYTES[:stop], *ends) == told  # with nothing behind it


def test_a_table_is_at_most_half_full():
    for n in (0, 1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025):
        bits = int(plain(table.table_bits)(np.uint64(n)))
        assert 1 << bits >= 2 * n
        assert bits == 2 or 1 << (bits - 1) < 2 * n


def test_a_key_is_found_where_it_was_put():
    keys, bits = np.zeros(8, np.uint64), np.uint64(3)
    put = [
        k << 61 | 5 for k in (0, 7, 7, 7, 3)
    ]  # three of one slot, the last of them behind the end
    put = [key + n for n, key in enumerate(put)]
    slots = []
    for key in put:
        slots.append(int(plain(table.slot_of)(keys, bits, np.uint64(key))))
        keys[slots[-1]] = key
    assert slots == [0, 7, 1, 2, 3]
    assert [int(plain(table.slot_of)(keys, bits, np.uint64(key))) for key in put] == slots


def test_a_filter_has_two_bits_of_each_hash():
    shift, bitmap = 60, np.zeros(16, np.uint64)
    plain(table.mark)(np.array(SOME, np.uint64), bitmap, np.uint64(shift))
    wanted = [0] * 16
    for h in SOME:
        spread = h * SPREAD & MASK
        bits = 1 << (spread >> 24 & 63) | 1 << (spread >> 30 & 63)
        assert plain(table.bits_of)(np.uint64(spread)) == bits
        wanted[spread >> shift] |= bits
    assert bitmap.tolist() == wanted
