"""The plans that ship: valid, explained, and they reproduce the figures that were published."""

import pytest
import yaml

from tokenmill.sizing.requirements import EXAMPLES, example_names, size
from tokenmill.sizing.units import format_quantity

TEXT, LARGE, IMAGES = "llama-8b-1024-h100", "llama-405b-16384-h100", "image-text-8b-1024-h100"
SMALL = "gpt2-124m-8-h100"
PUBLISHED = 0.01  # published figures are rounded to two or three digits
NO_RATE = {"checkpoints.interval_s": None}  # then the best interval for the rate is taken


def value(sheet, name):
    return sheet[name].value


def test_the_examples_ship():
    assert example_names() == (SMALL, IMAGES, LARGE, TEXT)


@pytest.mark.parametrize("name", [SMALL, TEXT, LARGE, IMAGES])
def test_an_example_says_what_it_is_for_and_nothing_that_is_warned_of_as_wrong(name):
    text = (EXAMPLES / f"{name}.yaml").read_text()
    assert text.startswith("# ")
    assert sum("#" in line for line in text.splitlines()) > 10
    assert yaml.safe_load(text)
    sheet = size(name)
    assert all(sheet.stated(key) for key in ("model.params", "cluster.count", "corpus.tokens"))
    assert not [w for w in sheet.warnings if "above" in w]


def test_the_rate_and_the_time_of_llama_3_405b():
    """Llama 3: 400 TFLOP/s an accelerator; without attention, as 6ND counts."""
    sheet = size(LARGE)
    assert value(sheet, "training rate") == pytest.approx(2.69e6, rel=0.005)
    assert value(sheet, "training time") == pytest.approx(67.1, rel=0.005)
    assert value(sheet, "nodes") == 2048
    exact = size(LARGE, changes={"cluster.mfu": 400 / 989})
    assert value(exact, "training rate") == pytest.approx(16384 * 400e12 / (6 * 405e9))


def test_the_reads_of_llama_3_405b():
    sheet = size(LARGE, changes={"cluster.mfu": 0.4, "training.read_amplification": 1.0})
    assert value(sheet, "read bandwidth, whole job") == pytest.approx(10.7e6, rel=PUBLISHED)
    assert value(sheet, "training rate, one accelerator") == pytest.approx(163, rel=PUBLISHED)
    assert value(sheet, "read requests, whole job") == pytest.approx(326, rel=PUBLISHED)
    short = size(LARGE, changes={"cluster.mfu": 0.4, "model.seq_len": 2048})
    assert value(short, "read requests, whole job") == pytest.approx(1302, rel=PUBLISHED)


def test_checkpoints_of_llama_3_405b():
    sheet = size(LARGE)
    assert 5.67e12 <= value(sheet, "one checkpoint") <= 5.68e12
    assert value(sheet, "checkpoint of one rank") == pytest.approx(347e6, rel=PUBLISHED)
    assert value(sheet, "mean time to failure") == pytest.approx(3.09, rel=0.002)
    without = size(LARGE, changes={"cluster.mttf_hours": 50_000})
    assert value(without, "mean time to failure") == pytest.approx(3.05, rel=0.002)


@pytest.mark.parametrize(
    ("gb_per_s", "stall_s", "young_min", "daly_min", "waste", "with_restarts"),
    [
        (50, 113.6, 26.5, 25.3, 0.143, 0.235),
        (100, 56.8, 18.8, 18.1, 0.101, 0.193),
        (500, 11.4, 8.4, 8.3, 0.045, 0.137),
        (2000, 2.8, 4.2, 4.2, 0.023, 0.114),
        (7000, 0.8, 2.2, 2.2, 0.012, 0.104),
    ],
)
def test_young_daly_and_waste(gb_per_s, stall_s, young_min, daly_min, waste, with_restarts):
    changes = {**NO_RATE, "checkpoints.write_bytes_per_s": f"{gb_per_s} GB/s"}
    sheet = size(LARGE, changes=changes)
    assert value(sheet, "checkpoint stall") == pytest.approx(stall_s, abs=0.25)
    young = "optimal checkpoint interval, Young"
    assert value(sheet, young) / 60 == pytest.approx(young_min, abs=0.08)
    daly = "optimal checkpoint interval, Daly"
    assert value(sheet, daly) / 60 == pytest.approx(daly_min, abs=0.08)
    assert value(sheet, "checkpoint interval") == value(sheet, young)
    assert value(sheet, "waste without restarts") == pytest.approx(waste, abs=0.0006)
    assert value(sheet, "waste") == pytest.approx(with_restarts, abs=0.001)


@pytest.mark.parametrize(
    ("minutes", "stall_frac", "gb_per_s"), [(30, 0.01, 316), (60, 0.01, 158), (30, 0.05, 63)]
)
def test_what_storage_must_take_so_that_training_waits_no_longer(minutes, stall_frac, gb_per_s):
    changes = {"checkpoints.interval_s": 60 * minutes, "checkpoints.stall_frac": stall_frac}
    sheet = size(LARGE, changes=changes)
    written = value(sheet, "checkpoint write bandwidth, whole job")
    assert written == pytest.approx(gb_per_s * 1e9, rel=PUBLISHED)


def test_what_storage_must_take_while_training_goes_on():
    sheet = size(LARGE, changes={"checkpoints.mode": "async"})
    written = "checkpoint write bandwidth, whole job"
    assert value(sheet, written) == pytest.approx(31.6e9, rel=PUBLISHED)
    assert value(sheet, f"{written}, bare minimum") == pytest.approx(3.2e9, rel=0.02)


@pytest.mark.parametrize(("rate", "alone", "broadcast"), [("500 GB/s", 218, 11), ("2 TB/s", 54, 3)])
def test_the_read_of_a_restart(rate, alone, broadcast):
    changes = {"storage.read_bytes_per_s": rate}
    sheet = size(LARGE, changes=changes)
    assert value(sheet, "restart read, whole job") == pytest.approx(5.68e12, rel=0.002)
    assert value(sheet, "restart read without broadcast") == pytest.approx(108.8e12, rel=0.003)
    assert value(sheet, "restart read time") == pytest.approx(broadcast, abs=0.5)
    each = size(LARGE, changes={**changes, "checkpoints.broadcast": False})
    assert value(each, "restart read time") == pytest.approx(alone, rel=PUBLISHED)


def test_images_with_text():
    sheet = size(IMAGES)
    assert value(sheet, "stored bytes a token") == pytest.approx(222.8, abs=0.05)
    assert value(sheet, "images, whole job") == pytest.approx(7508, abs=1)
    assert value(sheet, "read bandwidth, whole job") == pytest.approx(1.88e9, rel=0.002)


def test_a_model_of_8b_on_text():
    changes = {"model.layers": None, "training.read_amplification": 1.0}
    sheet = size(TEXT, changes=changes)
    assert value(sheet, "training rate") == pytest.approx(8.44e6, rel=0.001)
    assert value(sheet, "training rate, one accelerator") == pytest.approx(8242, rel=0.001)
    assert value(sheet, "read bandwidth, whole job") == pytest.approx(33.8e6, rel=0.002)
    assert value(sheet, "read requests, whole job") == pytest.approx(1030, abs=1)
    assert format_quantity(value(sheet, "one checkpoint"), "bytes") == "112 GB"
    times = value(size(IMAGES), "read bandwidth, whole job") / value(
        sheet, "read bandwidth, whole job"
    )
    assert times == pytest.approx(56, abs=0.5)
    low, high = size(TEXT)["training rate"].interval
    assert high / low == pytest.approx(0.44 / 0.36)
