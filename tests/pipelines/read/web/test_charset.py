"""Charsets: what is told is believed where it can be, and no page is lost for it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.charsets import CHARSETS, labelled, pages
from tests.pipelines.read.web.archives import archive, http, read_bytes, response
from tokenmill.pipelines.read.text import is_utf8
from tokenmill.pipelines.read.web.charset import decode_page

RUSSIAN = "Привет! Это страница на русском языке, чтобы её можно было узнать по буквам. " * 3
FRENCH = "Café crème, déjà vu, garçon, où êtes-vous allés cet été? Noël à la forêt. " * 3
JAPANESE = "これは日本語のページです。文字コードを調べるための文章です。" * 3
KOREAN = "똠방각하가 펲시를 마시고 강가의 물레방아를 보러 갔다. 물은 천천히 흘렀다. " * 3


@pytest.mark.parametrize(
    ("text", "charset", "declared"),
    [
        (RUSSIAN, "utf-8", None),
        (RUSSIAN, "utf-8", "utf-8"),
        (RUSSIAN, "windows-1251", "windows-1251"),
        (RUSSIAN, "windows-1251", None),
        (RUSSIAN, "koi8-r", None),
        (RUSSIAN, "windows-1251", "utf-8"),  # a lie
        (RUSSIAN, "utf-8", "nonsense"),
        (RUSSIAN, "utf-8", "utf-16"),
        (FRENCH, "iso-8859-1", "iso-8859-1"),
        (FRENCH, "windows-1252", None),
        (RUSSIAN, "mac_cyrillic", "x-mac-cyrillic"),
        ("Die berühmte Gleichung wäre schön. " * 9, "mac_roman", "macintosh"),
        ("Ĉu vi aŭdis la ĝojan ĥoron? Ĵaŭde ni ŝanĝis ĉion. " * 3, "iso8859-3", "iso-8859-3"),
        ("Mae'r tŷ yn yr ŵyl. Dŵr, gŵr, ŷd, cŵn a llygŵn. " * 3, "iso8859-14", "iso-8859-14"),
        (JAPANESE, "shift_jis", "utf-8"),
        (JAPANESE, "euc-jp", None),
    ],
)
def test_a_page_is_read_as_it_was_written(text, charset, declared):
    assert decode_page(text.encode(charset), declared).text == text


# Own sentences on how a mill works, by language.
TEXTS = json.loads(Path(__file__).with_name("mills.json").read_text("utf-8"))


def cases(*, right):
    return labelled(pages({lang: f"{text}\n\n" * 60 for lang, text in TEXTS.items()}), right=right)


def test_pages_with_a_wrong_label_are_read_as_they_were_written():
    seen = [(c, decode_page(c.data, c.declared)) for c in cases(right=False)]
    assert {c.charset for c, _ in seen} == set(CHARSETS)
    assert [(c.charset, c.language) for c, found in seen if found.text != c.text] == []
    # some are as good by their label, as Hungarian in windows-1250 by iso-8859-2
    assert sum(found.overruled for _, found in seen) > 0.95 * len(seen)


def test_pages_with_their_own_label_are_read_by_it():
    seen = [(c, decode_page(c.data, c.declared)) for c in cases(right=True)]
    assert all(found.text == c.text and not found.overruled for c, found in seen)


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("A naïve house by the river and a café.", "windows-1252"),
        ("The word мир is a short one, and so is год.", "windows-1251"),
        ("© 2010 House by the river", "windows-1252"),
    ],
)
def test_of_a_few_bytes_a_label_is_believed(text, charset):
    assert decode_page(text.encode(charset), charset).text == text
    assert not decode_page(text.encode(charset), charset).overruled


@pytest.mark.parametrize(
    ("language", "charset"),
    [
        ("ru", "windows-1251"),
        ("ru", "koi8-r"),
        ("ja", "cp932"),
        ("zh", "gb18030"),
        ("el", "cp1253"),
    ],
)
@pytest.mark.parametrize("n", [1, 4, 16])
def test_of_a_few_words_in_lines_of_english_a_label_is_believed(language, charset, n):
    words = [word[:6] for word in TEXTS[language].split() if not word.isascii()]
    line = "The house stands by the river and the mill turns slowly. " * 20
    text = f"<p>{line}{' and the word '.join((words * n)[:n])} {line}</p>"
    found = decode_page(text.encode(charset), charset)
    assert (found.text, found.overruled) == (text, False)


@pytest.mark.parametrize(
    ("text", "charset", "label"),
    [
        (
            "It\u2019s a house by the river, and he didn\u2019t know it",
            "windows-1252",
            "iso-8859-2",
        ),
        ("The mill \u2013 it turns slowly \u2013 stands there", "windows-1252", "iso-8859-5"),
        ("In München steht ein Haus", "windows-1252", "windows-1251"),
        ("In München steht ein Haus", "windows-1252", "shift_jis"),
        ("A casa é de José, e não há água", "windows-1252", "windows-1256"),
        ("The word for it is мельница", "windows-1251", "windows-1252"),
        ("The word for it is мельница", "koi8-r", "windows-1250"),
    ],
)
def test_a_label_by_which_no_words_come_out_is_not_believed(text, charset, label):
    """Of few bytes too: controls for quotes, two scripts in a word, accented letters alone."""
    found = decode_page(text.encode(charset), label)
    assert found.charset != label
    assert found.overruled
    assert found.text == text


POLISH = "Łódź ma ładną ulicę."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"<script>" + b"x" * 5000 + b"</script>", b""),
        (b"<script src=a charset=utf-8></script>", b""),
        (b"<!-- <META charset=koi8-r> --><a href=b charset=big5>", b"<meta charset=koi8-r>"),
        (b"<!--><meta charset=none>", b"<!-- -->"),
    ],
)
def test_of_meta_tags_the_first_one_that_counts_is_believed_wherever_it_stands(before, after):
    tag = b'<Meta http-equiv=Content-Type content="text/html; charset=iso-8859-2">'
    found = decode_page(before + tag + after + POLISH.encode("iso-8859-2"), None)
    assert found.text.endswith(POLISH)
    assert (found.overruled, found.guessed) == (False, False)


@pytest.mark.parametrize("tag", [b"<script charset=utf-8>", b"<meta content='<charset=big5>'>"])
def test_a_charset_of_another_tag_is_no_label(tag):
    assert decode_page(tag + POLISH.encode("iso-8859-2"), None).guessed


def test_pages_told_to_be_utf8_with_one_byte_that_is_not_stay_utf8():
    page = "<p>you\u2019re here".encode() + b" zo\x92n"
    assert decode_page(page, "utf-8")[1:3] == ("utf-8", 1)
    assert decode_page(page, None).charset == "cp1252"
    japanese = decode_page("保管庫の".encode("cp932"), "utf-8")  # three characters of UTF-8
    assert japanese.text == "保管庫の"


def test_a_label_means_more_than_python_has_under_its_name():
    found = decode_page(KOREAN.encode("cp949"), "euc-kr")
    assert (found.text, found.overruled) == (KOREAN, False)


def test_of_what_is_all_ascii_no_label_is_overruled():
    assert decode_page(b"<p>words", "shift_jis") == (b"<p>words", "utf-8", 0, False, False)


def test_what_was_decided_against_a_label_is_counted(tmp_path):
    body = f"<p>{TEXTS['de']}</p>".encode()
    made = [
        response(1, http(body, type="text/html; charset=iso-8859-1")),
        response(2, http(body, type="text/html; charset=utf-8")),
        response(3, http(body + b"<p>\xff\xff", type="text/html; charset=utf-8")),
    ]
    got = read_bytes(tmp_path, archive(made))
    assert all("größte" in text for text in got.texts.values())
    assert got.notes["charset_overruled"] == 1
    assert got.notes["replacement_characters"] == 2


def test_pages_whose_charset_nothing_tells_are_counted(tmp_path):
    german = f"<p>{TEXTS['de']}</p>"
    bodies = [german.encode("cp1252"), german.encode(), b"<p>all of this is ASCII"]
    made = [response(i, http(body)) for i, body in enumerate(bodies)]
    made.append(response(9, http(bodies[0], type="text/html; charset=windows-1252")))
    got = read_bytes(tmp_path, archive(made))
    assert len(got.texts) == 4
    assert got.notes["charset_guessed"] == 1


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_goes_before_what_the_server_says(charset):
    assert decode_page(RUSSIAN.encode(charset), "windows-1251").text == RUSSIAN


@pytest.mark.parametrize(
    "tag", ["<meta charset='koi8-r'>", "<META content='text/html; charset=koi8-r'>"]
)
def test_a_meta_tag_counts_where_the_server_says_nothing_or_is_wrong(tag):
    page = tag + RUSSIAN
    assert decode_page(page.encode("koi8-r"), None).text == page
    assert decode_page(page.encode("koi8-r"), "utf-8").text == page
    assert decode_page(page.encode("utf-8"), "utf-8").text == page


def test_iso_8859_1_is_windows_1252_on_the_web():
    assert decode_page(b"it\x92s \x93so\x94", "iso-8859-1").text == "it\u2019s \u201cso\u201d"


def test_a_page_that_was_cut_inside_of_a_character_keeps_its_charset():
    found = decode_page(RUSSIAN.encode()[:-3], "utf-8")
    assert (found.charset, found.unread) == ("utf-8", 1)
    assert found.text == RUSSIAN[:-3] + "\ufffd"


def test_a_few_bytes_that_do_not_fit_are_no_reason_to_think_of_another():
    data = (FRENCH * 9).encode()
    found = decode_page(data[:400] + b"\xff\xfe" + data[400:], "utf-8")
    assert (found.charset, found.unread) == ("utf-8", 2)


@given(
    st.binary(max_size=300), st.sampled_from((None, "utf-8", "shift_jis", "utf-16", "x-none", ""))
)
def test_any_bytes_have_a_text(data, declared):
    found = decode_page(data, declared)
    found.text.encode()  # no lone surrogates
    assert found.unread == found.text.count("\ufffd") or found.unread <= len(found.text)


@given(st.text())
def test_utf_8_that_is_declared_comes_out_as_it_went_in(text):
    data = text.encode()
    assume = not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    if assume and text.count("\ufffd") <= len(text) / 100:
        assert decode_page(data, "utf-8").text == text


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=4),
            st.text(max_size=3).map(str.encode),
            st.characters(categories=["Cs"]).map(lambda c: c.encode("utf-8", "surrogatepass")),
        ),
        max_size=8,
    ).map(b"".join)
)
def test_what_is_utf_8_is_what_python_decodes(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        assert not is_utf8(data)
    else:
        assert is_utf8(data)


@pytest.mark.parametrize(
    ("right", "wrong", "declared", "is_utf8"),
    [
        (4, 1, None, True), (3, 1, None, False), (8, 2, None, True), (7, 2, None, False),
        (1, 1, "utf-8", True), (0, 1, "utf-8", False), (2, 2, "utf-8", False),
        (1, 1, "cp1252", False), (8, 2, "cp1252", True),
    ],
)  # fmt: skip
def test_utf8_may_have_one_character_in_five_that_is_none_or_one_where_it_is_told(
    right, wrong, declared, is_utf8
):
    data = b"It stands " + "é".encode() * right + b" by a river" + b" \x92" * wrong
    found = decode_page(data, declared)
    assert (found.charset == "utf-8") == is_utf8
    assert found.unread == (wrong if is_utf8 else 0)


@pytest.mark.parametrize(("more", "is_told"), [(0, True), (1, False)])
def test_a_meta_tag_is_looked_for_in_the_first_16_kib(more, is_told):
    tag = b"<meta charset=iso-8859-2"
    data = b" " * (16_384 - len(tag) + more) + tag + b">" + POLISH.encode("iso-8859-2")
    assert decode_page(data, None).guessed != is_told


@pytest.mark.parametrize(
    ("mark", "charset"),
    [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")],
)
def test_a_byte_order_mark_tells_before_all_labels(mark, charset):
    data = mark + f"<meta charset=big5>{RUSSIAN}\ufffd".encode(charset)
    found = decode_page(data, "windows-1251")
    assert found.text == f"<meta charset=big5>{RUSSIAN}\ufffd"
    assert found[1:] == (charset, 1, False, False)
    told = decode_page("<p>мир".encode("utf-16-le"), "utf-16-le")
    assert told[1:] == ("utf-16-le", 0, False, False)
