"""Conditions of `select`: what they mean, and what is refused."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import where as reference
from tests.strategies import document_batch
from tokenmill.pipelines.filters.select import MOST_CHARS, Select, Where, WhereError

SCHEMA = pa.schema(
    {
        "quality": pa.float64(),
        "n": pa.int64(),
        "language": pa.string(),
        "ok": pa.bool_(),
        "date": pa.timestamp("ms", tz="UTC"),
    }
)
VALUES = {
    "quality": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    "n": st.integers(-2, 3),
    "language": st.sampled_from(["en", "de", "fr", ""]),
}
COLUMNS = st.sampled_from(sorted(VALUES))
compared = COLUMNS.flatmap(
    lambda c: st.tuples(st.sampled_from(sorted(reference.OPERATORS)), st.just(c), VALUES[c])
)
listed = COLUMNS.flatmap(
    lambda c: st.tuples(st.just("in"), st.just(c), st.lists(VALUES[c], min_size=1, max_size=3))
)
conditions = st.recursive(
    compared | listed | st.tuples(st.just("null"), COLUMNS),
    lambda inner: (
        st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner)
    ),
    max_leaves=8,
)
rows = st.lists(
    st.fixed_dictionaries({name: st.none() | of for name, of in VALUES.items()}), max_size=6
)


def holds(text, **row):
    batch = pa.RecordBatch.from_pylist([{**dict.fromkeys(SCHEMA.names), **row}], SCHEMA)
    return Where(text).holds(batch)[0].as_py()


@given(conditions, rows)
def test_a_condition_holds_where_the_reference_says_so(condition, rows):
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    found = Where(reference.written(condition)).holds(batch).to_pylist()
    assert found == [reference.holds(condition, row) for row in rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.3 < quality <= 0.5", True),
        ("0.5 < quality <= 0.8", False),
        ("n / 2 > 1.4 and n * 2 == 6 and n - 1 == 2 and -n < 0", True),
        ("length(language) == 2 and lower(language) == 'en'", True),
        ("contains(language, 'x') or starts_with(language, 'N')", False),
        ("ends_with(language, 'N')", True),
        ("coalesce(ok, true)", True),
        ("ok is null and n is not None", True),
        ("ok == true", None),
        ("ok and n > 5", False),
        ("ok or n > 1", True),
        ("not (ok and n > 1)", None),
        ("date >= '2024-01-31'", True),
        ("'2024-02-01T12:00:01' <= date", False),
        ("date in ['2024-02-01T12:00:00']", True),
        ("n in (0.5, 3.0)", True),
        ("n not in (1, 2)", True),
        ("true", True),
        ("not false", True),
    ],
)
def test_what_can_be_written(text, expected):
    date = pa.scalar("2024-02-01T12:00:00").cast(pa.timestamp("ms")).as_py()
    assert holds(text, quality=0.5, n=3, language="eN", date=date) is expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("quality >", "cannot be read: invalid syntax"),
        ("qualty > 1", "no column 'qualty'; did you mean 'quality'?"),
        ("quality > 'a'", "cannot be computed"),
        ("language > 0.5", "cannot be computed"),
        ("quality", "is no condition but double"),
        ("__import__('os').system('true')", "is no part of a condition"),
        ("language.upper() == 'EN'", "is no part of a condition"),
        ("[x for x in (1,)]", "is no part of a condition"),
        ("(lambda: 1)()", "is no part of a condition"),
        ("quality ** 2 > 1", "is no part of a condition"),
        ("language[0] == 'e'", "is no part of a condition"),
        ("f'{quality}' == ''", "is no part of a condition"),
        ("b'a' == language", "is no part of a condition"),
        ("length(language, 1) == 2", "length takes a column"),
        ("contains(language, language)", "contains takes a column and a constant"),
        ("language in 'en'", "'in' is followed by a list"),
        ("language in (language,)", "followed by a list of constants"),
        ("contains(language, 5)", "looks for 5, which is no text"),
        ("ends_with(language, null)", "looks for None, which is no text"),
        ("language + 1 > 2", "'language + 1' reckons with text"),
        ("n in ('a',)", "cannot be computed"),
        ("language in (1, 2)", "cannot be computed"),
        ("date in (5,)", "cannot be computed"),
        ("quality is 1", "'is' asks for null alone"),
        ("date > 'yesterday'", "'yesterday' is no time"),
        (f"quality > {10**400}", "is too large"),
        ("not " * 60 + "ok", "over 40 deep"),
        ("-" * 9_000 + "n > 0", "deep"),
        ("(" * 3_000 + "n" + ")" * 3_000, "cannot be read"),
        ("n in (" + "1," * 3_000 + ")", "over 2,000 parts"),
        ("n > 0 or " * MOST_CHARS + "ok", "10,000 are read"),
        ("n > 0\x00", "cannot be read"),
        ("(1, 2) == n", "'(1, 2)' is no part of a condition"),
        ("n == [1]", "'[1]' is no part of a condition"),
        ("+n > 0", "'+n' is no part of a condition"),
        ("~n > 0", "'~n' is no part of a condition"),
        ("lengths(language) == 1", "'lengths(language)' is no part of a condition"),
        ("length(x=language) == 1", "'length(x=language)' is no part of a condition"),
        (f"n[{'1' * 37}]", f"'n[{'1' * 37}]' is no part of a condition"),
        (f"n[{'1' * 38}]", f"'n[{'1' * 38}…' is no part of a condition"),
    ],
)
def test_what_is_refused_says_why(text, why):
    with pytest.raises(WhereError) as e:
        Where(text).check(SCHEMA)
    assert why in str(e.value)


def test_a_condition_knows_the_columns_it_asks_for():
    assert Where("n > 1 and length(language) > 2 or n is null").names == ("n", "language")


@pytest.mark.parametrize(
    ("most", "over", "why"),
    [
        ("n > 0" + " " * 9_995, "n > 0" + " " * 9_996, "is of 10,001 characters; 10,000 are read"),
        (f"n in ({'1,' * 1994})", f"n in ({'1,' * 1995})", "has over 2,000 parts, or is over 40"),
        ("not " * 38 + "ok", "not " * 39 + "ok", "has over 2,000 parts, or is over 40 deep"),
    ],
    ids=["characters", "parts", "depth"],
)
def test_a_condition_may_be_as_large_as_is_told(most, over, why):
    Where(most).check(SCHEMA)
    with pytest.raises(WhereError, match=why):
        Where(over)


def test_what_leaves_is_told_with_the_values_that_were_asked_for():
    """Numbers by six digits, text up to 80 characters with its quotes."""
    rows = [
        {"id": "a" * 78, "url": None, "n": 1234567.0},
        {"id": "b" * 79, "url": "u", "n": None},
        {"id": "c", "url": "u", "n": 0.5},
    ]
    batch = document_batch(["x"] * 3, urls=[row["url"] for row in rows])
    for name, kind in (("id", pa.string()), ("n", pa.float64())):
        column = pa.array([row[name] for row in rows], kind)
        batch = batch.set_column(batch.schema.get_field_index(name), name, column) if (
            name in batch.schema.names) else batch.append_column(name, column)  # fmt: skip
    kept, removed, *_ = Select(where="n < 1 and id != url")(batch)
    assert kept["id"].to_pylist() == ["c"]
    assert removed["detail"].to_pylist() == [
        f"n=1.23457e+06 id='{'a' * 78}' url=null",
        f"n=null id='{'b' * 79}… url='u'",
    ]
    assert removed["reason"].to_pylist() == ["not_selected", "unknown_value"]
    assert removed["value"].to_pylist() == [1234567.0, None]
    kept, removed, *_ = Select(where="n < 1 and id != url", unknown="keep")(batch)
    assert (kept.num_rows, removed["reason"].to_pylist()) == (2, ["not_selected"])
