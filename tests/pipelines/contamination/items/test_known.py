import pytest

from tokenmill.pipelines.contamination.items.rows import parse_hub
from tokenmill.pipelines.contamination.items.spec import by_name, find, read_known

ASKED_FOR = (
    "GSM8K, HumanEval, MBPP, MMLU, MMLU-Pro, ARC-Easy, ARC-Challenge, HellaSwag, BoolQ, PIQA,"
    " WinoGrande, TruthfulQA, MATH, BBH, SQuAD, TriviaQA, LAMBADA, CommonsenseQA, OpenBookQA,"
    " DROP, Natural Questions, GPQA, IFEval"
)


@pytest.mark.parametrize("name", ASKED_FOR.split(", "))
def test_the_well_known_are_known(name):
    assert by_name(name) is not None


@pytest.mark.parametrize("name", ["arc_easy", "ARC-E", "Arc Easy", "ai2-arc-easy", "arceasy"])
def test_only_letters_and_digits_of_a_name_count(name):
    assert find(name).name == "arc-easy"


@pytest.mark.parametrize("name", ["gsm8k-train", "GSM8K_test", "gsm8k.val", "gsm8kvalidation"])
def test_a_split_of_a_benchmark_has_its_fields(name):
    assert by_name(name) is None
    assert find(name).name == "gsm8k"


@pytest.mark.parametrize("name", ["test", "train", "stdlib-functions", "quiz", "-"])
def test_other_names_are_not_known(name):
    assert find(name) is None


def test_no_two_benchmarks_share_a_name():
    names = [name for k in read_known() for name in (k.name, *k.aliases)]
    assert len({by_name(n).name for n in names}) == len(read_known())
    for k in read_known():
        assert {by_name(n).name for n in (k.name, *k.aliases)} == {k.name}


@pytest.mark.parametrize("known", read_known(), ids=lambda k: k.name)
def test_each_names_a_split_on_the_hub_and_fields_with_their_source(known):
    found = parse_hub(known.hub)
    assert found.split
    assert not any(c is not None and (" " in c or not c) for c in found.configs)
    for export in known.exports:
        assert len(set(export.fields)) == len(export.fields)
        assert export.source


def test_every_task_is_read():
    assert len(parse_hub(by_name("bbh").hub).configs) == 27
    assert len(parse_hub(by_name("math").hub).configs) == 7
