"""Every setting is documented, and knows whether it was stated or assumed."""

import pytest

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.fields import Assumed
from tokenmill.sizing.plan.plan import Plan, parse_plan, sections
from tokenmill.sizing.units import format_quantity

KEYS = [f"{section}.{name}" for section, model in sections().items() for name in model.model_fields]
MIXED = """
sources:
  - {name: web, tokens: 9T, weight: 3}
  - {name: images, tokens: 1T, weight: 1, image_text: {image_bytes: 300kB}}
"""


@pytest.mark.parametrize("key", KEYS)
def test_every_default_has_a_unit_and_a_source(key):
    section, _, name = key.partition(".")
    metadata = sections()[section].model_fields[name].metadata
    assert [type(m) for m in metadata].count(Assumed) == 1
    assert Plan().source(key).startswith(f"default of {key}")
    assert not Plan().stated(key)
    assert format_quantity(1.5, Plan().unit(key))


def test_an_input_says_whether_it_was_stated_even_if_it_equals_the_default():
    plan = parse_plan("cluster: {mfu: 0.4}", where="f")
    stated, assumed = plan.input("cluster.mfu"), Plan().input("model.seq_len")
    assert stated.source == "stated: cluster.mfu"
    assert assumed.source == "default of model.seq_len: Llama 3 8B"
    assert (stated.value, stated.unit, stated.measured) == (0.4, "fraction", False)


def test_an_input_of_text_shows_the_text_and_has_the_number_it_amounts_to():
    got = Plan().input("storage.redundancy", name="r", value=1.25)
    assert (got.name, got.value, got.unit) == ("r", 1.25, "ratio")
    assert got.source.startswith("default of storage.redundancy 8+2: our choice")


def test_a_setting_of_a_source_or_of_a_part_of_a_section_has_a_key_too():
    plan = parse_plan(MIXED, where="f")
    assert plan.value("sources.web.tokens") == 9e12
    given = plan.input("sources.images.image_text.image_bytes")
    assert (given.value, given.unit) == (300_000, "bytes")
    assert given.source == "stated: sources.images.image_text.image_bytes"
    assumed = plan.input("sources.images.image_text.tokens_per_image")
    assert assumed.source.startswith("default of sources.images.image_text.tokens_per_image: our")


def test_a_default_from_memory_is_marked_until_it_is_stated():
    assert not Plan().input("prices.accelerator_hour").verified
    stated = parse_plan("prices: {accelerator_hour: 2.0}", where="f")
    assert stated.input("prices.accelerator_hour").verified


def test_a_number_may_be_stated_with_its_interval():
    plan = parse_plan("cluster: {mfu: {value: 0.4, low: 0.3, high: 0.45}}", where="f")
    assert plan.cluster.mfu == 0.4
    assert plan.input("cluster.mfu").interval == (0.3, 0.45)
    assert plan.stated("cluster.mfu")
    counted = parse_plan("corpus: {tokens: {value: 15T, low: 14T, high: 17T}}", where="f")
    assert counted.input("corpus.tokens").interval == pytest.approx((14e12, 17e12))
    assert Plan().input("model.params").interval == (None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cluster: {mfu: {value: 0.4, low: 0.3}}",
            "an uncertain number is {value: …, low: …, high",
        ),
        (
            "cluster: {mfu: {value: 0.4, low: 0.5, high: 0.6}}",
            "mfu: 0.4 is not between low 0.5 and",
        ),
        ("cluster: {mfu: {value: 0.4, low: 0.3, high: 1.6}}", "less than or equal to 1, got 1.6"),
        (
            "cluster: {accelerator: {value: H100, low: A100, high: B200}}",
            "accelerator: an uncertain number is",
        ),
        ("sources: [{name: a, tokens: 1T}, {name: a, tokens: 2T}]", "two sources share a name"),
        (
            "sources: [{name: a, tokens: 1T, weight: 1}, {name: b, tokens: 2T}]",
            "source 'b' has no weight, 'a' has; give all or none",
        ),
        ("sources: [{name: a, weight: 1, epochs: 1}]", "source 'a' has a weight and epochs"),
        ("sources: [{name: a b}]", "'a b' is no name of a source"),
        (
            "corpus: {tokens: 1T}\nsources: [{name: a, tokens: 1T}]",
            "corpus.tokens and sources are both given; say it of each source",
        ),
        (
            "training: {days: 3}\nsources: [{name: a, tokens: 1T, epochs: 2}]",
            "training.days and epochs of the sources are both given",
        ),
        ("training: {days: 3, epochs: 2}", "training: days and epochs are both given"),
        ("cluster: {mfu: 0.4, precision: fp8}", "mfu 0.4 with precision: fp8 is of which peak?"),
        ("storage: {growth_frac: 30}", "30 is 3,000% a year; write 30%, or 3000%"),
        ("model: {<<: {params: 8B}}", "line 1: merge keys (<<) are not taken"),
        ("cluster: {mfu: 0.4, hfu: 0.5}", "mfu and hfu are both given"),
        ("model: {heads: 32, kv_heads: 5}", "kv_heads 5 do not divide heads 32"),
        ("checkpoints: {recipe: bf16+adm}", "unknown recipe 'bf16+adm'; did you mean"),
        ("training: {access: randm}", "unknown access pattern 'randm'; did you mean 'random'"),
        ("storage: {candidates: [NFSS]}", "unknown storage tier 'NFSS'"),
        ("network: {ingest_bits_per_s: 400 G}", "'400 G' does not say whether it means bytes (B)"),
    ],
)
def test_what_cannot_be_is_one_line(text, message):
    with pytest.raises(PlanError) as e:
        parse_plan(text, where="plan.yaml")
    assert message in str(e.value)
    assert "\n" not in str(e.value)


def test_400_gbps_are_bits():
    plan = parse_plan("network: {ingest_bits_per_s: 400Gbps}", where="f")
    assert plan.network.ingest_bits_per_s == 400e9


def test_an_accelerator_of_ones_own_is_known_by_its_name():
    plan = parse_plan(
        "cluster: {accelerator: ours}\n"
        "accelerators: [{name: ours, dense_flops_per_s: 1 PFLOP/s, hbm_bytes: 64GB, per_node: 2}]",
        where="f",
    )
    assert plan.accelerators[0].dense_flops_per_s == 1e15


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (
            "checkpoints: {mode: async, stall_frac: 1%}",
            "checkpoints.stall_frac is stated but has no effect with mode: async; it is of"
            " mode: sync",
        ),
        (
            "checkpoints: {drain_frac: 1%}",
            "checkpoints.drain_frac is stated but has no effect with mode: sync; it is of"
            " mode: async",
        ),
        (
            "checkpoints: {interval_s: 1h, most_interval_s: 2h}",
            "checkpoints.most_interval_s is stated but has no effect beside interval_s",
        ),
        (
            "storage: {growth_years: 3}",
            "storage.growth_years is stated but has no effect without storage.growth_frac",
        ),
        (
            "prices: {egress_per_gb: 0.05}",
            "prices.egress_per_gb is stated but has no effect without prices.egress",
        ),
        (
            "jobs: [{name: a}]\nloaders: {prefetch: 7}",
            "loaders.prefetch is stated, but its figures are told of a plan without jobs only",
        ),
        (
            "cluster: {count: 1001}",
            "cluster.count 1,001 is not a multiple of the 8 accelerators of a node: one node is"
            " not full",
        ),
        (
            "cluster: {per_node: 5}",
            "cluster.count 1,024 is not a multiple of the 5 accelerators of a node: one node is"
            " not full",
        ),
    ],
)
def test_what_has_no_effect_or_is_odd_is_remarked(text, remark):
    assert parse_plan(text, where="f").remarks() == [remark]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "checkpoints: {stall_frac: 1%}",
        "checkpoints: {mode: async, drain_frac: 50%}",
        "cluster: {accelerator: ours, dense_flops_per_s: 1 PFLOP/s, per_node: 4, count: 12}",
        "cluster: {count: 1}",
        "loaders: {prefetch: 7}",
        "jobs: [{name: a}]\nnetwork: {efficiency: 0.7}",
        "storage: {growth_frac: 0.1, growth_years: 3}",
        "prices: {egress: true, egress_per_gb: 0.05}",
    ],
)
def test_what_is_as_it_should_be_is_not(text):
    assert parse_plan(text, where="f").remarks() == []


@pytest.mark.parametrize("key", ["kept_frac: 0.5", "compression_ratio: 2", "image_text: {}"])
def test_what_is_said_of_the_corpus_beside_sources_is_never_ignored(key):
    with pytest.raises(PlanError, match="and sources are both given; say it of each source"):
        parse_plan(f"corpus: {{{key}}}\nsources: [{{name: a, tokens: 1T}}]", where="p")
    shared = "corpus: {vocab_size: 50000}\nsources: [{name: a, tokens: 1T}]"
    assert parse_plan(shared, where="p").corpus.vocab_size == 50_000


@pytest.mark.parametrize("key", ["storage.redundancy", "cluster.accelerator", "storage.holds"])
def test_what_is_no_number_is_no_input_of_a_formula_but_by_what_it_amounts_to(key):
    plan = parse_plan("cluster: {count: 8}", where="p")
    with pytest.raises(TypeError, match=f"^{key} is .*, no number$"):
        plan.input(key)
    assert plan.input(key, value=1.25).value == 1.25
    assert plan.input("cluster.count").value == 8
