"""Lines of a stream are those of the whole, however it is cut into blocks, pieces and shards."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.strategies import examples
from tokenmill.pipelines.read.lines import (
    LineGroup,
    Lines,
    LostLine,
    first_byte,
    in_limits,
    is_overfull,
    read_lines,
)
from tokenmill.pipelines.read.stream import DamagedError

TEXT = st.lists(st.sampled_from([b"\n", b"a", b"bb", b"cccc"]), max_size=20).map(b"".join)
CUTS = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=9)


def blocks_of(data, cuts, damage):
    """The bytes in blocks of pieces as long as they are told, the rest as one."""
    at = 0
    for sizes in [*cuts, [len(data)]]:
        pieces = []
        for size in sizes:
            pieces += [data[at : at + size]] if data[at : at + size] else []
            at += size
        if pieces:
            yield pieces
    if damage:
        raise DamagedError("odd", "it breaks off")


def flat(found):
    for one in found:
        if isinstance(one, LostLine):
            yield one.offset, (one.cause, one.bytes)
        else:
            yield from one.pairs()


def expected(data, start, stop, most, damage):
    """By lines of the whole; the last, if it has no end, is one unless it is empty."""
    at, lines = 0, data.split(b"\n")
    for i, line in enumerate(lines):
        is_last = i == len(lines) - 1
        if at >= start and (stop is None or at < stop) and (line or not is_last or damage):
            if is_last and damage:
                yield at, ("odd", len(line))
            else:
                yield at, ("too_large", len(line)) if len(line) > most else line
        at += len(line) + 1


@settings(max_examples=examples(500, 80))
@given(TEXT, CUTS, st.integers(0, 9), st.none() | st.integers(1, 12), st.integers(0, 5),
       st.booleans())  # fmt: skip
@example(b"a\nbb\n\ncccc\n", [[2, 1], [4]], 2, 6, 3, False)
def test_lines_are_those_of_the_whole(data, cuts, start, stop, most, damage):
    blocks = blocks_of(data[first_byte(start) :], cuts, damage)
    found = list(read_lines(blocks, start=start, stop=stop, max_bytes=most))
    assert list(flat(found)) == list(expected(data, start, stop, most, damage))


@given(TEXT.map(lambda data: data.strip(b"\n")), st.integers(0, 5))
def test_a_line_over_a_limit_is_known(data, most):
    lines = data.split(b"\n")
    is_over = any(len(line) > most for line in lines)
    assert Lines(7, data).has_over(most) == LineGroup(7, lines).has_over(most) == is_over
    assert list(Lines(7, data).pairs()) == list(LineGroup(7, lines).pairs())


MIB = 2**20


@pytest.mark.parametrize(
    ("line", "overfull"),
    [
        (b"[" + b"0," * (MIB - 1) + b"0]", False),
        (b"[" + b"0," * MIB + b"0]", True),
        (b"{" + b"0:0," * (MIB // 2) + b"}", False),
        (b"{" + b"0:0," * (MIB // 2) + b"0:0}", True),
        (b'["' + b"," * 2 * MIB + b'"]', False),
        (b'["' + b'\\",' * MIB + b'"]', False),
        (b'["\\\\",' + b"0," * MIB + b"0]", True),
        (b"," * (MIB - 1), False),
        (b"[" * (MIB + 1), True),
    ],
    ids=range(9),
)
def test_a_line_has_up_to_a_mebi_of_values(line, overfull):
    assert is_overfull(line) == overfull
    (found,) = in_limits(Lines(5, line), 2**30)
    said = "a line of over 1,048,576 JSON values; leave out what is not text"
    told = LostLine(5, "too_many_values", said, len(line))
    assert found == (told if overfull else Lines(5, line))


def test_wide_lines_stand_alone_and_too_long_ones_are_told():
    wide, narrow = b"w" * (MIB + 1), b"n"
    found = list(in_limits(Lines(0, b"\n".join([narrow, narrow, wide, narrow, wide])), MIB + 1))
    at = 4 + len(wide) + 1
    assert found == [Lines(0, b"n\nn"), Lines(4, wide), Lines(at, narrow), Lines(at + 2, wide)]
    _, lost, _ = in_limits(Lines(0, b"\n".join([narrow, wide, narrow, b"w" * MIB])), MIB)
    told = f"a line of {MIB + 1} bytes, limits.max_document_bytes is {MIB}"
    assert lost == LostLine(2, "too_large", told, MIB + 1)
