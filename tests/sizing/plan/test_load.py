"""A plan file is read strictly, and each mistake told in one line."""

import re

import pytest
from pydantic import ValidationError

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.plan import Plan, load_plan, parse_plan
from tokenmill.sizing.tables import TIERS


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
        (
            "cluster: {mfu: 140%}",
            "cluster.mfu: input should be less than or equal to 1, got '140%'",
        ),
        ("cluster: {mfu: much}", "cluster.mfu: 'much' is not a fraction; accepted: 40%, 0.4"),
        ("cluster: {mfu: true}", "cluster.mfu: input should be a valid number, got True"),
        ("cluster: {mfu: .nan}", "cluster.mfu: input should be a finite number, got nan"),
        (
            "model: {seq_len: 8k}",
            "model.seq_len: input should be a valid integer, got '8k'; write a plain number, as"
            " 1500",
        ),
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
            " 'raid6 8+2', '3 replicas', 'raid10' or 'none'",
        ),
        ("storage: {fill_frac: 0}", "storage.fill_frac: input should be greater than 0, got 0"),
        ("cluster: 3", "cluster: expected settings as {key: value}, got 3"),
        (
            "cluster:",
            "cluster: nothing stands there; write settings below it, as accelerator: …, or leave"
            " the key out",
        ),
        (
            "tiers:",
            "tiers: nothing stands there; write a list of rows, each - name: …, or leave the key"
            " out",
        ),
        (
            "model: {params: }",
            "model.params: nothing stands there; write a value, or leave the key out",
        ),
        (
            "tiers: {our NFS: {total_read_bytes_per_s: 3 GB/s}}",
            "tiers: expected a list of rows, each - name: …, got settings with keys our NFS",
        ),
        ("storage: {candidates: 3}", "storage.candidates: expected a list, as [A, B], got 3"),
        (
            "tiers: [{name: a, read_iops: 3}]",
            "tiers.0: unknown key 'read_iops'; say whose it is: total_read_iops (all of it),"
            " tib_read_iops (each TiB bought), drive_read_iops (each drive)",
        ),
        (
            "tiers: [{name: a, prefix_get: 3}]",
            "tiers.0: unknown key 'prefix_get'; did you mean 'prefix_get_per_s'?",
        ),
        (
            "cluster: {scale_up_bytes_per_s: 450 GB/s}",
            "cluster: unknown key 'scale_up_bytes_per_s'; no figure uses it; leave it out",
        ),
        ("checkpoints: {async: true}", "checkpoints: unknown key 'async'; write mode: async"),
        (
            "checkpoints: {interval: 1}",
            "checkpoints: unknown key 'interval'; did you mean 'interval_s'?",
        ),
        (
            "tiers: [{name: a, total_read_bytes_per_s: 20}]",
            "tiers.0.total_read_bytes_per_s: 20 has no unit; write the unit, as 20 GB/s",
        ),
        ("cluster: {hbm: 80}", "cluster.hbm: 80 has no unit; write the unit, as 80 GB"),
        (
            "cluster: {scale_out_bits_per_s: 400}",
            "cluster.scale_out_bits_per_s: 400 has no unit; write the unit, as 400 Gb/s",
        ),
        (
            "checkpoints: {interval_s: 10 parsecs}",
            "checkpoints.interval_s: '10 parsecs' is not a length of time; accepted: 10 min, 1h,"
            " 90 s, 2 days, or seconds without a unit",
        ),
        (
            "corpus: {tokens: -2T}",
            "corpus.tokens: '-2T' is negative; accepted: 8e9, 8B, 15T, 8 billion",
        ),
        ("model: {params: 13}", "model: params 13 are too few for a model; write 13B"),
        (
            "model: {params: 8B, active_params: 99_999}",
            "model: active_params 99999 are too few for a model; write 13B",
        ),
        (
            "training: {data_parallel: 2048}",
            "training.data_parallel 2,048 is more than cluster.count 1,024; a replica takes at"
            " least one accelerator",
        ),
        (
            "cluster: {nodes: 128}",
            "cluster: unknown key 'nodes'; write count: all accelerators of the job, which is"
            " nodes times accelerators of a node",
        ),
        ("cluster: {gpu: H100}", "cluster: unknown key 'gpu'; write accelerator: its name"),
        (
            "corpus: {size: 2 TB}",
            "corpus: unknown key 'size'; write raw_bytes: of its files, or tokens",
        ),
        (
            "storage: {bytes: 2 PB}",
            "storage: unknown key 'bytes'; how much to buy is what is computed",
        ),
        ("storage: {type: S3}", "storage: unknown key 'type'; write candidates: [its name]"),
        ("checkpoints: {every: 1h}", "checkpoints: unknown key 'every'; write interval_s: 30 min"),
        (
            "jobs: [{name: a, storage: {}}]",
            "jobs.0: unknown key 'storage'; known keys: name, copies, corpus, model, cluster,"
            " training, checkpoints",
        ),
        (
            "training: {days: 1e2}",
            "training.days: input should be a valid number, got '1e2'; write a plain number, as"
            " 1500 or 0.5",
        ),
        (
            "corpus: {tokens_per_doc: 0.5}",
            "corpus.tokens_per_doc: input should be greater than or equal to 1, got 0.5",
        ),
        ("corpus: {tokens: 2}", "corpus.tokens: 2 has no unit; write the unit, as 2 T"),
        ("training: {tokens: 15}", "training.tokens: 15 has no unit; write the unit, as 15 T"),
        (
            "storage: {redundancy: 3}",
            "storage.redundancy: unknown redundancy '3'; write '8+2' (data + parity),"
            " 'raid6 8+2', '3 replicas', 'raid10' or 'none'",
        ),
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


BANDWIDTHS = ("total", "client", "tib", "group", "drive")


@pytest.mark.parametrize("key", ["read_bytes_per_s", "read_gb_per_s", "read_bandwidth"])
def test_whose_limit_a_figure_of_a_tier_is_is_not_guessed(key):
    with pytest.raises(PlanError) as e:
        parse_plan(f"tiers: [{{name: a, {key}: 3 GB/s}}]", where="f")
    assert all(f"{scope}_read_bytes_per_s (" in str(e.value) for scope in BANDWIDTHS)
    assert "each TiB" in str(e.value)


def test_requests_a_second_as_people_write_them():
    rows = "[{name: a, total_read_iops: 2M, tib_read_iops: 5e5}]"
    (tier,) = parse_plan(f"tiers: {rows}", where="f").tiers
    assert (tier.total_read_iops, tier.tib_read_iops) == (2e6, 5e5)


def test_durations_and_percentages_as_people_write_them():
    plan = parse_plan(
        "checkpoints: {interval_s: 10 min, keep_every_s: 2 days, restart_s: 1h, stall_frac: 1%}\n"
        "storage: {growth_frac: 130 %, fill_frac: 0.7, page_cache_frac: 0%}\n"
        "loaders: {sample_cpu_s: 5 ms}\n"
        "cluster: {mfu: {value: 40%, low: 0.3, high: 45%}}",
        where="f",
    )
    written = plan.checkpoints
    assert (written.interval_s, written.keep_every_s, written.restart_s) == (600, 172_800, 3600)
    assert written.stall_frac == 0.01
    kept = plan.storage
    assert (kept.growth_frac, kept.fill_frac, kept.page_cache_frac) == (1.3, 0.7, 0)
    assert plan.loaders.sample_cpu_s == 0.005
    assert plan.input("cluster.mfu").interval == pytest.approx((0.3, 0.45))
    plain = parse_plan("checkpoints: {interval_s: 600}", where="f")
    assert plain.checkpoints.interval_s == 600


def test_one_candidate_needs_no_list():
    assert parse_plan("storage: {candidates: S3}", where="f").storage.candidates == ("S3",)


def test_a_row_of_a_list_is_changed_by_its_name_even_with_dots():
    text = "tiers: [{name: Lustre 2.15 x, tib_read_bytes_per_s: 1 GB/s}]"
    key = "tiers.Lustre 2.15 x.tib_read_bytes_per_s"
    (tier,) = parse_plan(text, where="f", changes={key: "2 GB/s"}).tiers
    assert tier.tib_read_bytes_per_s == 2e9


def test_a_row_of_the_table_is_changed_as_if_the_plan_gave_it():
    key = "tiers.nfs nconnect.client_write_bytes_per_s"
    (tier,) = parse_plan("", where="f", changes={key: "1 GB/s"}).tiers
    assert (tier.name, tier.client_write_bytes_per_s) == ("NFS nconnect", 1e9)
    assert tier.client_read_bytes_per_s == TIERS.find("NFS nconnect").client_read_bytes_per_s
    assert tier.source_of("client_write_bytes_per_s") == "NFS nconnect: stated in the plan"
    assert tier.source_of("client_read_bytes_per_s").startswith("NFS nconnect: Lockwood")
    key = "accelerators.H100 SXM.per_node"
    (accelerator,) = parse_plan("", where="f", changes={key: 4}).accelerators
    assert accelerator.per_node == 4


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("tiers.NSF.local", "tiers.NSF.local: unknown storage tier 'NSF'; did you mean 'NFS"),
        ("tiers.S3.colour", "tiers.0: unknown key 'colour'"),
    ],
)
def test_a_change_of_a_row_that_is_in_no_table_is_one_line(key, message):
    with pytest.raises(PlanError, match=re.escape(message)):
        parse_plan("", where="f", changes={key: 1})
