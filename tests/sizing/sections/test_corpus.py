"""What is trained on, from one corpus or several, and the bytes behind each token."""

import pytest

from tests.sizing.corpora import estimate, measured
from tokenmill.sizing.corpus import read_corpus
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formulas import capacity, image_text
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections import corpus, rate
from tokenmill.sizing.sheet import Sheet


def sheet(text, **measurements):
    made = Sheet(parse_plan(text, where="plan"), measurements)
    for section in (rate, corpus):
        made.begin(section.TITLE)
        section.add(made)
    return made


def test_without_any_corpus_20_tokens_a_parameter_are_assumed():
    made = sheet("model: {params: 8B}")
    assert made["corpus tokens"].value == 160e9
    assert made["stored bytes a token"].value == 4
    assert made["documents"].value == pytest.approx(160e9 / 700)


def test_a_vocabulary_under_65_500_is_stored_in_two_bytes():
    assert sheet("corpus: {vocab_size: 65499}")["stored bytes a token"].value == 2
    assert sheet("corpus: {vocab_size: 65500}")["stored bytes a token"].value == 4
    assert (
        sheet("corpus: {vocab_size: 100, token_width_bytes: 4}")["stored bytes a token"].value == 4
    )


def test_a_measured_corpus_brings_its_tokens_bytes_and_documents():
    made = sheet("", corpus=measured())
    assert made["corpus tokens"].value == 2e6
    assert made["corpus tokens"].measured
    assert made["stored bytes a token"].interval == pytest.approx((2.2 - 0.0196, 2.2 + 0.0196))
    source = made.sources[0]
    assert (source.name, source.scaled, source.docs.value) == ("docs", False, 9000)
    assert "documents" not in made


def test_a_larger_corpus_than_was_measured_has_as_large_documents():
    made = sheet("corpus: {tokens: 4M}", corpus=measured())
    assert made.sources[0].scaled
    assert made["documents"].value == pytest.approx(18_000)


def test_an_estimate_gives_every_row_on_its_tokens_an_interval():
    made = sheet("", corpus=read_corpus(estimate(), where="e"))
    low, high = made["training time"].interval
    assert low / made["training time"].value == pytest.approx(0.2525 / 0.3)
    assert high / made["training time"].value == pytest.approx(0.3475 / 0.3)
    assert made["stored bytes a token"].interval == (4.0, 4.0)  # tokens cancel


def test_tokens_days_and_epochs_each_say_how_long():
    day = sheet("")["training rate"].value * 86_400
    assert sheet("training: {epochs: 3}", corpus=measured())["tokens trained on"].value == 6e6
    by_tokens = sheet("training: {tokens: 6M}", corpus=measured())
    assert by_tokens["epochs"].value == 3
    by_days = sheet("training: {days: 2}")
    assert by_days["tokens trained on"].value == pytest.approx(2 * day)
    assert by_days["training time"].value == pytest.approx(2)


def test_tokens_and_days_may_agree_but_not_contradict():
    day = sheet("")["training rate"].value * 86_400
    assert sheet(f"training: {{tokens: {day:.0f}, days: 1}}")["training time"].value == (
        pytest.approx(1)
    )
    with pytest.raises(PlanError) as e:
        sheet(f"training: {{tokens: {3 * day:.0f}, days: 1}}")
    assert "take 3 days, and training.days is 1; give one, or cluster.count 3,072" in str(e.value)


def test_image_text_samples_weigh_what_their_images_do():
    made = sheet("corpus: {tokens: 1T, image_text: {}}")
    assert made["stored bytes a token"].value == pytest.approx(222.8, abs=0.05)
    assert made["tokens a sample"].value == 1124


MIXED = """
model: {params: 8B}
sources:
  - {name: web, tokens: 900B, weight: 3}
  - {name: images, tokens: 100B, weight: 1, image_text: {}}
"""


def test_sources_are_mixed_by_weight():
    made = sheet(f"{MIXED}\ntraining: {{tokens: 1T}}")
    assert made["corpus tokens"].value == 1e12
    assert made["tokens trained on, web"].value == 750e9
    assert made["epochs, images"].value == pytest.approx(2.5)
    assert made["stored bytes a token"].value == pytest.approx(0.75 * 4 + 0.25 * 222.776, rel=1e-5)
    assert [s.name for s in made.sources] == ["web", "images"]


def test_sources_are_mixed_by_epochs():
    made = sheet(
        "sources: [{name: a, tokens: 1T, epochs: 2}, {name: b, tokens: 2T, epochs: 0.5,"
        " token_width_bytes: 2}]"
    )
    assert made["tokens trained on"].value == 3e12
    assert made["stored bytes a token"].value == pytest.approx((2 * 4 + 1 * 2) / 3)


def test_without_weights_sources_are_seen_as_often_as_each_other():
    made = sheet("sources: [{name: a, tokens: 1T}, {name: b, tokens: 3T}]\ntraining: {tokens: 2T}")
    assert made["epochs, a"].value == made["epochs, b"].value == 0.5


def test_a_measured_source_among_stated_ones():
    made = sheet(
        "sources: [{name: a, weight: 1}, {name: b, tokens: 2M, weight: 1}]\ntraining: {tokens: 8M}",
        a=measured(),
    )
    assert made["corpus tokens"].value == 4e6
    assert made["stored bytes a token"].value == pytest.approx((2.2 + 4) / 2)


def test_a_source_of_unknown_size_is_refused():
    with pytest.raises(PlanError, match="sources.a: neither tokens nor a path is given"):
        sheet("sources: [{name: a}]")


def test_the_tokens_of_one_source_may_have_an_interval():
    made = sheet(
        "sources: [{name: a, tokens: {value: 1T, low: 0.8T, high: 1.4T}, epochs: 1},"
        " {name: b, tokens: 2T, epochs: 1}]"
    )
    assert made["tokens trained on"].interval == pytest.approx((2.8e12, 3.4e12))


def test_tokens_or_days_of_training_size_the_corpus_where_nothing_else_does():
    made = sheet("training: {tokens: 15T}")
    assert (made["corpus tokens"].value, made["epochs"].value) == (15e12, 1)
    assert made["corpus tokens"].inputs[0].source.startswith("stated: training.tokens, each seen")
    by_days = sheet("training: {days: 2}")
    assert by_days["corpus tokens"].value == by_days["tokens trained on"].value


def test_an_uncertain_source_without_weights_is_counted_once():
    made = sheet(
        "sources: [{name: a, tokens: {value: 1T, low: 0.5T, high: 1.5T}}, {name: b, tokens: 1T}]"
    )
    assert made["tokens trained on, a"].interval == pytest.approx((0.5e12, 1.5e12))
    assert made["tokens trained on, b"].interval == pytest.approx((1e12, 1e12))
    assert made["stored bytes a token"].interval == pytest.approx((4, 4))


def test_runs_of_one_name_are_uncertain_each_for_itself():
    one = {"value": 1e9, "low": 0.5e9, "high": 1.5e9}
    made = sheet("sources: [{name: a}, {name: b}]", a=measured(tokens=one), b=measured(tokens=one))
    assert made["corpus tokens"].interval == pytest.approx(
        (2e9 - 0.5e9 * 2**0.5, 2e9 + 0.5e9 * 2**0.5)
    )
    drawn = {n: {"value": 1e9, "draws": [1e9] * n} for n in (40, 50)}
    mixed = sheet(
        "sources: [{name: a}, {name: b}]",
        a=measured(tokens=drawn[40]),
        b=measured(tokens=drawn[50]),
    )
    assert mixed["corpus tokens"].value == 2e9


def test_one_source_is_a_mixture_too():
    made = sheet("sources: [{name: trained_tokens, tokens: 1T, epochs: 3}]")
    assert made["tokens trained on"].value == 3e12
    assert made["tokens trained on, trained_tokens"].value == 3e12


def test_a_source_may_have_a_vocabulary_of_its_own():
    made = sheet("sources: [{name: a, tokens: 1T, vocab_size: 50000}, {name: b, tokens: 1T}]")
    assert [s.token_width_bytes.value for s in made.sources] == [2, 4]


def test_what_a_measurement_overrides_is_said():
    made = sheet("corpus: {token_width_bytes: 4, vocab_size: 100}", corpus=measured())
    assert made.warnings == [
        "corpus.token_width_bytes is not used, as corpus was measured",
        "corpus.vocab_size is not used, as corpus was measured",
    ]


@pytest.mark.parametrize(
    ("plan", "seen"),
    [
        ("{corpus: {tokens: 1G}, training: {tokens: 4G}}", []),
        ("{corpus: {tokens: 1G}, training: {tokens: 5G}}", ["corpus is seen 5.0 times"]),
        ("{sources: [{name: a, tokens: 1G, epochs: 9}]}", ["a is seen 9.0 times"]),
        (
            "{sources: [{name: a, tokens: 1T, weight: 1}, {name: b, tokens: 1G, weight: 9}]}",
            ["b is seen 900.9 times"],
        ),
    ],
)
def test_tokens_that_are_seen_more_often_than_helps_are_told(plan, seen):
    assert [w.partition(" in training")[0] for w in sheet(plan).warnings] == seen


def test_figures_without_any_result_are_refused_in_a_line():
    with pytest.raises(PlanError, match="stored in all, grown cannot be computed") as e:
        requirement_sheet(
            parse_plan("storage: {growth_frac: 100000000%, growth_years: 1.0e+4}", where="p"), {}
        )
    assert "\n" not in str(e.value)


def test_a_formula_of_a_sample_takes_the_sample_s_text_not_the_corpus():
    made = sheet("corpus: {tokens: 1T, image_text: {}}")
    (source,) = made.sources
    made.of(source, "text of all", capacity.text_bytes)
    again = made.of(source, "bytes of one", image_text.sample_bytes)
    assert again.value == made["bytes a sample"].value


def test_tokens_of_an_image_that_nothing_uses_are_told_with_the_key_that_is_used():
    """Of samples that are stated, 1,024 were taken in silence."""
    (warning,) = sheet("corpus: {tokens: 3B, image_text: {}, tokens_per_image: 576}").warnings
    assert warning == (
        "corpus.tokens_per_image is not used, as corpus was not measured: state"
        " corpus.image_text.tokens_per_image"
    )
