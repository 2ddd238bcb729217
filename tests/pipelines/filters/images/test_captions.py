"""Captions that may say something of their image, and those that do not."""

import tarfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.strategies import batches, document
from tests.pipelines.read.images.verdicts import checked, document_verdicts
from tests.reference import captions as twins
from tokenmill.pipelines.filters.images.captions import Captions

PIECES = [
    "", " ", "\n", "\t", "image", "Image ", "IMG", "_1234", "1234", ".jpg", "photo of", " a red",
    " door", "https://a.org/", "www.a.org", "1920x1080", "640 \u00d7 480px", "(1)", "\u00a0", "[",
    "]", "no ", "图片", "é", "e\u0301", "İmage", "\x1c", "\u2028", "12", "0123456789abcdef",
    "\u017f", "DSC",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def maybe(values):
    return st.none() | values


shares = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
stages = st.builds(
    Captions,
    empty=st.booleans(),
    urls=st.booleans(),
    file_names=st.booleans(),
    boilerplate=st.booleans(),
    min_words=maybe(st.integers(0, 3)),
    max_words=maybe(st.integers(3, 8)),
    min_chars=maybe(st.integers(0, 8)),
    max_chars=maybe(st.integers(8, 30)),
    max_char_repetition_ratio=maybe(shares),
    char_ngram=st.integers(1, 5),
    max_word_repetition_ratio=maybe(shares),
    word_ngram=st.integers(1, 3),
)


@given(batches(document(texts)), stages | st.just(Captions()))
def test_the_rules_are_their_twin(batch, stage):
    result = checked(stage, batch)
    assert result.images is None
    expected = [twins.captions(row, stage) for row in batch.to_pylist()]
    assert document_verdicts(result, batch) == expected


@given(st.lists(texts, max_size=6))
@example(["\nIMG_1234\nimage", "image\n\nhttp://a.org", "http://a.org\na.jpg"])
def test_what_a_caption_is(captions):
    only_kinds = Captions(
        min_words=None, max_words=None, min_chars=None, max_char_repetition_ratio=None
    )
    stage = only_kinds.model_copy(update={"max_word_repetition_ratio": None})
    batch = illustrated([(text, [image(0)]) for text in captions])
    reasons = [reason for reason, _ in document_verdicts(checked(stage, batch), batch)]
    assert reasons == [twins.kind_of(text) for text in captions]


def test_captions_that_people_wrote_stay(shared_data):
    with tarfile.open(shared_data / "images" / "coco_ccby_wds.tar") as tar:
        members = [m for m in tar if m.name.endswith(".txt")]
        captions = [tar.extractfile(m).read().decode() for m in members]
    assert len(captions) == 51
    batch = illustrated([(text, [image(0)]) for text in captions])
    assert checked(Captions(), batch).removed.num_rows == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_words": 9, "max_words": 3}, "min_words 9 is over max_words 3; nothing would be"),
        ({"min_chars": 9, "max_chars": 3}, "min_chars 9 is over max_chars 3; nothing would be"),
        ({"max_word_repetition_ratio": 7}, "less than or equal to 1"),
    ],
)
def test_what_a_mistake_reads_like(settings, message):
    with pytest.raises(ValidationError) as e:
        Captions.model_validate(settings)
    assert message in e.value.errors()[0]["msg"]


OFF = {
    name: False if field.annotation is bool else None
    for name, field in Captions.model_fields.items()
    if name not in ("action", "column", "char_ngram", "word_ngram")
}
ALONE = [
    *({rule: True} for rule in ("empty", "urls", "file_names", "boilerplate")),
    *({rule: 2} for rule in ("min_words", "max_words")),
    *({rule: 6} for rule in ("min_chars", "max_chars")),
    {"max_char_repetition_ratio": 0.25, "char_ngram": 2},
    {"max_word_repetition_ratio": 0.25, "word_ngram": 1},
]


@pytest.mark.parametrize("rule", ALONE, ids=str)
def test_each_rule_alone_is_its_twin_on_every_two_pieces(rule):
    stage = Captions(**OFF | rule)
    made = [f"{a}{b}{end}" for a in PIECES for b in PIECES[::8] for end in ("", f" {a}")]
    batch = illustrated([(text, [image(0)]) for text in made])
    expected = [twins.captions(row, stage) for row in batch.to_pylist()]
    assert document_verdicts(checked(stage, batch), batch) == expected
    assert {reason for reason, _ in expected} > {None}
