"""What-if: every combination once, in order, each as if the plan said so."""

import json

import pytest

from tests.sizing.document.pages import tables_of
from tokenmill.sizing.comparison import (
    MOST_CASES,
    MOST_TIERS,
    Variation,
    compare,
    comparison_json,
    comparison_markdown,
    figures,
    parse_variation,
    tier_figures,
    tiers_json,
    warned,
)
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.requirements import headline, size
from tokenmill.sizing.verdict import judge, to_buy


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("model.params=1e9,8B", ("1e9", "8B")),
        ("cluster.count=256, 1024", (256, 1024)),
        ("checkpoints.write_bytes_per_s=50 GB/s,500Gbps", ("50 GB/s", "500Gbps")),
        ("checkpoints.mode=sync,async", ("sync", "async")),
        ("checkpoints.broadcast=true,false", (True, False)),
        ("storage.redundancy=8+2,3 replicas", ("8+2", "3 replicas")),
        ("storage.candidates=[S3],[HDD, S3]", (["S3"], ["HDD", "S3"])),
        (
            "cluster.mfu={value: 0.4, low: 0.3, high: 0.5}",
            ({"value": 0.4, "low": 0.3, "high": 0.5},),
        ),
    ],
)
def test_values_are_written_as_in_a_plan(text, values):
    assert parse_variation(text) == Variation(text.partition("=")[0], values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model.params", "write KEY=V1,V2"),
        ("model.params=", "write KEY=V1,V2"),
        ("=1,2", "write KEY=V1,V2"),
        ("model.params=1,,2", "the values are no YAML list"),
        ("model.params=~,2", "a value is missing"),
        ("model.params=[1", "the values are no YAML list"),
    ],
)
def test_what_is_no_variation(text, said):
    with pytest.raises(PlanError, match=said) as e:
        parse_variation(text)
    assert text in str(e.value)
    assert "\n" not in str(e.value)


def cases(*texts, plan=None):
    return compare(plan, [parse_variation(text) for text in texts])


def test_every_combination_is_a_case_the_last_setting_varying_fastest():
    made = cases("model.params=1B,8B,70B", "cluster.count=256,1024")
    assert [tuple(case.changes.values()) for case in made] == [
        (params, count) for params in ("1B", "8B", "70B") for count in ("256", "1024")
    ]
    for case in made:
        changes = {"model.params": case.changes["model.params"]}
        changes["cluster.count"] = int(case.changes["cluster.count"])
        expected = {row.name: row.value for row in size(changes=changes)}
        assert {row.name: row.value for row in case.sheet} == expected


def test_a_plan_is_varied_on_top_of_what_it_says():
    (case,) = cases("cluster.count=512", plan="llama-8b-1024-h100")
    assert case.sheet["nodes"].value == 64
    assert case.sheet.stated("storage.growth_frac")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("cluster.count=1", "cluster.count=2"), "--vary cluster.count is given twice"),
        (
            ("cluster.count=" + ",".join(map(str, range(1, 10))),) * 1
            + ("model.params=" + ",".join(f"{n}B" for n in range(1, 9)),),
            f"--vary makes 72 combinations, at most {MOST_CASES} are compared",
        ),
        (("model.param=1",), "with model.param=1: plan: model: unknown key 'param'"),
        (("cluster.count=8,-8",), "with cluster.count=-8: plan: cluster.count: "),
        (("checkpoints.write_bytes_per_s=400 G",), "does not say whether it means bytes"),
        (("model.params.x=1",), "with model.params.x=1: "),
    ],
)
def test_what_cannot_be_compared(texts, said):
    with pytest.raises(PlanError) as e:
        cases(*texts)
    assert said in str(e.value)
    assert "\n" not in str(e.value)


def test_what_is_wrong_with_the_plan_itself_is_not_blamed_on_a_variation(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("model: {param: 1}")
    with pytest.raises(PlanError, match=f"^{path}: model: unknown key"):
        cases("cluster.count=8", plan=str(path))


def test_as_data_and_as_markdown():
    made = cases("cluster.mfu=0.3,0.9", plan="llama-8b-1024-h100")
    data = comparison_json(made)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [case["changes"] for case in data["cases"]] == [
        {"cluster.mfu": "0.3"},
        {"cluster.mfu": "0.9"},
    ]
    first = data["cases"][0]["headline"]
    assert [row["name"] for row in first] == [row.name for row in headline(made[0].sheet)]
    text = comparison_markdown(made)
    for rows in tables_of(text):
        assert [row[0].strip() for row in rows] == ["cluster.mfu", "---", "0.3", "0.9"]
    assert len(warned(made)) == len(data["cases"][1]["warnings"]) == 1
    assert "Warning with cluster.mfu=0.9: MFU 0.9 is above 0.803" in text


def test_a_figure_that_a_case_does_not_have_is_a_dash():
    made = cases("checkpoints.restart_load_frac=0,0.1")
    assert figures(made)["restart read bandwidth"] == ("—", "1.12 GB/s")
    assert "| — |" in comparison_markdown(made)


def test_the_tiers_of_each_case_are_told_as_data_and_as_markdown():
    made = cases("storage.candidates=S3,[FSx Lustre 125, S3]")
    assert [case.changes["storage.candidates"] for case in made] == ["S3", "[FSx Lustre 125, S3]"]
    first, second = (case["tiers"] for case in comparison_json(made)["cases"])
    assert [tier["tier"] for tier in first] == ["S3"]
    assert [tier["tier"] for tier in second] == ["FSx Lustre 125", "S3"]
    assert second[1] == first[0]
    header, _, *rows = list(tables_of(comparison_markdown(made)))[1]
    assert [cell.strip() for cell in header[1:]] == ["S3", "FSx Lustre 125"]
    assert rows[0][2].strip() == "—"
    assert rows[1][2].strip() == second[0]["told"]


CHECKPOINTS = "checkpoint write bandwidth, whole job"
OURS = [{"name": "ours", "total_write_bytes_per_s": "100 GB/s"}]


def sheet(**changes):
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return size(changes={"storage.candidates": ["ours"], "tiers": OURS, **keys})


def test_a_tier_that_is_enough_tells_what_uses_most_of_it():
    made = sheet()
    used = made[CHECKPOINTS].value / 100e9
    ((told,),) = tier_figures([made]).values()
    assert told.endswith(f"checkpoint writes use {100 * used:.3g} %")
    (tier,) = tiers_json(made)
    assert tier["told"] == told
    assert tier["to_buy"]["value"] == to_buy(judge(made)).value


def test_of_several_limits_the_one_nearest_to_its_end_is_told():
    more = {
        "name": "ours",
        "total_write_bytes_per_s": "100 GB/s",
        "total_read_bytes_per_s": "2 GB/s",
    }
    made = sheet(tiers=[more])
    ((told,),) = tier_figures([made]).values()
    used = made["restart read bandwidth"].value / 2e9
    assert told.endswith(f"restart reads use {100 * used:.3g} %")


def test_a_figure_of_a_tier_that_is_varied_shows():
    half = {"tiers.ours.total_write_bytes_per_s": "50 GB/s"}
    first, second = tier_figures([sheet(), sheet(**half)])["ours"]
    assert first != second


def test_no_amount_is_told_with_the_requirement_that_it_fails():
    made = sheet(tiers=[{"name": "ours", "total_write_bytes_per_s": "1 MB/s"}])
    ((told,),) = tier_figures([made]).values()
    assert "checkpoint writes short 207 x" in told
    assert tiers_json(made)[0]["to_buy"] is None


def test_what_decides_the_amount_is_named():
    made = sheet(tiers=[{"name": "ours", "tib_write_bytes_per_s": "10 MB/s"}])
    ((told,),) = tier_figures([made]).values()
    assert told.endswith("; for checkpoint writes")
    needed = made[CHECKPOINTS].value / 10e6 * 1024**4
    assert tiers_json(made)[0]["to_buy"]["value"] == pytest.approx(needed)


def test_without_candidates_the_first_tiers_are_compared_own_ones_first():
    names = list(tier_figures([size(changes={"tiers": OURS})]))
    assert len(names) == MOST_TIERS
    assert names[0] == "ours"


def test_a_case_that_is_not_to_be_bought_by_says_so_before_it_warns():
    """Of `--vary` only the warning told it, which says nothing of buying."""
    made = cases("model.params=8B,405B", "training.tokens=1B", "cluster.count=64")
    told = [sentence.partition(" with")[0] for sentence in warned(made)]
    why = "do not buy by this: the memory of 64 accelerators does not hold the model in training"
    assert told[0].startswith(
        f"with model.params=405B, training.tokens=1B, cluster.count=64: {why}"
    )
    assert sum("do not buy" in sentence for sentence in told) == 1
    of_cases = [case["obstacles"] for case in comparison_json(made)["cases"]]
    assert of_cases == [[], made[1].sheet.obstacles]
