"""CSV and TSV: what a row is, what fails and where, and what ends a file."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.corpus import read_all
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input, SourceShard
from tokenmill.pipelines.read import delimited
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=12)


def read(folder, data, name="d.csv", **fields):
    (Path(folder) / name).write_bytes(data)
    return read_all(Path(folder) / name, **fields)


@pytest.mark.parametrize(
    ("name", "mark"), [("d.csv", ","), ("d.csv", ";"), ("d.csv", "|"), ("d.tsv", "\t")]
)
@given(rows=st.lists(st.tuples(FIELDS, FIELDS), max_size=5))
def test_rows_are_read_as_they_were_written_and_as_arrow_reads_them(name, mark, rows):
    written = io.StringIO()
    csv.writer(written, delimiter=mark, quoting=csv.QUOTE_ALL).writerows([("text", "note"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        got = read(folder, written.getvalue().encode(), name, quote='"')
    assert not got.failures
    assert got.texts == [text for text, _ in rows]
    if rows:
        table = pyarrow.csv.read_csv(
            io.BytesIO(written.getvalue().encode()),
            parse_options=pyarrow.csv.ParseOptions(delimiter=mark, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={"text": "string"}, include_columns=["text"]
            ),
        )
        assert table["text"].to_pylist() == got.texts


@pytest.mark.parametrize(
    ("row", "reason", "said"),
    [
        (b"one", "invalid_csv", "line 3: 1 fields, and the header has 2"),
        (b"a,b,c", "invalid_csv", "line 3: 3 fields"),
        (b'"a"b,c', "invalid_csv", "line 3: ',' expected after '\"'"),
        (b"\xff,1", "invalid_utf8", "line 3: not UTF-8; `iconv -f CHARSET"),
    ],
)
def test_a_bad_row_fails_alone_with_its_line(tmp_path, row, reason, said):
    got = read(tmp_path, b"text,id\ngood,1\n" + row + b"\n\nfine,2\n")
    assert got.texts == ["good", "fine"]
    (failure,) = got.failures
    assert failure["reason"] == reason
    assert said in failure["detail"]


@pytest.mark.parametrize(
    "end", [b'bad,"no end\nof it\n', b"long," + b"x" * 3000 + b"\n", b'"a\n"' + b',"a\n"' * 2000]
)
def test_a_row_without_an_end_ends_the_file(tmp_path, end):
    got = read(tmp_path, b"text,id\ngood,1\n" + end, limits=Limits(max_document_bytes=2000))
    assert got.texts == ["good"]
    (failure,) = got.failures
    assert failure["reason"] == "damaged_csv"


@pytest.mark.parametrize("quote", [None, '"'])
def test_a_quote_that_does_not_end_is_told_with_the_lines_it_takes(tmp_path, quote):
    rows = [b"%d,row\n" % i for i in range(30)]
    data = b"id,text\n1,good\n" + b'2,"bad\n' + b"".join(rows)
    got = read(tmp_path, data, quote=quote)
    assert got.texts == ["good"]
    (failure,) = got.failures
    where = f"{tmp_path / 'd.csv'} lines 3 to 33: a quote begins a field and none ends it"
    assert failure["detail"].startswith(where)
    assert "say quote: ''" in failure["detail"]
    odd = read(tmp_path, data + b'31,"of two" rows\n32,fine\n', quote=quote)
    assert odd.texts == ["good", "fine"]
    assert "lines 3 to 34: ',' expected" in odd.failures[0]["detail"]
    whole = read(tmp_path, data, quote="")
    assert (whole.texts[1], len(whole.texts), whole.failures) == ('"bad', 32, [])


@pytest.mark.parametrize(("lines", "swallowed"), [(10, False), (11, True), (500, True)])
def test_rows_that_a_lone_quote_took_in_are_no_text(tmp_path, lines, swallowed):
    rows = "".join(f"{i},row\n" for i in range(lines))
    data = f'id,text\n1,"bad\n{rows}31,"\n32,fine\n'.encode()
    got = read(tmp_path, data)
    if not swallowed:
        assert got.texts == [f"bad\n{rows}31,", "fine"]
        return
    assert got.texts == ["fine"]
    (failure,) = got.failures
    assert failure["reason"] == "invalid_csv"
    said = (
        f"lines 2 to {lines + 3}: between two quotes stand {lines} lines that are rows themselves"
    )
    assert said in failure["detail"]
    assert read(tmp_path, data, quote='"').texts == [f"bad\n{rows}31,", "fine"]
    other = data.replace(b"7,row", b"7;row")  # one line that is no row
    assert len(read(tmp_path, other).texts) == 2


@given(rows=st.lists(st.tuples(FIELDS, FIELDS), max_size=5), all_quoted=st.booleans())
def test_a_tsv_is_read_as_a_writer_of_csv_wrote_it(rows, all_quoted):
    rows = [(text.replace("\t", " "), note.replace("\t", " ")) for text, note in rows]
    rows.append(('she said "so"', ""))
    written = io.StringIO()
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(written, delimiter="\t", quoting=quoting, lineterminator="\n")
    writer.writerows([("text", "note"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        got = read(folder, written.getvalue().encode(), "d.tsv")
    assert (got.texts, got.failures) == ([text for text, _ in rows], [])


GOOD = b'1\t"she said ""so"""\n'  # as a writer of CSV makes it


@pytest.mark.parametrize(
    ("rows", "quoted"),
    [
        (GOOD, True),
        (b'1\t"one\ttwo"\n', True),
        (b'1\t"one\ntwo"\n', True),
        (b'1\t"one"\n', False),  # nothing needs them: they are the text's own
        (b'1\tshe said "so"\n' + GOOD, False),  # a quote that a writer would have put in quotes
        (b'1\t"so" she said\n' + GOOD, False),
        (GOOD + b'1\t"a\n2\tb"\n', False),  # between two quotes stand two rows
        (GOOD + b'1\t"a\n' + b"2\tb\n" * 8 + b'no row\n3\tc"\n', False),
        (GOOD + b'1\t"int f() {\n\tg();\n}"\n', True),
        (GOOD + b'1\t"cut within\na row', True),  # a sample of a file
        (GOOD + b'1\t"no end\n2\tb\n3\tc\n', False),
        (GOOD + b'1\t"no end\n', True),  # which cannot be told from a sample
        (GOOD + b'1\t"odd" row\n', False),
        (b'1\t"' + b"x" * 140_000 + b' ""so"""\n', True),  # over the csv module's own limit
        (GOOD + b"1\t2\t3\n", False),
        (b"1\tone\n", False),
    ],
)
def test_quotes_of_a_tsv_are_those_that_a_writer_of_csv_puts(tmp_path, rows, quoted):
    csv.field_size_limit(131_072)
    data = b"id\ttext\n" + rows
    got = read(tmp_path, data, "d.tsv")
    same = read(tmp_path, data, "d.tsv", quote='"' if quoted else "")
    other = read(tmp_path, data, "d.tsv", quote="" if quoted else '"')
    assert (got.texts, got.failures) == (same.texts, same.failures)
    assert rows == b"1\tone\n" or (got.texts, got.failures) != (other.texts, other.failures)


@pytest.mark.parametrize("end", [b'2\t"' + b"long " * 20, b"2\tno quotes"])
def test_quotes_of_a_tsv_are_told_by_its_beginning(tmp_path, monkeypatch, end):
    monkeypatch.setattr(delimited, "BEGINNING", 100)
    begun = b"id\ttext\n" + GOOD
    behind = b'2\t"odd" one\n'  # no writer of CSV makes it
    read_so_far = read(tmp_path, begun + end + b"." * 100 + b"\n" + behind, "d.tsv")
    assert read_so_far.texts[0] == 'she said "so"'
    for odd in (behind + end, b'2\t"a\n' + b"3\tb\n" * 40 + b'4\t"'):
        assert read(tmp_path, begun + odd + b"\n", "d.tsv").texts[0] == '"she said ""so"""'


def test_a_row_over_the_limit_does_not_change_what_quotes_of_a_tsv_are(tmp_path):
    limits = Limits(max_document_bytes=200)
    data = b"id\ttext\n" + GOOD + b'2\t"' + b"long\n" * 50 + b'"\n'
    assert read(tmp_path, data, "d.tsv", limits=limits).texts == ['she said "so"']


def test_a_tsv_with_all_its_header_between_quotes_has_them(tmp_path):
    assert read(tmp_path, b'"text"\t"id"\n"a"\t1\n', "d.tsv").texts == ["a"]
    assert read(tmp_path, b'"text"\tid\n"a"\t1\n', "d.tsv", text='"text"').texts == ['"a"']


@pytest.mark.parametrize("mark", ["", '"'])
@given(rows=st.lists(st.tuples(FIELDS, FIELDS), max_size=5))
def test_a_tsv_has_no_quotes(mark, rows):
    bare = str.maketrans("\t\n", "  ")
    rows = [(mark + text.translate(bare), note.translate(bare)) for text, note in rows]
    rows.append(('"Yes"', 'a "No"'))  # a writer of CSV would put this between quotes
    written = "".join(f"{text}\t{note}\n" for text, note in [("text", "note"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        got = read(folder, written.encode(), "d.tsv")
    assert (got.texts, got.failures) == ([text for text, _ in rows], [])


def test_a_tsv_with_quotes_is_told_and_read_where_they_are_named(tmp_path):
    (tmp_path / "d.tsv").write_bytes(b'"text"\t"id"\n"a" b\t"1"\n')
    (failed,) = plan_inputs([Input(path=str(tmp_path / "d.tsv"))], 1 << 20).failed
    assert failed.message.endswith("""say quote: '"' in the recipe""")
    data = b'text\tid\n"one\ttwo"\t1\n"three"\t2\na "b"\t3\n'
    got = read(tmp_path, data, "d.tsv")
    assert got.texts == ['"three"', 'a "b"']
    assert """if fields stand between quotes, say quote: '"'""" in got.failures[0]["detail"]
    (shard,) = got.plan.shards
    (batch,) = read_shard(shard, limits=Limits())
    assert batch.notes == {"texts_between_quotes": 1}
    assert read(tmp_path, data, "d.tsv", quote='"').texts == ["one\ttwo", "three", 'a "b"']
    assert read(tmp_path, data.replace(b'"', b"'"), "d.tsv", quote="'").texts[1] == "three"


@pytest.mark.parametrize(("key", "value"), [("quote", '"'), ("header", ("text",))])
def test_quotes_and_headers_of_other_formats_are_refused(tmp_path, key, value):
    (tmp_path / "d.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(ConfigError, match=f"{key}: files of format jsonl have none; leave it out"):
        plan_inputs([Input(path=str(tmp_path / "d.jsonl"), **{key: value})], 1 << 20)


@pytest.mark.parametrize(
    ("first", "fields"),
    [
        (b'"Hello, world; bye",1', ["Hello, world; bye"]),  # marks between quotes are none
        (b"so, it, is;OFF", ["so, it, is"]),
        (b"so, it is;OFF", ["so"]),  # both make two: the comma comes first
        (b"so, it, is", []),  # none does
    ],
)
def test_what_stands_between_fields_makes_as_many_as_the_header_has(tmp_path, first, fields):
    header = ("text", "label")
    assert read(tmp_path, first + b"\n", header=header).texts == fields
    other = first.replace(b'"', b"'") + b"\n"
    assert read(tmp_path, other, header=header, quote="'").texts == fields


@pytest.mark.parametrize(("name", "mark"), [("d.tsv", "\t"), ("d.csv", ";")])
def test_a_file_without_a_header_has_the_columns_that_are_named(tmp_path, name, mark):
    rows = (("so, it is", "OFF", "7"), ("and so", "NOT", "8"), ("odd", "NOT"))
    data = "".join(f"{mark.join(row)}\n" for row in rows)
    got = read(tmp_path, f"\ufeff{data}".encode(), name, header=("text", "label", "id"))
    assert (got.texts, got.ids) == (["so, it is", "and so"], ["7", "8"])
    assert "line 3: 2 fields, and the header has 3" in got.failures[0]["detail"]
    (shard,) = got.plan.shards
    assert SourceShard.from_json(json.loads(json.dumps(shard.to_json()))) == shard
    (failed,) = read(tmp_path, data.encode(), name).plan.failed
    way = ", or header: [NAME, …] if line 1 is a row"
    assert (failed.cause, failed.message.endswith(way)) == ("missing_column", True)
    (named,) = read(tmp_path, data.encode(), name, text="body").plan.failed
    assert not named.message.endswith(way)
    (wide,) = read(
        tmp_path, f"\ufeff{data}".encode("utf-16-le"), name, header=("a", "text")
    ).plan.failed
    assert "iconv -f utf-16" in wide.message
    (failed,) = read(tmp_path, data.encode(), name, header=("a", "b", "c")).plan.failed
    assert failed.message.endswith("as {path: …, text: NAME}")


def test_ids_and_marks_and_packed_files(tmp_path):
    data = b'\xef\xbb\xbfid,body\r\n7,"one, ""two""\r\nthree"\r\n,four\r\n'
    got = read(tmp_path, gzip.compress(data), "d.csv.gz", text="body")
    assert got.texts == ['one, "two"\r\nthree', "four"]
    assert got.ids == ["7", "d.csv.gz#1"]


def test_rows_are_counted_on_from_batch_to_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BATCH_DOCS", 2)
    got = read(tmp_path, b"text\na\nb\nc,c\nd\ne\n")
    assert got.ids == [f"d.csv#{row}" for row in (0, 1, 3, 4)]
    assert [failure["id"] for failure in got.failures] == ["d.csv#2"]


def test_a_file_without_the_column_names_those_it_has(tmp_path):
    for header, there in (
        (b"id|x", "id, x"),
        (b"id:x", "id:x"),
        (b"id;x", "id, x"),
        (b"id\tx", "id, x"),
    ):
        (tmp_path / "d.csv").write_bytes(header + b"\n1;2\n")
        (failed,) = plan_inputs([Input(path=str(tmp_path / "d.csv"))], 1 << 20).failed
        assert f"no text column among: {there}; name the text column" in failed.message


def test_line_ends_of_old_are_named(tmp_path):
    why = "line 1: line ends are \\r alone; write them as \\n"
    data = b"id,text\r1,one\r"
    (failed,) = read(tmp_path, data).plan.failed
    assert failed.message.endswith(why)
    (failure,) = read(tmp_path, data, header=("id", "text")).failures
    assert failure["detail"].endswith(why)


@pytest.mark.parametrize(
    ("header", "charset"), [(b"text,\xff", "CHARSET"), (b"\xff\xfet", "utf-16")]
)
def test_a_header_that_is_not_utf8_is_no_header(tmp_path, header, charset):
    (tmp_path / "d.csv").write_bytes(header + b"\n1,2\n")
    (failed,) = plan_inputs([Input(path=str(tmp_path / "d.csv"))], 1 << 20).failed
    way = f"line 1: not UTF-8; `iconv -f {charset} -t utf-8` makes it UTF-8"
    assert (failed.cause, failed.message.endswith(way)) == ("invalid_utf8", True)


@pytest.mark.parametrize("mark", [b",", b";"])
def test_a_line_of_too_many_fields_ends_the_file(tmp_path, monkeypatch, mark):
    monkeypatch.setattr(delimited, "MOST_VALUES", 5)
    got = read(tmp_path, mark.join([b"text", b"id"]) + b"\n" + mark.join([b"a", b"1"] * 3) + b"\n")
    assert [f["reason"] for f in got.failures] == ["invalid_csv"]  # six fields, five marks
    got = read(tmp_path, mark.join([b"text", b"id"]) + b"\n" + mark * 6 + b"\n")
    assert [f["reason"] for f in got.failures] == ["damaged_csv"]
