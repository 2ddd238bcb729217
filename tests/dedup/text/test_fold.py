# ruff: noqa: RUF001
import gzip
import html
import json
import unicodedata
from dataclasses import replace
from html.entities import html5
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.text.frozen import gram_form
from tests.reference import fold as reference
from tests.reference.overlap import gram_words
from tests.strategies import code_points, documents, text_columns
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.text.fold import (
    FOLDINGS,
    Folding,
    char_maps,
    entities,
    fold,
    names_of,
    needs_folding,
)
from tokenmill.dedup.text.fold_tables import invisible, lookalikes, signs

ALL = Folding(marks=True)
NONE = Folding(**dict.fromkeys(FOLDINGS, False))
names = st.sampled_from(sorted(html5))
fragments = st.one_of(
    st.sampled_from(
        ["a", "Be", " ", "\n", "-\n", "\u00ad\r\n \t", "‐\n", "é", "e\u0301", "東", "7", "ж", "λ"]
    ),
    st.sampled_from(
        ["&", "&amp;", "&amp", "&#38;", "&#x26", "amp;", "#", "#x", "39;", "quot;", "lt", ";"]
    ),
    names.map("&{}".format),
    st.sampled_from(
        [
            "<",
            "</",
            "b",
            "<b>",
            "</B >",
            "<br/>",
            "<p",
            " x='1'",
            ">",
            "/",
            "\\",
            "\\text",
            "{",
            "}",
        ]
    ),
    st.integers(0, 0x110100).map("&#{};".format),
    st.integers(0, 0x110100).map("&#x{:X}".format),
    st.sampled_from(sorted(char_maps(ALL))),
    st.sampled_from(sorted(lookalikes())),
    st.sampled_from("асеорхуіАВЕКМНОРСТХΑΒΕοα"),
    st.sampled_from("’“”—′ʼ´−"),
    st.characters(exclude_categories=["Cs"]),
)
disguised = st.lists(fragments, max_size=25).map("".join)
fillings = st.sampled_from(
    ["x ", "yz", "жи ", "ж", "а о ", "λ, ", "क ", "한글 ", "東", "🙂 ", "7 - "]
)
long_text = st.lists(
    st.tuples(fillings, st.integers(0, 99), st.lists(fragments, max_size=9)), max_size=5
).map(lambda parts: "".join(f * n + "".join(between) for f, n, between in parts))
texts = st.one_of(disguised, long_text, documents)
# what begins in one block of bytes and ends in the next: there a "\u0442j" has the bytes of "ª"
cut_off = [
    "тjﬁ",
    "тj-\nz",
    "тj🙂",
    "тj🙂𝐚",
    "аbc ﬁ",
    f"а𝐚{' ' * 99}y",
    "-\nﬁ",
    f"о{' ' * 99}b",
    "о b",
    "yо ж",
]
crossing = [
    f"{before}{cut}{'y' * 99}"
    for cut in cut_off
    for n in range(60, 68)
    for before in (
        "x" * n,
        *(f"{letters}{' ' * n}" for letters in ("ж", "b", "b ж", "ж b", "b 。", "ж ×")),
        "क " * (n // 4) + " " * (n % 4),
    )
]
# characters that change behind many beside them in Unicode that may not
beside = [
    f"{chr(ord(char) + step) * 40}{char}{'y' * 99}"
    for char in sorted(char_maps(ALL))[::29]
    for step in (-1, 1)
]
foldings = st.builds(Folding, **dict.fromkeys(FOLDINGS, st.booleans()))


def folded(text, folding=ALL):
    return fold(pa.array([text]), folding).text.to_pylist()[0]


def found_foldings(text, folding=ALL):
    """What the fold of a whole document says it needed."""
    result = fold(pa.array([text]), folding)
    zero, end = np.zeros(1, np.int64), np.array([len(result.text[0].as_py().encode())])
    return names_of(int(result.source_spans(zero, zero, end).foldings[0]))


def span_of(text, part, folding=ALL):
    """The source of `part` of the folded text, and the foldings that it needed."""
    result = fold(pa.array([text]), folding)
    at = result.text[0].as_py().encode().index(part.encode())
    got = result.source_spans(
        np.zeros(1, np.int64), np.array([at]), np.array([at + len(part.encode())])
    )
    source = text.encode()[got.starts[0] : got.ends[0]].decode()
    return source, names_of(int(got.foldings[0]))


# ------------------------------------------------------------------------- against the reference


@given(text_columns(texts), foldings)
@example(
    pa.array(
        ["<b>a</b>c<br>d<T>e<p/ >f", "\\textbf{a} \\n{ \\text \\TEXT{ \\{", "<b \\x{>y", "\\x<b>{"]
    ),
    ALL,
)
@example(
    pa.array([f"<b x={'é' * 126}>", f"<b x={'é' * 127}>", f"<i{' ' * 255}>", f"<i{' ' * 256}>"]),
    ALL,
)
@example(
    pa.array(["x" * 127 + "<b>", "x" * 128 + "<blockquote>", "a-<b>\nb", "<b", "<b/", "<b "]), ALL
)
@example(pa.array(["&lt;b&gt;x", "<b &lt;>", "<abcdefghijk>", "<1>", "о<i>a</i>"]), ALL)
@example(pa.array(crossing), Folding())
@example(pa.array(crossing), Folding(compat=False))
@example(pa.array(beside), ALL)
@example(pa.array([f"\u200b𝑃{'x' * 99}\ufe0e{'y' * 99}"]), Folding(compat=False))
@example(pa.array(["a&#58;", "&#x3a;&#x3A", "&#x110000;&#99999999999999999999;&#0;"]), ALL)
@example(pa.array(["Сᴏ", "о a", "a о", "о ж", "ж о a", "x" * 200 + "&lt"]), ALL)
@example(pa.array(["ﬁ" + "a" * 63 + "า", "²x"]), Folding())  # nothing is left behind a block
@example(pa.array(["ж а-\nb ж", "𝛂b", "a о ж a о a", "&#xD800;&#xDFFF;"]), ALL)
def test_text_equals_the_reference(docs, folding):
    expected = [reference.text_of(reference.fold(doc, folding)) for doc in docs.to_pylist()]
    assert fold(docs, folding).text.to_pylist() == expected


@given(text_columns(texts), foldings)
@example(pa.array(crossing), Folding())
@example(pa.array(["жо Ζ𝗓" + " ж" * 40]), Folding(compat=False))
@example(pa.array(["x" * 127 + "-\n" + "y" * 300, "x" * 128 + "-\ny", "y" * 254 + "a-\r\nb"]), ALL)
def test_needs_are_never_fewer_than_the_reference_uses(docs, folding):
    needs = needs_folding(docs, folding)
    for doc, found in zip(docs.to_pylist(), needs.tolist(), strict=True):
        used = reference.kinds_of(reference.fold(doc, folding))
        assert used & ~found == 0
        assert (found != 0) == (used != 0)
        assert found & ~folding.bits == 0


def test_half_of_a_character_tells_the_foldings_of_all_of_it():
    """The fraction slash of a quarter goes as a sign, behind the 1 that the span ends with."""
    folding = Folding(**dict.fromkeys(FOLDINGS, False) | {"compat": True, "signs": True})
    spans = fold(pa.array(["a\u00bc"]), folding).source_spans(*np.array([[0], [0], [2]]))
    assert (spans.ends.tolist(), spans.foldings.tolist()) == ([3], [(1 << 2) | (1 << 4)])
    cells = reference.fold("a\u00bc", folding)
    assert reference.source_span(cells, 0, 2) == (0, 3, (1 << 2) | (1 << 4))


@given(st.data(), text_columns(texts), foldings)
def test_spans_come_from_the_bytes_that_the_reference_says(data, docs, folding):
    result = fold(docs, folding)
    spans, expected = [], []
    for d, doc in enumerate(docs.to_pylist()):
        cells = reference.fold(doc, folding)
        text = reference.text_of(cells)
        if text:
            start = data.draw(st.integers(0, len(text) - 1))
            end = data.draw(st.integers(start + 1, len(text)))
            spans.append((d, len(text[:start].encode()), len(text[:end].encode())))
            expected.append(reference.source_span(cells, start, end))
    got = result.source_spans(*np.array(spans, np.int64).reshape(-1, 3).T)
    assert list(zip(*(column.tolist() for column in got), strict=True)) == expected


@given(texts.filter(lambda t: "&" not in t))
def test_folding_twice_is_folding_once(text):
    folding = Folding(line_breaks=False, marks=True)
    assert folded(folded(text, folding), folding) == folded(text, folding)


@given(texts)
@example("㋀")  # becomes 1月, two words
def test_the_source_of_a_folded_word_folds_to_it(text):
    folding = Folding(entities=False, line_breaks=False, marks=True, confusables=False)
    words = gram_words(folded(text, folding))
    starts, ends = np.array([w.start for w in words], int), np.array([w.end for w in words], int)
    got = fold(pa.array([text]), folding).source_spans(np.zeros(len(words), int), starts, ends)
    for word, start, end in zip(words, got.starts, got.ends, strict=True):
        again = folded(text.encode()[start:end].decode(), folding)
        assert word.text in [one.text for one in gram_words(again)]


# ------------------------------------------------------------------------------------------ peers


@given(st.lists(fragments, max_size=25).map("".join))
@example("&#x0W")  # letters behind the hexadecimal ones, of either case
@example("&#x41G&#x41g&#x41`&#x41@&#65A")
@example("&#x39;&#x9A9;&#99;")
def test_entities_are_those_of_html_unescape(text):
    ours = folded(text, replace(NONE, entities=True))
    once = html.unescape(text)
    if html.unescape(once) == once:  # nothing was escaped twice
        assert ours == once


@pytest.mark.long_but("5")  # an eighth of the names
@pytest.mark.parametrize("step", range(8))
def test_every_named_character_with_and_without_what_follows(step):
    docs = [f"x&{name}{tail}" for name in sorted(html5)[step::8] for tail in ("", "=1", "z;", " ")]
    plain = [doc for doc in docs if html.unescape(html.unescape(doc)) == html.unescape(doc)]
    assert len(plain) > 0.98 * len(docs)
    assert fold(pa.array(plain), Folding()).text.to_pylist() == [
        reference.text_of(reference.fold(doc, Folding())) for doc in plain
    ]
    only = replace(NONE, entities=True)
    assert fold(pa.array(plain), only).text.to_pylist() == [html.unescape(doc) for doc in plain]


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another version of Unicode")
def test_gram_words_of_every_character_are_those_of_its_nfkc():
    only = replace(NONE, compat=True)
    chars = [chr(cp) for cp in code_points()]
    forms = [unicodedata.normalize("NFKC", c) for c in chars]
    alike = lookalikes()  # the lunate sigmas, in either case
    kept = [
        i for i, f in enumerate(forms) if (len(f) == 1 or f[0] != " ") and chars[i] not in alike
    ]
    assert len(chars) - len(kept) == 50 + len(alike)  # accents on a space
    assert sum(unicodedata.normalize("NFKC", c) != c for c in alike) == 2
    got = fold(pa.array([f"x{chars[i]}y" for i in kept]), only).text.to_pylist()
    expected = [f"x{forms[i]}y" for i in kept]
    differing = [i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b]
    assert [gram_form(got[i]) for i in differing] == [gram_form(expected[i]) for i in differing]


@given(st.text(st.characters(exclude_categories=["Cs", "Cn", "Mn", "Mc", "Lo", "Lm"])))
def test_gram_words_are_those_of_nfkc_where_nothing_is_composed(text):
    only = replace(NONE, compat=True)
    forms = [unicodedata.normalize("NFKC", c) for c in text]
    if all(len(form) == 1 or form[0] != " " for form in forms):  # no accents on a space
        assert gram_form(folded(text, only)) == gram_form(unicodedata.normalize("NFKC", text))


# ----------------------------------------------------------------------------------------- golden

LEAK = "a coffee shop sold fine office chairs, and that's all"


def fullwidth(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def bold(text):
    return "".join(chr(ord(c) - ord("a") + 0x1D41A) if "a" <= c <= "z" else c for c in text)


@pytest.mark.parametrize(
    ("disguise", "needed"),
    [
        (fullwidth(LEAK), ("compat",)),
        (fullwidth(LEAK).replace(" ", "\u3000"), ("compat",)),
        (bold(LEAK), ("compat",)),
        (LEAK.replace("ffi", "ﬃ").replace("ff", "ﬀ").replace("fi", "ﬁ"), ("compat",)),
        (LEAK.replace("a", "ª").replace("o", "ᵒ"), ("compat",)),
        ("\u200b".join(LEAK), ("invisible",)),
        (LEAK.replace("o", "\u00ado"), ("invisible",)),
        (LEAK.replace("o", "o\ufe0f\u2060\u202e\U000e0041"), ("invisible",)),
        (LEAK.translate(str.maketrans("aeoc", "аеос")), ("confusables",)),
        (LEAK.translate(str.maketrans("aoi", "αοι")), ("confusables",)),
        (LEAK.translate(str.maketrans("clC", "ϲӏϹ")), ("confusables",)),
        (LEAK.translate(str.maketrans("haos", "հаօѕ")), ("confusables",)),
        (LEAK.translate(str.maketrans("acdefhilnort", "ᴀᴄᴅᴇꜰʜɪʟɴᴏʀᴛ")), ("confusables",)),
        (LEAK.replace("a", "🅰").replace("coffee", "🅒🅞🅕🅕🅔🅔"), ("confusables",)),
        (LEAK.replace("'", "&#39;").replace(" ", "&nbsp;"), ("entities",)),
(LEAK.replace("'", "&apos;").replace("office", "&lt;&#x6F;ffice&gt;"), ("entities",)),
        (LEAK.replace("'", "&amp;#39;").replace("o", "&#111;"), ("entities",)),
        (LEAK.replace("'", "ʼ"), ("signs",)),
        (LEAK.replace("'", "´"), ("signs",)),
        (LEAK.replace("off", "of-\n   f").replace("cha", "cha-\r\n"), ("line_breaks",)),
        (LEAK.replace("coffee", "cof\u00ad\nfee"), ("line_breaks",)),
        (LEAK.replace("a", "á").replace("o", "o\u0308"), ("marks",)),
        (LEAK.replace("'", "’"), ()),
        (LEAK.replace(" ", "\u00a0").replace(",", "…,—“”‘"), ()),
    ],
)  # fmt: skip
def test_a_disguise_is_seen_through(disguise, needed):
    words = [w.text for w in gram_words(LEAK)]
    assert [w.text for w in gram_words(folded(disguise))] == words
    assert found_foldings(disguise) == needed


def test_disguises_mix():
    text = "the &#x430;nswer is &amp;quot;ｐаｙ\u200bpаl&amp;quot;"
    assert folded(text) == 'the answer is "paypal"'
    assert span_of(text, "paypal") == ("ｐаｙ\u200bpаl", ("compat", "invisible", "confusables"))
    assert span_of(text, "answer") == ("&#x430;nswer", ("entities", "confusables"))
    assert span_of(text, "the") == ("the", ())


@pytest.mark.parametrize(
    ("text", "part", "source", "needed"),
    [
        ("x\u200b zero\u200b y", "zero", "zero", ()),
        ("x\u200b ze\u200bro\u200b y", "zero", "ze\u200bro", ("invisible",)),
        ("eﬃcient", "f", "ﬃ", ("compat",)),
        ("eﬃcient", "icient", "ﬃcient", ("compat",)),
        ("eﬃcient", "cient", "cient", ()),
        ("an exam-\n  ple too", "example", "exam-\n  ple", ("line_breaks",)),
        ("&lt;b2&gt;", "b2", "b2", ()),
        ("a <b>big</b> dog", "a big", "a <b>big", ("markup",)),
        ("a<br>dog", "a dog", "a<br>dog", ("markup",)),
        ("is \\text{big}", "is {big", "is \\text{big", ("markup",)),
        ("&amp;lt;b", "<b", "&amp;lt;b", ("entities",)),
        ("a&shy;b", "ab", "a&shy;b", ("entities", "invisible")),
    ],
)
def test_a_span_names_its_source_and_what_it_needed(text, part, source, needed):
    assert span_of(text, part) == (source, needed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("а сосо", "а сосо"),  # nothing Latin near
        ("а сосо then", "a coco then"),
        ("then а сосо", "then a coco"),
        ("then а сосо then", "then a coco then"),
        ("iPhone у соседа", "iPhone у соседа"),
        ("IT-специалист с USB-портом", "IT-специалист с USB-портом"),
        ("Яндекс.Такси и SMS-а нет", "Яндекс.Такси и SMS-а нет"),
        ("pаypаl", "paypal"),
        ("pаypаlж", "pаypаlж"),
        ("it'ѕ", "it's"),
        ("nаi\u0308ve", "nai\u0308ve"),
        ("5 мкм and 3 μm", "5 мкм and 3 μm"),
    ],
)
def test_lookalikes_are_latin_where_latin_is_written(text, expected):
    assert folded(text, Folding()) == expected


REAL = {
    "Greek": "Ο ήλιος ανατέλλει αργά πάνω από τη θάλασσα, κι ο άνεμος φέρνει το άρωμα των πεύκων. "
    "Η Άννα και το ΝΑΤΟ: «όχι τώρα», είπε ο Νίκος. ΟΧΙ! Τι ώρα είναι; Δι’ αὐτὸν εἶπεν.",
    "Russian": "А у нас в саду росло старое дерево, и о нём все рассказывали. Он сказал: "
    "«Ах, а где она?» С утра — 5 °С, у моря теплее; СССР, США, НАТО. Сосо и Хосе ехали к ней.",
    "Ukrainian": "Її сусіди їхали до Києва і везли сіль, а він сидів у хаті й писав листа. "
    "І ось, о диво, усе стало ясно: ґанок, п'ять яблук та об’єкт.",
    "Bulgarian": "Аз съм тук, а ти си там. Утре ще отидем на море с кораб, "
    "за да видим острова. О, не!",
    "Serbian": "Ја сам овде, а ти си тамо. Он је рекао да ће сутра доћи са својом сестром. "
    "Је ли? Њ, Љ, Ђ.",
    "Armenian": "Այսօր եղանակը լավ է, իսկ մենք գնում ենք ծովի ափ։ Նա ասաց՝ ոչ։",
    "Georgian": "დღეს კარგი ამინდია და ჩვენ ზღვაზე მივდივართ. ყველაფერი კარგად იქნება.",
    "Chinese": "道可道，非常道；名可名，非常名。“无名天地之始。”",
    "Hindi": "आज मौसम अच्छा है और हम समुद्र के किनारे जा रहे हैं।",
    "Arabic": "الطقس جميل اليوم، ونحن ذاهبون إلى البحر.",
    "German": "Die Straße führt über den Fluß; „schön“, sagte er – und ging’s an.",
    "Turkish": "Isparta'da ılık bir gün, İstanbul'da yağmur.",
    "English": "It’s the “best” one—isn't it? See pages 3–5… 'tis naïve & cute: R&D, AT&T; a&b.",
}  # fmt: skip


@pytest.mark.parametrize("language", REAL)
def test_real_text_comes_back_untouched(language):
    assert needs_folding(pa.array([REAL[language]]), Folding()).tolist() == [0]
    doubled = f"{REAL['English']}\n{REAL[language]}\n{REAL['English']}"
    cut = fold(pa.array([doubled]), Folding()).text[0].as_py().removeprefix(REAL["English"])
    assert cut.removesuffix(REAL["English"]).strip() == REAL[language]


# -------------------------------------------------------------------------------------- the rest


def test_text_that_needs_nothing_is_the_same_buffer():
    docs = pa.array([*REAL.values(), "plain - \n text", "", "a & b"], pa.large_string())
    result = fold(docs, Folding())
    assert result.text.buffers()[2].address == docs.buffers()[2].address
    assert len(result.rows) == 0
    some = fold(pa.array([*docs.to_pylist(), "ｆｕｌｌ"]), Folding())
    assert some.rows.tolist() == [len(docs)]
    assert some.text.to_pylist() == [*docs.to_pylist(), "full"]


def test_a_slice_is_folded_like_a_copy():
    docs = pa.array(["ｘ", "ab\u00adc", "plain", "&lt;", "ｙ"])
    result = fold(docs.slice(1, 3), Folding())
    assert result.text.to_pylist() == ["abc", "plain", "<"]
    got = result.source_spans(np.array([0, 1, 2]), np.array([0, 0, 0]), np.array([3, 5, 1]))
    assert got.starts.tolist() == [0, 0, 0]
    assert got.ends.tolist() == [5, 5, 4]


def test_no_documents_and_empty_documents():
    assert fold(pa.array([], pa.string()), ALL).text.to_pylist() == []
    assert fold(pa.array(["", "\u200b", ""]), ALL).text.to_pylist() == ["", "", ""]


def test_nothing_is_folded_when_all_is_off():
    text = f"{fullwidth(LEAK)} &lt; \u200b а b ʼ"
    assert NONE.bits == 0
    assert needs_folding(pa.array([text]), NONE).tolist() == [0]


@pytest.mark.parametrize("name", FOLDINGS)
def test_a_folding_that_is_off_leaves_its_characters(name):
    sample = {
        "entities": "&lt;", "line_breaks": "ab-\ncd", "compat": "ﬁ", "invisible": "a\u200bb",
        "signs": "aʼb", "marks": "é", "confusables": "pаy", "markup": "a<b>a",
    }[name]  # fmt: skip
    assert folded(sample, ALL) != sample
    assert folded(sample, replace(ALL, **{name: False})) == sample
    assert found_foldings(sample) == (name,)


def test_growth_is_bounded():
    becomes = char_maps(ALL)
    # U+FDFA, three bytes, becomes 18 letters
    assert max(len(to.encode()) / len(c.encode()) for c, (to, _) in becomes.items()) == 11
    named = max(len(to.encode()) / (1 + len(name)) for name, to in html5.items())
    assert named <= 1.2
    assert folded("\ufdfa" * 3) == "صلى الله عليه وسلم" * 3


def test_names_are_no_longer_than_the_kernel_reads():
    assert max(map(len, html5)) == 32
    assert max(len(name) for name in html5 if not name.endswith(";")) == 6
    assert len(entities().name_ends) == len(html5) == 2231


def test_lists_of_characters_do_not_overlap():
    assert not lookalikes().keys() & char_maps(ALL).keys()
    assert not invisible().keys() & signs().keys()
    assert all(ord(c) > 127 for c in chain(lookalikes(), invisible(), signs(), char_maps(ALL)))


def test_nulls_are_refused():
    with pytest.raises(ValueError, match="text column has 1 nulls in 2 documents"):
        fold(pa.array(["a", None]), ALL)


def test_little_real_text_needs_folding(shared_data):
    path = next((shared_data / "text").rglob("c4-sample*.json.gz"))
    with gzip.open(path) as lines:
        docs = pa.array([json.loads(line)["text"] for line in lines])
    result = fold(docs, Folding())
    assert 0 < len(result.rows) < 0.05 * len(docs)
    lengths = text_buffers(result.text).lengths[result.rows]
    got = result.source_spans(result.rows, np.zeros(len(lengths), np.int64), lengths)
    for row, start, end in zip(result.rows, got.starts, got.ends, strict=True):
        source = docs[row].as_py().encode()[start:end].decode()
        assert folded(source, Folding()) == result.text[row].as_py()
