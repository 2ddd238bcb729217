"""The one form of URLs: what is the same, what is not, and that nothing breaks it."""

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.pipelines.core.urls import TRACKING, normalized

FORMS = {
    "http://example.org/": [
        "HTTP://Example.ORG",
        "http://example.org:80/",
        "http://example.org:80",
        "http://example.org/#top",
        "http://example.org/?",
        "  http://example.org/\n",
        "http://example.org/?utm_source=a&UTM_Medium=b&gclid=1",
        "http://example.org/./a/../",
    ],
    "https://example.org/a/b?x=1&y=2": [
        "https://example.org:443/a/b?y=2&x=1",
        "https://example.org/a/b;jsessionid=AB12?x=1&y=2&PHPSESSID=3",
        "https://example.org/%61/b?x=1&fbclid=&y=2#?",
    ],
    "http://xn--mnchen-3ya.de/%C3%A4?a=+b": [
        "http://münchen.de/%c3%a4?a=%20b",
        "http://MÜNCHEN.de/ä?a= b",
    ],
}
APART = [
    "http://example.org/",
    "https://example.org/",
    "http://www.example.org/",
    "http://example.org:8080/",
    "http://example.org:443/",
    "http://example.org/a",
    "http://example.org/a/",
    "http://example.org/A",
    "http://example.org/?a=1",
    "http://example.org/?utm=1",
    "http://example.org/?gclid2=1",
    "http://example.org/;a=1",
    "http://example.org/?a=%2F&b=%26",
    "http://example.org/?a=",
]


def one_form(url, dropped=TRACKING):
    return normalized(pa.array([url], pa.string()), dropped)[0].as_py()


@pytest.mark.parametrize("form", FORMS)
def test_urls_that_are_written_in_several_ways_have_one_form(form):
    assert {one_form(url) for url in [form, *FORMS[form]]} == {form}


def test_urls_that_may_be_of_different_pages_stay_apart():
    assert len(set(map(one_form, APART))) == len(APART)
    assert one_form("http://a.org/?utm_source=a", ()) == "http://a.org/?utm_source=a"
    assert one_form("http://a.org/?sid=1&s=2", ("SID",)) == "http://a.org/?s=2"


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://a.org:99999/", "http://\u2603.com:x/", "a b"]
)
def test_what_cannot_be_read_stays_or_is_encoded(url):
    assert one_form(url) in (url, "a%20b")


def test_a_very_long_url_stays_as_it_is():
    for n in (8_000, 1_000_000):
        url = "http://a.org:80/" + "é" * n
        assert (one_form(url) == url) == (n > 8_192)
    assert one_form("http://" + "é" * 1_000_000)[-1] == "é"  # minutes, if it were encoded


@given(st.text(max_size=40) | st.text(alphabet="http:/.?#&;=%[]@aA8\u00e4\\ ", max_size=40))
@example("http://a.org?;?")
@example("//[")
def test_anything_has_a_form_that_is_its_own(url):
    form = one_form(url)
    assert one_form(form) == form or url[:4] != "http"


def test_null_stays_null_and_bytes_that_are_no_text_are_taken():
    odd = pa.array([b"http://a.org/\xff", b"http://a.org/\xfe", b"\xff"], pa.binary())
    column = pa.StringArray.from_buffers(3, *odd.buffers()[1:])
    assert len(set(normalized(column, TRACKING).to_pylist())) == 3
    assert normalized(pa.array([None, "", " "]), TRACKING).to_pylist() == [None, "", ""]
