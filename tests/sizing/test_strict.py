"""YAML of strangers: plain data, or one line; never a traceback, a full memory or a long wait."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.strict import (
    MOST_DEEP,
    MOST_DIGITS,
    MOST_VALUES,
    Strict,
    parse_json,
    parse_yaml,
)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_what_has_an_end_is_read_as_yaml_reads_it(data):
    text = yaml.safe_dump(data)
    assert parse_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize("text", ["", "# nothing", "a: &x [1]\nb: *x", "a: 2026-11-23", "1_000"])
def test_so_is_what_a_dump_does_not_write(text):
    assert parse_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("[{b: ", "}]")])
def test_nesting_has_an_end(opening, closing):
    levels = opening.count("[") + opening.count("{")
    n = (MOST_DEEP - 1) // levels  # the value itself is a level
    assert parse_yaml(f"{opening * n}1{closing * n}")
    with pytest.raises(PlanError, match="line 2: nested more than 50 deep"):
        parse_yaml(f"\n{opening * (n + 2)}1{closing * (n + 2)}")
    with pytest.raises(PlanError, match="nested more than 50 deep"):
        parse_yaml(opening * 100_000)


def test_a_number_has_an_end():
    assert parse_yaml("a: " + "9" * MOST_DIGITS) == {"a": int("9" * MOST_DIGITS)}
    with pytest.raises(PlanError, match="line 2: a number of 401 digits"):
        parse_yaml("a: 1\nb: " + "9" * (MOST_DIGITS + 1))
    with pytest.raises(PlanError, match="a number of 20,002 digits"):
        parse_yaml("0x" + "f" * 20_000)


@pytest.mark.parametrize("date", ["2026-13-45", "2026-01-01 25:00:00", "0000-01-01"])
def test_a_date_that_is_none_is_told(date):
    with pytest.raises(PlanError, match=f"line 2: {date} is no date"):
        parse_yaml(f"a: 2026-11-23\nb: {date}")


def test_aliases_repeat_no_more_than_could_stand_there():
    tenfold = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 6))
    assert len(parse_yaml(f"a0: &a0 1\n{tenfold}")["a5"]) == 10
    more = tenfold + f"b: [{', '.join(['*a5'] * 10)}]\n"
    with pytest.raises(PlanError, match=f"over {MOST_VALUES:,} values, as aliases"):
        parse_yaml(f"a0: &a0 1\n{more}")
    with pytest.raises(PlanError, match="as aliases"):
        parse_yaml("a: &a [*a]")


def test_python_is_never_made():
    with pytest.raises(yaml.YAMLError, match="could not determine a constructor"):
        parse_yaml("!!python/object/apply:os.system [true]")


class One(Strict):
    number: float


@pytest.mark.parametrize("given", [".inf", "-.inf", ".nan", "'1'", "true", "null", "1, more: 2"])
def test_only_a_number_is_one(given):
    with pytest.raises(ValidationError):
        One.model_validate(parse_yaml(f"{{number: {given}}}"))
    assert One.model_validate({"number": 1}).number == 1
    with pytest.raises(ValidationError, match="frozen"):
        One(number=1).number = 2


def test_json_has_an_end():
    assert parse_json("[[1]]") == [[1]]
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json("[" * 100_000)


@pytest.mark.parametrize("n", [MOST_VALUES - 1, MOST_VALUES])
def test_so_many_values_may_be_repeated_and_no_more(n):
    """A list in a list, by its alias: itself and 999 values are 1,000."""
    rest = n - 1_000 * (MOST_VALUES // 1_000 - 1)
    text = f"- &a [{','.join('1' * 999)}]\n" + "- *a\n" * (MOST_VALUES // 1_000 - 2)
    text += f"- [{','.join('1' * (rest - 1))}]\n"
    if n < MOST_VALUES:
        assert parse_yaml(text)
    else:
        with pytest.raises(PlanError, match="over 1,000,000 values"):
            parse_yaml(text)
