"""URL block lists: the verdicts of the slow twin; lists in files, of any size, and broken ones."""

import re

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import url_filter as twin
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters import url_filter as url_lists
from tokenmill.pipelines.filters.url_filter import UrlFilter
from tokenmill.pipelines.prepare.recipe import make_recipe

PIECES = [
    *("http:", "//", "https://", "a.com", "b.", "A.Com", "co.uk", "x.co.uk", ":80", "user@", "/"),
    *("?", "#", "xxx", "XXX", "-", "sex", "porn", "é", "münchen.de", "[::1]", "1.2.3.4", ".", "_"),
]
urls = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
hosts = st.sets(st.sampled_from(["a.com", "b.a.com", "*.X.co.uk", "uk", "1.2.3.4", "[::1]"]))
listed = st.sets(st.sampled_from(["http://a.com/", "a.com/", "a.com/xxx", "", "//"]))
words = st.sets(st.sampled_from(["xxx", "sex", "Porn", "a", "com", "80", "x-xx", "!"]))
LISTS = {"domains": hosts, "urls": listed, "words": words, "soft_words": words, "subwords": words}
some_lists = st.fixed_dictionaries({name: of.map(tuple) for name, of in LISTS.items()})
filters = st.builds(
    lambda lists, least, ignored: UrlFilter(**lists, least_soft_words=least, ignore_case=ignored),
    some_lists.filter(lambda lists: any(lists.values())),
    st.integers(1, 3),
    st.booleans(),
)


def batch_of(urls):
    return document_batch(["text"] * len(urls), urls=urls)


def reasons(step, urls):
    rows = step(batch_of(urls)).removed.to_pylist()
    found = {int(row["id"]): row["reason"] for row in rows}
    return [found.get(n) for n in range(len(urls))]


@given(filters, st.lists(st.none() | urls, max_size=6))
@example(UrlFilter(soft_words=("a", "b")), ["a-a", "a-b", None, "", "http://a/b"])
@example(UrlFilter(subwords=("abcx", "bcd")), ["abcd", "ababcx", "a-abcx", "abc.d", "ab"])
@example(UrlFilter(urls=("", "//")), ["//", "http://", "x"])
@example(UrlFilter(domains=("a.com",)), ["http://a.com./x", "http://a.com..", "http://a.com :80/"])
@example(UrlFilter(subwords=("abcd", "bc", "cde")), ["a-b-c-d", "abd/cde", "ab", "ABC"])
def test_what_is_removed_is_what_the_reference_removes(step, urls):
    rows = {int(row["id"]): row for row in step(batch_of(urls)).removed.to_pylist()}
    for n, url in enumerate(urls):
        wanted = twin.blocked(url, step)
        assert (n in rows) == (wanted is not None), url
        if wanted is None:
            continue
        reason, value, detail = wanted
        assert (rows[n]["reason"], rows[n]["value"]) == (reason, value)
        if reason == "blocked_subword":
            assert twin.normalized(rows[n]["detail"]) == detail
        elif detail is not None:
            found = rows[n]["detail"]
            folded = twin.lower(found) if reason != "blocked_url" else found
            assert folded == (detail if reason == "blocked_url" else twin.lower(detail))


PLACES = [
    *(
        "{}",
        "{}{}",
        "{}://a.com",
        "h{}p://a.com",
        "http{}//a.com",
        "http:{}/a.com",
        "http:/{}a.com",
    ),
    *("{}/a.com", "/{}a.com", "//{}a.com", "//a{}com", "//a.com{}", "//a.com{}{}", "//a.com{}x"),
    *(
        "//a.com{}/x",
        "//x{}a.com",
        "//a.com{}@b.com",
        "//b.com{}a.com@",
        "//a.com:{}",
        "//[{}a.com",
    ),
    *("//[a.com]{}", "//[::1{}", "//[::1]{}80", "a{}xxx", "xxx{}", "{}xxx", "so{}me", "so{}so{}me"),
    *("part{}ial", "p{}artial{}", "partia{}", "x//{}a.com", "//A{}coM"),
]
EVERY_LIST = {
    "domains": ("a.com", "*.x.co", "[::1]", "[a.com]"),
    "urls": ("//a.com/x", "h:p", "a"),
    "words": ("xxx",),
    "soft_words": ("so", "me"),
    "subwords": ("partial",),
}


@pytest.mark.parametrize("only", [*EVERY_LIST, "all"])
def test_every_character_at_every_place_is_told_as_the_reference_tells_it(only):
    """All of ASCII, in parts of URLs where it ends one, begins one, or belongs to it."""
    lists = EVERY_LIST if only == "all" else {only: EVERY_LIST[only]}
    step = UrlFilter(**lists, ignore_case=only == "all")
    urls = [place.replace("{}", chr(c)) for place in PLACES for c in range(128)]
    rows = {int(row["id"]): row for row in step(batch_of(urls)).removed.to_pylist()}
    for n, url in enumerate(urls):
        wanted, row = twin.blocked(url, step), rows.get(n)
        assert (row and (row["reason"], row["value"])) == (wanted and wanted[:2]), url
        if wanted and wanted[2] is not None:
            read = twin.normalized if wanted[0] == "blocked_subword" else twin.lower
            assert read(row["detail"]) == read(wanted[2]), url


@pytest.mark.parametrize("letter", "az09")
def test_each_letter_and_digit_of_a_subword_is_itself_alone(letter):
    """The first and the last of each kind, and those beside them."""
    urls = [f"x{other}y" for other in "abyz0189"]
    wanted = ["blocked_subword" if url[1] == letter else None for url in urls]
    assert reasons(UrlFilter(subwords=(f"x{letter}y",)), urls) == wanted


def test_a_document_without_a_url_stays():
    assert reasons(UrlFilter(words=("a",)), [None, "", "a"]) == [None, None, "blocked_word"]


def test_bytes_that_are_no_text_break_nothing():
    odd = pa.array([b"http://a.com/\xff", b"\xff\xfe", b"http://\x80.a.com"], pa.binary())
    column = pa.StringArray.from_buffers(3, *odd.buffers()[1:])
    batch = batch_of(["", "", ""])
    batch = batch.set_column(2, batch.schema.field("url"), column)
    step = UrlFilter(domains=("a.com",), urls=("http://x",))
    assert step(batch).removed["detail"].to_pylist() == ["a.com", "a.com"]


def test_lists_come_from_files(tmp_path):
    domains, more = tmp_path / "domains", tmp_path / "urls"
    domains.write_bytes(
        b"\xef\xbb\xbfBad.com\r\n# good.com\n\n m\xc3\xbcnchen.de\nxn--bcher-kva.de"
    )
    more.write_text("http://good.com/bad\ngood.com/worse\n")
    step = UrlFilter.model_validate(
        {"domains": [{"file": str(domains)}, "worse.org"], "urls": {"file": str(more)}}
    )
    assert reasons(
        step,
        [
            "http://www.bad.com/",
            "http://good.com/",
            "http://xn--mnchen-3ya.de/",
            "http://münchen.de",
            "http://bücher.de/",
            "http://worse.org",
            "http://good.com/bad",
            "https://good.com/worse",
            "http://notbad.com",
        ],
    ) == [
        "blocked_domain", None, "blocked_domain", "blocked_domain", "blocked_domain",
        "blocked_domain", "blocked_url", "blocked_url", None,
    ]  # fmt: skip


def test_lines_are_told_right_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(url_lists, "BLOCK_BYTES", 100)
    path = tmp_path / "domains"
    lines = [f"host{n}.example" for n in range(1000)]
    path.write_text("\n".join(lines))
    step = UrlFilter(domains={"file": str(path)})
    assert reasons(step, [f"http://{line}/" for line in lines]) == ["blocked_domain"] * 1000
    assert reasons(step, ["http://host1000.example", "http://example"]) == [None, None]
    (tmp_path / "bad").write_text("\n".join([*lines, "http://a.com/b"]))
    with pytest.raises(ValueError, match=r"bad: line 1,001: 'http://a.com/b' is no host; expected"):
        UrlFilter(domains={"file": str(tmp_path / "bad")})


def recipe(step):
    return make_recipe(
        {
            "name": "r",
            "inputs": [{"path": "a.jsonl"}],
            "steps": [{"url_filter": step}],
            "tokenizer": {"path": "a/b"},
        },
        where="r.yaml",
    )


def test_what_is_wrong_with_a_list_is_told_before_work_starts(tmp_path):
    (tmp_path / "latin").write_bytes("gut.de\nm\xfcnchen.de\n".encode("latin1"))
    (tmp_path / "hosts").write_text("# hosts\n0.0.0.0 bad.com\n")
    (tmp_path / "empty").write_text("\n# nothing\n")
    for step, said in (
        ({"words": {"file": str(tmp_path / "latin")}}, "latin: line 2 is not UTF-8; convert the"),
        ({"domains": {"file": str(tmp_path / "latin")}}, "latin: line 2 is not UTF-8; convert the"),
        ({"domains": {"file": str(tmp_path / "hosts")}}, "line 2: '0.0.0.0 bad.com' is no host;"),
        ({"domains": [{"file": str(tmp_path / "none")}]}, "none: cannot be read (No such file"),
        ({"urls": [{"file": str(tmp_path / "empty")}]}, "empty: has no entry; expected one a line"),
        ({"domains": {"file": str(tmp_path / "empty")}}, "empty: has no entry; expected one a"),
        ({"domains": "lists/adult"}, "'lists/adult' is no host; a file of hosts is named as {file"),
        ({"urls": {"path": "x"}}, "urls: a file of a list: file: missing; field required"),
        ({}, "no list; give domains, urls, words, soft_words or subwords"),
    ):
        with pytest.raises(ConfigError, match=re.escape(said)):
            recipe(step)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("domains", "blocked_domain"),
        ("urls", "blocked_url"),
        ("words", "blocked_word"),
        ("soft_words", "blocked_soft_words"),
        ("subwords", "blocked_subword"),
    ],
)
def test_a_comment_may_stand_behind_spaces(tmp_path, name, reason):
    path = tmp_path / "list"
    path.write_text(" # münchen.de\n\t#x\n")
    with pytest.raises(ConfigError, match="list: has no entry; expected one a line"):
        recipe({name: {"file": str(path)}})
    path.write_text("bad\n # münchen.de\n\t#x\n")
    step = UrlFilter.model_validate({name: {"file": str(path)}, "least_soft_words": 1})
    urls = ["bad", "# münchen.de", "xn--mnchen-3ya.de", "x", "mnchende"]
    assert reasons(step, urls) == [reason, None, None, None, None]


def test_a_file_is_pinned_by_its_bytes(tmp_path):
    path = tmp_path / "domains"
    path.write_text("bad.com\n")
    step = UrlFilter.model_validate({"domains": [{"file": str(path)}]})
    path.write_text("worse.com\n")
    url_lists.table_of.cache_clear()
    with pytest.raises(ConfigError, match="has changed since the run began; put it back"):
        step(batch_of(["http://a.com"]))


def test_too_many_letters_of_subwords_are_refused(monkeypatch):
    monkeypatch.setattr(url_lists, "MOST_SUBWORD_BYTES", 5)
    with pytest.raises(ConfigError, match="subwords have 7 letters together, more than 5; give"):
        url_lists.automaton(("abc", "def"))
