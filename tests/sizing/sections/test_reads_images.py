"""What images demand of storage and of cores: of a measured corpus, and of an assumed one."""

import pytest

from tests.sizing.corpora import illustrated, measured
from tests.sizing.sections.sheets import sheet
from tokenmill.sizing.figure import Figure
from tokenmill.sizing.report.data import rests_on

TOKENS = 222.25  # of a sample
BYTES = 195_680 + 90


def test_a_measured_corpus_says_what_a_sample_is():
    made = sheet("", corpus=illustrated())
    rows = made.rows
    assert made["tokens a sample"].value == TOKENS
    assert made["bytes a sample"].value == BYTES
    assert made["bytes a sample"].interval == pytest.approx((176_170, 215_370))
    assert {rests_on(rows[f"{what} a sample"], rows) for what in ("tokens", "bytes")} == {
        "measured"
    }
    samples = made["training rate"].value / TOKENS
    assert made["images, whole job"].value == pytest.approx(samples)
    alone = made["read bandwidth of images alone, whole job"].value
    assert alone == pytest.approx(samples * 195_680)
    assert made["read bandwidth, whole job"].value == (  # what the dataset was measured to take
        sheet("", corpus=measured())["read bandwidth, whole job"].value
    )


def test_reads_by_how_samples_lie():
    made = sheet("", corpus=illustrated())
    samples = made["training rate"].value / TOKENS
    assert made["reads, each sample alone"].value == pytest.approx(samples)
    assert made["read requests, whole job"].value == pytest.approx(samples)
    assert made["reads, Arrow by record batch"].value == pytest.approx(samples / 50)
    in_tar = BYTES + 3 * 768
    assert made["bytes a sample, in a tar"].value == in_tar
    assert made["reads, tars from end to end"].value == pytest.approx(samples * in_tar / 2**26)
    small = sheet("storage: {request_bytes: 1MB}", corpus=illustrated())
    assert small["reads, tars from end to end"].value == pytest.approx(samples * in_tar / 1e6)


def test_cores_to_decode_are_those_that_were_measured():
    made = sheet("", corpus=illustrated())
    images = made["images, whole job"].value
    cores = made["cores to decode images, whole job"]
    assert cores.value == pytest.approx(images / 400)
    (given,) = (i for i in cores.inputs if i.name == "images_per_core_s")
    assert given.measured
    assert given.source == "measured: corpus docs; decoded by Z80, Pillow 13.0"
    assert made["CPU time to decode a sample"].value == 1 / 400
    slow = sheet("", corpus=illustrated(images_per_core_s=Figure(value=10)))
    assert slow["loader workers, one node"].value == int(images / 128 / 10 / 0.7) + 1
    stated = sheet("loaders: {sample_cpu_s: 0.2}", corpus=illustrated())
    assert stated["loader workers, one node"].value == int(images / 128 * 0.2 / 0.7) + 1
    assert "CPU time to decode a sample" not in stated


def test_what_was_not_measured_has_no_row():
    unknown = illustrated(image_bytes=None, images_per_core_s=None, samples_per_batch=None)
    made = sheet("", corpus=unknown)
    assert "images, whole job" in made
    for name in (
        "bytes a sample",
        "read bandwidth of images alone, whole job",
        "cores to decode images, whole job",
        "reads, Arrow by record batch",
        "reads, tars from end to end",
    ):
        assert name not in made
    assert made["loader workers, one node"].value == 16


def test_images_that_a_dataset_refers_to_are_read_and_not_stored_again():
    held, referred = (sheet("", corpus=illustrated(in_dataset=w)) for w in (True, False))
    assert referred["stored: dataset"].value == held["stored: dataset"].value
    read = referred["dataset and image bytes a token"].value
    assert read == pytest.approx(2.2 + 195_680 / TOKENS)
    assert referred["stored bytes a token"].value == pytest.approx(read)
    ratio = referred["read bandwidth, whole job"].value / held["read bandwidth, whole job"].value
    assert ratio == pytest.approx(read / 2.2)
    assert "dataset and image bytes a token" not in held
    assert "reads, Arrow by record batch" in held
    assert "reads, Arrow by record batch" not in referred
    unknown = sheet("", corpus=illustrated(in_dataset=False, image_bytes=None))
    assert unknown["stored bytes a token"].value == pytest.approx(2.2)


def test_what_a_plan_says_of_samples_is_not_used_where_they_were_measured():
    made = sheet("corpus: {image_text: {image_bytes: 1MB}}", corpus=illustrated())
    assert made["bytes a sample"].value == BYTES
    assert "corpus.image_text is not used, as corpus was measured" in made.warnings
    assert not any("not used" in w for w in sheet("", corpus=illustrated()).warnings)


def test_images_have_no_formats_of_text():
    made = sheet("", corpus=illustrated())
    assert "as Parquet" not in made
    assert made["batch of one accelerator, decoded"].value == 4096 * 14 * 14 * 3 * 4


def test_a_measured_corpus_may_be_one_of_several():
    plan = "sources: [{name: web, tokens: 1T, weight: 3}, {name: photos, weight: 1}]"
    made = sheet(plan, photos=illustrated())
    photos = made["training rate"].value / 4 / TOKENS
    assert made["images, whole job, photos"].value == pytest.approx(photos)
    assert made["cores to decode images, whole job, photos"].value == pytest.approx(photos / 400)
    assert made["reads, each sample alone, photos"].value == pytest.approx(photos)
    assert made["read requests, photos"].value == pytest.approx(photos)
    assert "as Parquet" in made


def test_an_assumed_corpus_has_no_measured_rows():
    made = sheet("corpus: {tokens: 1T, image_text: {}}")
    assert made["bytes a sample, in a tar"].value == 250_400 + 3 * 768
    assert "reads, Arrow by record batch" not in made
    assert "cores to decode images, whole job" not in made
