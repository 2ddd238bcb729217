"""A plan file is read strictly, and each mistake told in one line."""

import re

import pytest
from pydantic import ValidationError

from sizing.errors import PlanError
from sizing.plan.load import load_plan, parse_plan
from sizing.plan.plan import Plan


def test_without_a_file_or_with_an_empty_one_every_default_is_assumed():
    assert load_plan(None) == Plan() == parse_plan("# nothing\n", where="f")


def test_a_plan_as_people_write_it(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text(
        "corpus: {tokens: 15.6T}\n"
        "cluster: {accelerator: h100, count: 16_384, mfu: 0.4}\n"
        "model: {params: 405B, active_params: 405e9}\n"
        "training: {epochs: 2, read_amplification: 1}\n"
        "storage: {redundancy: 3 replicas}\n"
    )
    plan = load_plan(path)
    assert plan.corpus.tokens == 15.6e12
    assert plan.cluster.count == 16_384
    assert plan.model.params == plan.model.active_params == 405e9
    assert plan.training.epochs == 2.0
    assert plan.storage.redundancy == "3 replicas"
    assert plan.storage.fill_frac == 0.8


def test_an_accelerator_that_is_not_in_the_table_can_be_given_by_its_figures():
    plan = parse_plan(
        "cluster: {accelerator: ours, dense_flops_per_s: 1.5 PFLOP/s, per_node: 4}", where="f"
    )
    assert plan.cluster.dense_flops_per_s == 1.5e15
    with pytest.raises(PlanError, match="f: cluster.accelerator: unknown accelerator 'ours'"):
        parse_plan("cluster: {accelerator: ours, dense_flops_per_s: 1.5e15}", where="f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clustr: {}", "unknown key 'clustr'; did you mean 'cluster'?"),
        ("cluster: {mfuu: 1}", "cluster: unknown key 'mfuu'; did you mean 'mfu'?"),
        (
            "model: {colour: 1}",
            "model: unknown key 'colour'; known keys: params, active_params, layers, hidden, heads,"
            " kv_heads, head_dim, seq_len",
        ),
        (
            "cluster: {count: -1}",
            "cluster.count: input should be greater than or equal to 1, got -1",
        ),
        ("cluster: {mfu: 1.5}", "cluster.mfu: input should be less than or equal to 1, got 1.5"),
        ("cluster: {mfu: 40%}", "cluster.mfu: input should be a valid number, got '40%'"),
        ("cluster: {mfu: true}", "cluster.mfu: input should be a valid number, got True"),
        ("cluster: {mfu: .nan}", "cluster.mfu: input should be a finite number, got nan"),
        ("model: {seq_len: 8k}", "model.seq_len: input should be a valid integer, got '8k'"),
        (
            "model: {params: 405GB}",
            "model.params: '405GB' is not a count; accepted: 8e9, 8B, 15T, 8 billion",
        ),
        (
            "cluster: {dense_flops_per_s: 989T}",
            "cluster.dense_flops_per_s: '989T' is not a rate in FLOP/s;"
            " accepted: 989 TFLOP/s, 989e12",
        ),
        (
            "model: {params: 8B, active_params: 9B}",
            "model: active_params 9e+09 are more than params 8e+09",
        ),
        (
            "training: {tokens: 1T, epochs: 2}",
            "training: tokens and epochs are both given; give one, the other follows",
        ),
        (
            "storage: {redundancy: RAID}",
            "storage.redundancy: unknown redundancy 'RAID'; write '8+2' (data + parity),"
            " '3 replicas', 'raid10' or 'none'",
        ),
        ("storage: {fill_frac: 0}", "storage.fill_frac: input should be greater than 0, got 0"),
        ("cluster: 3", "cluster: expected settings as {key: value}, got 3"),
        ("cluster:", "cluster: expected settings as {key: value}, got None"),
        ("cluster: {mfu: .4, mfu: .5}", "key 'mfu' stands twice, again in line 1"),
        ("- a", "a plan is a mapping of settings, got list"),
    ],
)
def test_a_mistake_is_one_line_with_place_value_and_way_out(text, message):
    with pytest.raises(PlanError) as e:
        parse_plan(text, where="plan.yaml")
    assert str(e.value) == f"plan.yaml: {message}"


@pytest.mark.parametrize("text", ["a: b: c", "storage: {[1]: 2}", "x: !!python/object:os.x {}"])
def test_what_is_not_plain_yaml_is_one_line_too(text):
    with pytest.raises(PlanError, match=r"^plan.yaml: not YAML: [^\n]+$"):
        parse_plan(text, where="plan.yaml")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(PlanError, match=r"none.yaml: cannot read the plan \(No such file"):
        load_plan(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"cluster: \xff")
    with pytest.raises(PlanError, match=r"bad.yaml: not UTF-8 text \(invalid start byte at byte 9"):
        load_plan(tmp_path / "bad.yaml")


def test_a_plan_cannot_change():
    with pytest.raises(ValidationError, match="frozen"):
        Plan().model.params = 1.0


def test_settings_are_changed_by_key():
    text = "model: {params: 8B}\nsources: [{name: web, tokens: 1T}, {name: code, tokens: 2T}]"
    changes = {"model.params": "70B", "cluster.count": 256, "sources.code.tokens": "3T"}
    plan = parse_plan(text, where="f", changes=changes)
    assert (plan.model.params, plan.cluster.count) == (70e9, 256)
    assert [source.tokens for source in plan.sources] == [1e12, 3e12]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("model.parms", "model: unknown key 'parms'; did you mean 'params'?"),
        ("sources.books.tokens", "sources has none of the name 'books'"),
        ("model.params.more", "params is 8, not settings as {key: value}"),
    ],
)
def test_a_change_of_what_is_not_there_is_one_line(key, message):
    text = "model: {params: 8}\nsources: [{name: web, tokens: 1T}]"
    with pytest.raises(PlanError, match=re.escape(message)):
        parse_plan(text, where="f", changes={key: 1})
