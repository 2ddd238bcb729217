"""Lines of JSON: a kernel and orjson give what orjson alone gives, whatever is in them."""

import json

import orjson
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.reference import objects as reference
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.json_array import is_no_lines
from tokenmill.pipelines.read.jsonl import read_jsonl
from tokenmill.pipelines.read.lines import Lines
from tokenmill.pipelines.read.objects import Scanner
from tokenmill.pipelines.read.options import BATCH_DOCS, Limits, Reading

LETTERS = st.text(
    st.sampled_from(
        'ab"\\/\b\f\n\r\t\x00\x1f\x7fé\u0800\u2028\ud7ff\ue000\uffff\U00010000\U0010ffff'
    )
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**25), 10**25),
    st.integers(0, 10**19),
    st.floats(allow_nan=False),
    LETTERS,
)
VALUES = st.recursive(
    SCALARS, lambda of: st.lists(of, max_size=3) | st.dictionaries(LETTERS, of, max_size=3)
)
KEYS = st.sampled_from(["text", "id", "url", "tex", "texts", "i", "meta", "", "é"])
OBJECTS = st.builds(
    lambda text, more: {"text": text} | more, LETTERS, st.dictionaries(KEYS, VALUES, max_size=4)
)
WRITTEN = st.builds(
    lambda value, ascii_, between: json.dumps(value, ensure_ascii=ascii_, separators=between),
    OBJECTS,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), ("\t,\r", " :  ")]),
).map(str.encode)
HOSTILE = [
    rb'{"text": "a", "text": "b"}', rb'{"id": 1, "text": "a", "id": null}', rb'{"text": null}',
    rb'{"te\u0078t": "a", "text": "b"}', rb'{"te\u0078t": "a"}', rb'{"text": "\ud83d\ude00\/"}',
    rb'{"text": "\ud83d"}', rb'{"text": "\ude00"}', rb'{"text": "\ud83d\u0041"}',
    rb'{"text": "a", "x": "\ud83d"}', rb'{"text": "a", "\ude00": 1}', rb'{"text": "\u00e"}',
    rb'{"text": "\x"}', rb'{"text": "\u00zz"}', rb'{"text": "\u0000\u001F\uABcd"}',
    b'{"text": "a\x00b"}', b'{"text": "a\tb"}', b'{"text": "a\x7fb"}', b'{"text": "a"}\x00',
    b'\x0c{"text": "a"}', b'{"text": "a"}\x0b', b"\x0b", b"\x0c \t\r", b" \t\r",
    b'\r{"text":"a"}\r', b'{"text": "a", "x": "\xff"}', b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\xc0\xaf"}', b'{"text": "a", "\xf5": 1}', b'\xef\xbb\xbf{"text": "a"}',
    b'{"text": "\xf4\x8f\xbf\xbf"}', b'{"text": NaN}', b'{"text": "a", "x": NaN}',
    b'{"text": "a", "x": -Infinity}', b'{"text": "a", "id": 00}', b'{"text": "a", "id": -0}',
    b'{"text": "a", "id": 0}', b'{"text": "a", "id": 1.50}', b'{"text": "a", "id": 1e5}',
    b'{"text": "a", "id": -7}', b'{"text": "a", "id": 18446744073709551616}',
    b'{"text": "a", "id": 1.}', b'{"text": "a", "x": .5}', b'{"text": "a", "x": +1}',
    b'{"text": "a", "x": 1e}', b'{"text": "a", "x": 1e+}', b'{"text": "a", "x": 1E-05}',
    b'{"text": "a", "x": 1e400}', b'{"text": "a", "x": 1e-400}', b'{"text": "a", "x": -}',
    b'{"text": "a", "x": 1%s}' % (b"0" * 400), b'{"text": "a", "x": 01}',
    b'{"text": "a", "x": -01}', b'{"text": "a", "x": 0.0}', b'{"text": "a", "id": true}',
    b'{"text": "a", "id": "\\u0041\\n"}', b'{"text": "a", "id": ""}',
    b'{"text": "a", "id": [1, {"b": 2}]}', b'{"text": "a", "url": ["b"]}',
    b'{"text": "a", "url": 5}', b'{"text": "a", "url": "http:\\/\\/b"}',
    b'{"text": "a", "url": null}', b'{"text": {"text": "a"}}',
    b'{"text": "a", "x": {"text": "b", "id": 5}}', b'{"x": [{"text": "b"}], "text": "a"}',
    b'{"text": "a", "x": {"a": 1, "a": 2}}', b'{"text": "a", "x": tru}',
    b'{"text": "a", "x": nul}', b'{"text": "a", "x": truee}', b'{"text": "a", "x": falsy}',
    b'{"text": "a" "x": 1}', b'{"text": "a",}', b'{,"text": "a"}', b'{"text": "a",, "x": 1}',
    b'{"text": "a", "x": [1,]}', b'{"text": "a", "x": [,1]}', b'{"text": "a", "x": [1 2]}',
    b'{"text": "a", "x": [1}}', b'{"text": "a", "x": {"y": 1]}', b'{"text": "a", "x": {1: 2}}',
    b'{"text": "a", "x": {"y"}}', b'{"text": "a", "x": []}', b'{"text": "a", "x": {}}',
    b'{"text": "a", "x": [ ]}', b"{}", b"{ }", b'{"text": "a", "x": [[[{"y": [{}]}]]]}',
    b'{"text" "a"}', b'{"text":}', b'{"text', b'{"text": "a', b'{"text": "a\\',
    b'{"text": "a\\u00', b'{"text": "a"', b'{"text": "a"}}', b'{"text": "a"} x',
    b'{"text": "a"} {"text": "b"}', b'[["text"]]', b'"text"', b"7", b"null", b"{", b"x", b"",
    *(b'{"text": "a", "x": %s%s}' % (b"[" * n, b"]" * n) for n in (58, 59, 60, 61, 1024, 2000)),
    *(b'{"text": "%s", "id": "%s"}' % (b"x" * n + b"\\n" * (n % 3), b"y" * n) for n in range(18)),
]  # fmt: skip
LINES = st.one_of(WRITTEN, st.sampled_from(HOSTILE), st.builds(
    lambda line, at, byte: line[: at % (len(line) + 1)] + byte + line[at % (len(line) + 1) + 1 :],
    WRITTEN, st.integers(0, 200), st.binary(max_size=2),
).map(lambda line: line.replace(b"\n", b" ")))  # fmt: skip
REASONS = ("invalid_json", "invalid_utf8", "missing_text", "text_not_string")


def shard_of(path, **names):
    names = {"text": "text", "id": "id", "url": "url", **names}
    return SourceShard(
        key="k", ordinal=0, input=0, source="s", format="jsonl", paths=(str(path),),
        names=(path.name,), compression=None, images=None, start=0, stop=None, **names
    )  # fmt: skip


def read(path, data, shard):
    """What came of each line, in order, as the reference tells it."""
    path.write_bytes(data)
    told = {}
    for batch in read_jsonl(shard, Reading(Limits())):
        batch.documents.validate(full=True)
        for row in batch.documents.to_pylist():
            told[row["doc_id"]] = row["id"], row["url"], row["text"]
        for row in batch.failed.to_pylist():
            told[row["doc_id"]] = row["id"], row["reason"], row["detail"]
    assert sorted(told) == list(range(len(told)))
    return [told[i] for i in sorted(told)]


def check(path, data, **names):
    shard = shard_of(path, **names)
    expected = reference.documents(data, shard)
    found = read(path, data, shard)
    assert [of[:2] for of in found] == [of[:2] for of in expected]
    for (_, reason, got), (*_, right) in zip(found, expected, strict=True):
        said = " ".join(right.split())[:200]
        byte = reason == "invalid_utf8" and "of the line, 0x" in got  # orjson does not tell which
        assert got == right or (reason in REASONS and (said in got or byte))


@given(lines=st.lists(LINES, max_size=8), ended=st.booleans())
@example(lines=[b'\xef\xbb\xbf{"text": "a"}', b'\xef\xbb\xbf{"text": "b"}'], ended=True)
@example(lines=[b"", b'{"text": "a"}', b"", b""], ended=True)
def test_lines_are_what_orjson_makes_of_them(tmp_path_factory, lines, ended):
    data = b"\n".join(lines) + b"\n" * ended
    assume(not is_no_lines(data))  # `test_json_array` has those whose first line is left open
    check(tmp_path_factory.mktemp("lines") / "d.jsonl", data)


@pytest.mark.parametrize("around", [[], [b'{"text": "before"}'], [b'{"te\\u0078t": "odd"}']])
def test_hostile_lines_are_what_orjson_makes_of_them(tmp_path, around):
    for line in HOSTILE:
        check(tmp_path / "d.jsonl", b"\n".join([*around, line, *around]))
    check(tmp_path / "d.jsonl", b"\n".join(line for line in HOSTILE if line.isascii()))


@pytest.mark.parametrize(
    "names", [{"text": "id", "id": None}, {"id": "text"}, {"id": "url"}, {"text": "", "id": "é"}]
)
def test_names_may_be_any(tmp_path, names):
    lines = [json.dumps({k: k, "id": "c", "": "b"}).encode() for k in ("text", "id", "url", "é")]
    check(tmp_path / "d.jsonl", b"\n".join(lines), **names)


PLAIN = [
    b'{"text": "a\\n\\u00e9\\ud83d\\ude00", "id": "b\\/", "url": "c"}', b' {"id":7,"text":""} \r',
    b'{"meta": {"text": [1, -2.5e10, true, {"id": null}], "b": {}}, "text": "a", "id": null}',
    '{"titre": "é", "url": [1], "text": "\U00010000"}'.encode(),
]  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_usual_lines_are_read_by_the_kernel(tmp_path, line):
    shard = shard_of(tmp_path / "d.jsonl")
    odd = [b"{}", b"", b'{"text": "a", "text": "b"}']
    (part,) = Scanner(shard).parts(Lines(0, b"\n".join([line, *odd, line])))
    assert part.plain.tolist() == [0, 3]
    assert part.lines == [odd[0], odd[2]]
    assert part.found[0].to_pylist() == [orjson.loads(line)["text"]] * 2


@pytest.mark.parametrize("n", [1, BATCH_DOCS, BATCH_DOCS + 1, 2 * BATCH_DOCS])
def test_parts_have_all_lines(tmp_path, n):
    scanner = Scanner(shard_of(tmp_path / "d.jsonl"))
    lines = [b'{"text": "%d"}' % i for i in range(n)]
    for ends in ([], [b""]):
        parts = list(scanner.parts(Lines(5, b"\n".join([*lines, *ends]))))
        texts = [text for part in parts for text in part.found[0].to_pylist()]
        assert texts == [str(i) for i in range(n)]
        assert [place for part in parts for place in part.places.tolist()] == [
            place for place, line in Lines(5, b"\n".join(lines)).pairs()
        ]


SAMPLE = (
    b'{"text": "a\\u00e9\\n\xc3\xa9", "id": -12.5e+3, "url": "\\ud83d\\ude00",'
    b' "x": [true, null, {"y": 0}], "z": false}'
)
ODD = b'"\\{}[]:, \t\r\x0b019-+.eEatfnu/8Dd\x00\x1f\x7f\x80\xbf\xc3\xe9\xff'


@pytest.mark.parametrize("what", ["in place", "before", "cut"])
def test_each_byte_of_a_line_may_be_another(tmp_path, what):
    """Each byte another, with another before it, and the line without it and up to it."""
    odd = [bytes((byte,)) for byte in ODD]
    lines = [SAMPLE]
    for at in range(len(SAMPLE) + 1):
        before, behind = SAMPLE[:at], SAMPLE[at:]
        if what == "cut":
            lines += [before, before + b"}", before + behind[1:], before + behind[2:]]
        else:
            lines += [before + one + behind[what == "in place" :] for one in odd]
    check(tmp_path / "a.jsonl", b"\n".join(lines))
