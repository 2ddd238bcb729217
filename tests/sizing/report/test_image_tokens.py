"""Tokens of an image are stated, or told as unknown with the sheet for several."""

import pytest

from tests.sizing.corpora import illustrated
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.notes import by_image_tokens
from tokenmill.sizing.report.outline import answer
from tokenmill.sizing.requirements import requirement_sheet

PLACEHOLDERS = {"tokens_per_image": {"value": 1.0}, "text_tokens": {"value": 22.25}}


def sheet(text="", tokens=1.0):
    found = illustrated().with_image_tokens(tokens)
    return requirement_sheet(parse_plan(text, where="p"), {"corpus": found})


def test_a_placeholder_for_each_image_is_not_taken_for_what_a_model_sees():
    made = sheet()
    told = next(w for w in made.warnings if "tokens of an image are unknown" in w)
    assert "1,531 are taken" in told  # 300,000 pixels in patches of 14 x 14
    assert made["tokens a sample"].value == pytest.approx(22.25 + 300_000 / 196)
    stated = sheet("corpus: {tokens_per_image: 256}")
    assert not any("unknown" in w for w in stated.warnings)
    assert stated["tokens a sample"].value == pytest.approx(278.25)
    assert by_image_tokens(stated) is None
    assert by_image_tokens(sheet(tokens=200.0)) is None


def test_nothing_is_bought_by_reads_that_are_the_least_of_what_images_may_ask():
    """What to buy took the lowest reads of the table beside it."""
    made = sheet()
    told = "the tokens of an image are not known, and fewer read faster"
    assert answer(made).startswith(f"Do not buy by this, see the warning: {told}; training")
    few, read = sheet("corpus: {tokens_per_image: 64}"), "read bandwidth, whole job"
    assert few[read].value > made[read].value
    assert "not known" not in answer(few)


def test_the_sheet_is_shown_for_four_numbers_of_them():
    made = sheet()
    shown = by_image_tokens(made)
    assert [row[0] for row in shown.rows] == ["64", "256", "576", "patch 14"]
    assert shown.rows[3][2] == made["read bandwidth, whole job"].shown
    assert len({row[2] for row in shown.rows}) == 4


def test_more_ids_are_more_tokens_and_bytes():
    one = illustrated().with_image_tokens(1.0)
    more = one.with_image_tokens(101.0)
    added = 9_000 * 100
    assert more.tokens.value - one.tokens.value == added
    assert more.stored_bytes["dataset"].value - one.stored_bytes["dataset"].value == 2 * added
