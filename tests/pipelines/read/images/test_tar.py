"""The own tar walker finds what Python's finds, and names where a tar is damaged."""

import contextlib
import io
import tarfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.read.images.shards import tar_bytes
from tokenmill.pipelines.read.images.tar import RECORD, Member, Tar
from tokenmill.pipelines.read.stream import DamagedError

FORMATS = {
    "ustar": tarfile.USTAR_FORMAT,
    "gnu": tarfile.GNU_FORMAT,
    "pax": tarfile.PAX_FORMAT,
}
TYPES = {
    "link": (tarfile.LNKTYPE, tarfile.SYMTYPE),
    "device": (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE),
    "folder": (tarfile.DIRTYPE,),
}
MARK = 2 * RECORD  # two records of zeros end a tar


def blocks(data: bytes, size: int):
    return (data[i : i + size] for i in range(0, len(data), size))


def walked(
    data: bytes, block_bytes: int = 1 << 20
) -> tuple[list[tuple[str, str, bytes]], list[str]]:
    """Name, kind and bytes of each member, and what is noted of the tar."""
    tar = Tar(blocks(data, block_bytes))
    members = [(m.name, m.kind, bytes(tar.data(m)) if m.kind == "file" else b"") for m in tar]
    return members, tar.notes


def of_python(data: bytes) -> list[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(m.name, tar.extractfile(m).read() if m.isreg() else b"") for m in tar]


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\0/", exclude_categories=["Cs"]),
    min_size=1,
    max_size=30,
)
paths = st.lists(names, min_size=1, max_size=12).map("/".join).filter(lambda p: p.strip("./") == p)
members = st.lists(st.tuples(paths, st.binary(max_size=1500)), max_size=6)


@pytest.mark.parametrize("kind", ["gnu", "pax"])
@given(members=members, block_bytes=st.integers(1, 3000))
@example(members=[], block_bytes=7)
@example(members=[("a" * 101, b"x"), ("b" * 5000, b"")], block_bytes=512)
def test_every_member_is_found_as_python_finds_it(kind, members, block_bytes):
    data = tar_bytes(members, kind=FORMATS[kind])
    found, notes = walked(data, block_bytes)
    assert found == [(name, "file", content) for name, content in members]
    assert [(name, content) for name, _, content in found] == of_python(data)
    assert notes == []


@given(
    members=st.lists(
        st.tuples(st.text("ab/", max_size=200).map(lambda t: f"{t}c"), st.binary(max_size=9)),
        max_size=4,
    )
)
def test_names_in_two_fields_are_put_together(members):
    fitting = []
    for name, content in members:
        with contextlib.suppress(ValueError):  # ustar has no place for it
            tar_bytes([(name, content)])
            fitting.append((name, content))
    found = walked(tar_bytes(fitting))[0]
    assert [(name, content) for name, _, content in found] == fitting


@pytest.mark.parametrize("kind", FORMATS)
def test_places_are_those_of_the_bytes_in_the_file(kind):
    data = tar_bytes({"a.jpg": b"one", "b" * 90: b"two" * 400, "c": b""}, kind=FORMATS[kind])
    places = {m.name: data[m.at : m.at + m.size] for m in Tar(iter([data]))}
    assert places == {"a.jpg": b"one", "b" * 90: b"two" * 400, "c": b""}


def test_members_that_are_no_files_have_a_kind_and_no_bytes():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for kind, types in TYPES.items():
            for type_ in types:
                info = tarfile.TarInfo(f"{kind}{type_.decode()}")
                info.type, info.linkname, info.size = type_, "x" * 150, 70_000
                tar.addfile(info)
        tar.addfile(tarfile.TarInfo("last"))
    kinds = [(name.rstrip("/0123456789"), kind) for name, kind, _ in walked(out.getvalue())[0]]
    expected = [kind for kind, types in TYPES.items() for _ in types]
    assert kinds == [*((kind, kind) for kind in expected), ("last", "file")]


def test_types_unknown_are_passed_over_with_their_bytes():
    for type_ in (b"V", b"D", b"M", b"Z"):
        data = tar_bytes({"a": bytes(700), "b": b"2"})
        changed = with_header(data, 0, {156: type_})
        assert walked(changed)[0] == [("a", "unknown_type", b""), ("b", "file", b"2")]


def test_sparse_files_are_told_and_passed_over():
    old = bytearray(
        with_header(tar_bytes({"a": bytes(700), "b": b"2"}), 0, {156: b"S", 482: b"\1"})
    )
    more = bytearray(RECORD)
    more[504] = 1
    old[RECORD:RECORD] = bytes(more) + bytes(RECORD)
    assert walked(bytes(old))[0] == [("a", "sparse", b""), ("b", "file", b"2")]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("a")
        info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
        info.size = 600
        tar.addfile(info, io.BytesIO(bytes(600)))
    assert walked(out.getvalue())[0] == [("a", "sparse", b"")]


def test_sizes_in_base_256_and_in_pax_headers_are_read():
    data = tar_bytes({"a": b"x" * 700, "b": b"2"})
    size = b"\x80" + (700).to_bytes(11)
    assert walked(with_header(data, 0, {124: size}))[0][0] == ("a", "file", b"x" * 700)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("a")
        info.pax_headers, info.size = {"size": "700", "comment": "ä"}, 700
        tar.addfile(info, io.BytesIO(b"x" * 700))
    at = out.getvalue().index(b"a\0")
    changed = with_header(out.getvalue(), at, {124: b"00000000000\0"})
    assert walked(changed)[0] == [("a", "file", b"x" * 700)]


def test_old_tars_have_folders_without_a_type_and_signed_sums():
    data = with_header(tar_bytes({"äöü/": b"", "b": b"2"}), 0, {156: b"\0"}, signed=True)
    assert walked(data)[0] == [("äöü/", "folder", b""), ("b", "file", b"2")]


def test_a_name_that_is_not_utf8_stays_apart_from_others():
    data = with_header(tar_bytes({"a": b"1", "b": b"2"}), 0, {0: b"\xff"})
    assert [name for name, _, _ in walked(data)[0]] == ["\\xff", "b"]


def test_joined_tars_are_read_on():
    one, two = tar_bytes({"a": b"1"}), tar_bytes({"b": b"2"})
    assert walked(one + two) == ([("a", "file", b"1"), ("b", "file", b"2")], ["joined_tars"])


@pytest.mark.parametrize("rest", [b"x", b"x" * 5000, b"\0" * RECORD + b"x"])
def test_what_follows_the_end_is_noted(rest):
    assert walked(tar_bytes({"a": b"1"}) + rest) == ([("a", "file", b"1")], ["trailing_bytes"])


def test_one_record_of_zeros_ends_a_tar_too():
    assert walked(tar_bytes({"a": b"1"})[: 3 * RECORD]) == ([("a", "file", b"1")], [])


@given(st.data())
def test_a_tar_cut_short_gives_whole_members_and_names_the_place(data):
    there = [("a.jpg", b"x" * 700), ("b" * 120, b"y" * 30), ("c", b"")]
    whole = tar_bytes(there, kind=tarfile.GNU_FORMAT).rstrip(b"\0")
    whole += bytes(-len(whole) % RECORD)
    cut = data.draw(st.integers(0, len(whole)))
    tar = Tar(blocks(whole[:cut], data.draw(st.integers(1, 2000))))
    found = []
    with pytest.raises(DamagedError) as e:
        for member in tar:
            found.append((member.name, bytes(tar.data(member))))
    assert found == there[: len(found)]
    ends = {0: 0, 1: 3 * RECORD, 2: 7 * RECORD, 3: 8 * RECORD}
    assert (e.value.cause == "unended_tar") == (cut in ends.values())
    assert e.value.cause in ("unended_tar", "truncated_tar")
    assert f"at byte {cut}" in str(e.value)


@pytest.mark.parametrize("at", [0, 10, 130, 150, 300])
def test_a_header_that_is_none_ends_the_tar_with_its_place(at):
    data = bytearray(tar_bytes({"a": b"1", "b": b"2"}))
    data[2 * RECORD + at] ^= 0x41
    tar = Tar(iter([bytes(data)]))
    found = []
    with pytest.raises(DamagedError, match="no header of a tar at byte 1024") as e:
        for member in tar:
            found.append(member.name)
    assert (found, e.value.cause) == (["a"], "damaged_tar")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({124: b"0000000x000\0"}, "no size in the header at byte 0"),
        ({124: b"\xff" * 12}, "no size in the header at byte 0"),
        ({124: b"\x80" + b"\xff" * 11}, "no size in the header at byte 0"),
        ({156: b"L", 124: b"77777777777\0"}, "a header of 8589934591 bytes"),
        ({156: b"x"}, "a pax header that is none"),
        ({156: b"g", 124: b"77777777777\0"}, "a header of 8589934591 bytes"),
    ],
)
def test_headers_that_say_what_cannot_be_are_refused(changes, message):
    data = with_header(tar_bytes({"a": b"1"}), 0, changes)
    with pytest.raises(DamagedError, match=message):
        walked(data)


@pytest.mark.parametrize(
    "pax",
    [
        b"9 path=a\n\0\0",
        b"10 path=a",
        b"99999999 path=a\n",
        b"9 size=x\n",
        b"path=a\n",
        b"7 patha\n",
    ],
)
def test_pax_headers_that_are_none_are_refused(pax):
    data = tar_bytes({"h": pax, "a": b"1"})
    headed = with_header(data, 0, {156: b"x"})
    if pax == b"9 path=a\n\0\0":  # padded, as some writers do
        assert walked(headed)[0] == [("a", "file", b"1")]
    else:
        with pytest.raises(DamagedError, match="pax header"):
            walked(headed)


@given(st.data())
def test_no_bytes_crash_it(data):
    made = bytearray(tar_bytes({"a": b"1" * 600, "b" * 150: b"2"}, kind=tarfile.GNU_FORMAT))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, 3 * RECORD))
        made[at] = data.draw(st.integers(0, 255))
    fixed = with_header(bytes(made), 0, {}) if data.draw(st.booleans()) else bytes(made)
    with contextlib.suppress(DamagedError):
        walked(fixed, 700)


def test_a_long_member_that_nobody_takes_is_passed_over_in_bounded_memory():
    header = with_header(
        tar_bytes({"a": b"", "b": b"2"})[:RECORD], 0, {124: b"\x80" + (1 << 40).to_bytes(11)}
    )
    tar = Tar(iter([header, b"x" * 10]))
    assert next(iter(tar)) == Member("a", "file", RECORD, 1 << 40)


def with_header(data: bytes, at: int, changes: dict[int, bytes], *, signed: bool = False) -> bytes:
    """A tar with other bytes in the header at byte `at`, its sum made right again."""
    header = bytearray(data[at : at + RECORD])
    for place, value in changes.items():
        header[place : place + len(value)] = value
    header[148:156] = b" " * 8
    total = sum(b - 256 if signed and b > 127 else b for b in header)
    header[148:156] = b"%06o\0 " % total
    return data[:at] + bytes(header) + data[at + RECORD :]


def test_shared_tars_are_walked_as_python_walks_them(shared_data):
    found = sorted((shared_data / "images").rglob("*.tar"))
    assert len(found) == 6
    for path in found:
        data = path.read_bytes()
        ours = [(name.rstrip("/"), content) for name, _, content in walked(data, 4096)[0]]
        assert ours == of_python(data), path.name
