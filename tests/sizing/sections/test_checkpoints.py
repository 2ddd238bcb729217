"""Checkpoints of published size and rate, waited for or not, and the time they cost."""

import pytest

from tests.sizing.sections.sheets import OF_405B, sheet, values
from tokenmill.sizing.sections.checkpoints import BEST, JOB_RATE, WITH_FAILURES


def test_the_405b_as_it_was_published():
    made = sheet(f"{OF_405B}\ncheckpoints: {{interval_s: 1800, stall_frac: 0.01}}")
    assert made["one checkpoint"].value / 1e12 == pytest.approx(5.68, rel=0.001)
    assert made["checkpoint of one rank"].value / 1e6 == pytest.approx(347, rel=0.002)
    assert made["checkpoint of one node"].value / 1e9 == pytest.approx(8 * 0.347, rel=0.002)
    assert made["mean time to failure"].value == pytest.approx(3.09, abs=0.005)
    assert made[JOB_RATE].value / 1e9 == pytest.approx(316, rel=0.002)
    assert made["checkpoint write bandwidth, one node"].value / 1e9 == pytest.approx(
        316 / 2048, 0.01
    )
    assert made["checkpoint stall"].value == pytest.approx(18)
    assert made["checkpoint bytes a day"].value / 1e12 == pytest.approx(48 * 5.68, rel=0.001)
    assert made["failures to expect"].value == pytest.approx(67 * 24 / 3.09, rel=0.02)


def test_where_storage_is_known_the_interval_is_youngs():
    made = sheet(f"{OF_405B}\ncheckpoints: {{write_bytes_per_s: 50 GB/s, restart_s: 1020}}")
    stall, young, daly, interval = values(
        made,
        "checkpoint stall",
        "optimal checkpoint interval, Young",
        "optimal checkpoint interval, Daly",
        "checkpoint interval",
    )
    assert stall == pytest.approx(113.6, abs=0.1)
    assert young / 60 == pytest.approx(26.5, abs=0.05)
    assert daly / 60 == pytest.approx(25.3, abs=0.05)
    assert interval == young
    assert made["waste without restarts"].value == pytest.approx(0.143, abs=0.001)
    assert made["waste"].value == pytest.approx(0.235, abs=0.001)
    assert made["waste at the optimal interval"].value == made["waste"].value
    assert made[JOB_RATE].value == pytest.approx(5.68e12 / (0.05 * young), rel=0.001)


def test_a_stated_interval_holds_and_storage_that_is_too_slow_for_it_is_warned_of():
    made = sheet(f"{OF_405B}\ncheckpoints: {{write_bytes_per_s: 50 GB/s, interval_s: 600}}")
    assert made["checkpoint interval"].value == 600
    assert made["checkpoint stall"].value == pytest.approx(113.6, abs=0.1)
    assert made["waste"].value > made["waste at the optimal interval"].value
    assert (
        "storage takes 50 GB/s of checkpoints, 189 GB/s are needed to write one each 10 minutes"
        " within the plan's limits" in made.warnings
    )
    fast = sheet(f"{OF_405B}\ncheckpoints: {{write_bytes_per_s: 190 GB/s, interval_s: 600}}")
    assert not any("of checkpoints" in warning for warning in fast.warnings)


def test_without_either_the_optimum_at_which_no_more_is_lost_than_may_be_is_taken():
    """Failures each 24.4 hours, 5 % of the time to wait: Young's optimum of that very stall."""
    made = sheet("corpus: {tokens: 15T}\ncluster: {count: 2048}")
    interval, stall = made["checkpoint interval"].value, made["checkpoint stall"].value
    assert interval == pytest.approx(2 * 0.05 * 50_000 / 2048 * 3600)
    assert stall == pytest.approx(0.05 * interval)
    assert interval == pytest.approx(made["optimal checkpoint interval, Young"].value)
    assert made[JOB_RATE].value == pytest.approx(8e9 * 14 / stall)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_fine_tune_of_two_hours_writes_one_checkpoint_at_its_end(mode):
    made = sheet(f"training: {{days: {1 / 12}}}\ncheckpoints: {{mode: {mode}}}")
    assert made["checkpoint interval"].value == pytest.approx(2 * 3600)
    assert made[JOB_RATE].value < 0.35e9


@pytest.mark.parametrize("offered", ["", ", write_bytes_per_s: 1 GB/s"])
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("count", [1, 12])
def test_a_job_that_seldom_fails_writes_checkpoints_every_three_hours_at_least(
    count, mode, offered
):
    """Of 12 failures alone allowed 417 hours and a write of 21 hours, of one 5,000 and 10 days."""
    job = f"model: {{params: 1B}}\ncorpus: {{tokens: 10T}}\ncluster: {{count: {count}}}"
    made = sheet(f"{job}\ncheckpoints: {{mode: {mode}{offered}}}")
    assert made["checkpoint interval"].value <= 3 * 3600
    if mode == "sync":  # the copy that an asynchronous one waits for asks for more, at a known rate
        assert made["checkpoint interval"].value == 3 * 3600
        assert made["checkpoint stall"].value <= 540
    often = sheet(f"{job}\ncheckpoints: {{mode: {mode}{offered}, most_interval_s: 10 min}}")
    assert often["checkpoint interval"].value == 600


def test_storage_too_slow_for_the_longest_interval_is_written_to_as_seldom_as_the_wait_asks():
    slow = sheet(
        "model: {params: 1B}\ncorpus: {tokens: 10T}\ncluster: {count: 12}"
        "\ncheckpoints: {write_bytes_per_s: 1 MB/s}"
    )
    assert slow["checkpoint stall"].value == 14_000
    assert slow["checkpoint interval"].value == pytest.approx(14_000 / 0.05)
    assert not any("of checkpoints" in warning for warning in slow.warnings)


def test_of_a_long_interval_that_is_stated_ten_minutes_are_waited_for_unless_more_is_stated():
    made = sheet("checkpoints: {interval_s: 1 day}")
    assert made["checkpoint stall"].value == pytest.approx(600)
    (share,) = [i for i in made[JOB_RATE].inputs if i.name == "stall_frac"]
    assert (share.key, share.value) == ("checkpoints.stall_frac", pytest.approx(600 / 86_400))
    stated = sheet("checkpoints: {interval_s: 1 day, stall_frac: 5%}")
    assert stated["checkpoint stall"].value == pytest.approx(0.05 * 86_400)


def test_nobody_waits_for_an_asynchronous_one_but_for_the_copy():
    made = sheet(f"{OF_405B}\ncheckpoints: {{mode: async, interval_s: 1800}}")
    assert made["checkpoint stall"].value == pytest.approx(347e6 / 25e9, rel=0.002)
    assert made[JOB_RATE].value / 1e9 == pytest.approx(31.6, rel=0.002)
    assert made[f"{JOB_RATE}, bare minimum"].value / 1e9 == pytest.approx(3.16, rel=0.002)
    assert made["checkpoint drain"].value == pytest.approx(180)
    lost = (900 + 180 + 1000) / (made["mean time to failure"].value * 3600)
    assert made["waste"].value == pytest.approx(lost, rel=1e-4)


def test_an_asynchronous_one_is_written_as_often_as_storage_can_follow():
    offered = "mode: async, write_bytes_per_s: 31.6 GB/s"
    made = sheet(f"{OF_405B}\ncheckpoints: {{{offered}, drain_frac: 0.1}}")
    assert made["checkpoint interval"].value == pytest.approx(1797, rel=0.001)
    assert made["checkpoint drain"].value == pytest.approx(179.7, rel=0.001)
    assert made[BEST].value == made["checkpoint drain"].value
    assert made["waste"].value > made["waste at the optimal interval"].value
    assert not any("of checkpoints" in warning for warning in made.warnings)
    unhurried = "checkpoints: {mode: async, write_bytes_per_s: 100 TB/s}"
    made = sheet(f"{OF_405B}\n{unhurried}")
    assert made["checkpoint interval"].value == made["optimal checkpoint interval, Young"].value


def test_without_a_stated_share_storage_has_all_of_an_asynchronous_interval():
    made = sheet(f"{OF_405B}\ncheckpoints: {{mode: async, write_bytes_per_s: 10 GB/s}}")
    young, drain, interval, best = values(
        made,
        "optimal checkpoint interval, Young",
        "checkpoint drain",
        "checkpoint interval",
        BEST,
    )
    assert young == pytest.approx(17.6, abs=0.1)
    assert drain == interval == best == pytest.approx(568, abs=0.5)
    mttf_s = made["mean time to failure"].value * 3600
    lost = 0.0139 / 568 + (568 / 2 + 568 + 1000) / mttf_s
    assert made["waste"].value == pytest.approx(lost, rel=0.001)
    assert made["waste"].value == pytest.approx(0.166, abs=0.001)
    assert made["waste at the optimal interval"].value == made["waste"].value
    assert made[JOB_RATE].value == pytest.approx(10e9)
    assert not any("of checkpoints" in warning for warning in made.warnings)
    (share,) = [i for i in made[JOB_RATE].inputs if i.name == "drain_frac"]
    assert share.source.startswith("as checkpoints.write_bytes_per_s is given and")
    assert (share.value, share.key) == (1, "checkpoints.drain_frac")


def test_the_best_asynchronous_interval_leaves_time_to_write_one():
    made = sheet(f"{OF_405B}\ncheckpoints: {{mode: async, interval_s: 1800}}")
    assert made[BEST].value == made["checkpoint drain"].value == pytest.approx(180)
    mttf_s = made["mean time to failure"].value * 3600
    least = 0.0139 / 180 + (90 + 180 + 1000) / mttf_s
    assert made["waste at the optimal interval"].value == pytest.approx(least, rel=0.001)
    assert BEST not in sheet(OF_405B)


def test_bytes_of_a_parameter_are_those_of_the_recipe_unless_stated():
    of_recipe = sheet("checkpoints: {recipe: fp32+adam}")["one checkpoint"]
    assert of_recipe.value == 8e9 * 12
    source = of_recipe.inputs[1].source
    assert source.startswith("stated: checkpoints.recipe fp32+adam; 4 master weights + 4 momentum")
    assert not sheet("checkpoints: {recipe: bf16+adam-8bit}")["one checkpoint"].verified
    stated = sheet("checkpoints: {bytes_per_param: 6}")["one checkpoint"]
    assert (stated.value, stated.inputs[1].source) == (48e9, "stated: checkpoints.bytes_per_param")


def test_a_recipe_that_counts_gradients_is_warned_of():
    (warning,) = [w for w in sheet("checkpoints: {recipe: megatron}").warnings if "recipe" in w]
    assert "counts what memory holds, gradients too" in warning
    assert not [w for w in sheet("").warnings if "recipe" in w]


def test_kept_are_the_last_the_final_and_those_whose_turn_had_come():
    assert sheet("training: {days: 1}")["stored: checkpoints"].value == 4 * 8e9 * 14
    text = "training: {days: 10}\ncheckpoints: {keep_last: 2, keep_forever: 3, keep_every_s: 86400}"
    made = sheet(text)
    assert made["checkpoints kept in turn"].value == pytest.approx(10, abs=1)
    kept = 5 + made["checkpoints kept in turn"].value
    assert made["stored: checkpoints"].value == kept * 8e9 * 14


@pytest.mark.parametrize(
    ("plan", "count"),
    [
        ("{days: 1}\ncheckpoints: {interval_s: 30 h}", 1),
        ("{days: 1}\ncheckpoints: {interval_s: 10 h}", 3),  # the last at the end
        ("{days: 1}\ncheckpoints: {interval_s: 1 h, keep_last: 30}", 24),
        ("{days: 0.0131}", 1),  # the whole run
        ("{days: 0.25}", 2),
    ],
)
def test_no_more_are_kept_than_a_run_writes(plan, count):
    """Of a run of 19 minutes four were to have room."""
    assert sheet(f"training: {plan}")["stored: checkpoints"].value == count * 8e9 * 14


def test_checkpoints_are_kept_in_turn_while_failures_make_training_longer():
    every = "\ncheckpoints: {keep_every_s: 86400, interval_s: 5400}"
    made = sheet(OF_405B + every)
    days, plain = values(made, WITH_FAILURES, "training time")
    assert days > plain + 20
    assert made["checkpoints kept in turn"].value == int(days)


@pytest.mark.parametrize(
    "mttf",
    ["5000", "{value: 20000, low: 5000, high: 35000}"],  # ends never, or may never
)
def test_training_that_might_never_end_keeps_as_many_as_without_failures(mttf):
    made = sheet(
        f"training: {{days: 10.5}}\ncluster: {{count: 16384, mttf_hours: {mttf}}}"
        "\ncheckpoints: {keep_every_s: 86400}"
    )
    assert made["checkpoints kept in turn"].value == 10
    if mttf == "5000":
        assert WITH_FAILURES not in made
        assert any("most of the time is lost" in warning for warning in made.warnings)
    else:
        assert made[WITH_FAILURES].interval[1] == float("inf")


def test_a_job_that_hardly_gets_on_is_warned_of():
    made = sheet("cluster: {count: 100000, mttf_hours: 50000}")
    assert made["mean time to failure"].value == 0.5
    assert any(
        "most of the time is lost" in warning and "fails each 30 minutes" in warning
        for warning in made.warnings
    )
    assert not any("time is lost" in warning for warning in sheet("").warnings)


def test_where_nobody_waits_failures_may_undo_a_twentieth_of_the_work():
    made = sheet(f"{OF_405B}\ncheckpoints: {{mode: async}}")
    interval, mttf = values(made, "checkpoint interval", "mean time to failure")
    assert interval / 2 == pytest.approx(0.05 * mttf * 3600)


def test_a_corpus_that_is_a_sample_is_warned_of():
    """Of 2 million tokens in 0.2 s checkpoint writes of 9 TB/s were told without a word."""
    (told,) = (w for w in sheet("corpus: {tokens: 2M}").warnings if "less than one restart" in w)
    assert told.startswith("training takes 0.237 seconds, less than one restart")
    assert "state the tokens of the whole as corpus.tokens" in told
    long = sheet("model: {params: 70B}\ncluster: {count: 1}")
    (told,) = (w for w in long.warnings if "longer than" in w)
    assert told.startswith("training takes 17,203 days, longer")
    assert "state more accelerators as cluster.count" in told
    for mode, key in (("sync", "stall_frac"), ("async", "drain_frac")):
        plan = f"training: {{tokens: 2M}}\ncheckpoints: {{mode: {mode}}}"
        tuned = sheet(plan)  # it says what it trains on
        assert not tuned.obstacles
        assert sum(w.endswith(f"state checkpoints.{key}") for w in tuned.warnings) == 1
        agreed = sheet(plan.replace("}", f", {key}: 30%}}").replace(f"2M, {key}: 30%", "2M"))
        assert not any("less than one restart" in w for w in agreed.warnings)
    whole = sheet("corpus: {tokens: 2T}").warnings
    assert not any("less than one restart" in w for w in whole)
