"""What training reads, by access pattern, epoch and source."""

import pytest

from tests.sizing.corpora import measured
from tests.sizing.sections.begun import begun, names
from tokenmill.sizing.formulas.bandwidth import cached_frac
from tokenmill.sizing.sections import reads

WASTED = 2.53 * 128 * 1024  # bytes of a read through a memory map, where nothing is stated
IMAGES = "corpus: {tokens: 1T, image_text: {}}"


def sheet(text, **measurements):
    return begun(text, until=reads, **measurements)


@pytest.mark.parametrize(
    ("params", "count", "mb_per_s", "requests"),
    [("405B", 16_384, 10.7, 326), ("70B", 1024, 3.9, 118), ("8B", 1024, 33.8, 1030)],
)
def test_published_text_models_read_megabytes_a_second(params, count, mb_per_s, requests):
    made = sheet(
        f"{{model: {{params: {params}}}, cluster: {{count: {count}}},"
        " training: {read_amplification: 1}}"
    )
    job = made["read bandwidth, whole job"].value
    assert job / 1e6 == pytest.approx(mb_per_s, rel=0.02)
    assert made["read requests, whole job"].value == pytest.approx(requests, abs=0.5)
    assert made["nodes"].value == count / 8
    assert made["read bandwidth, one node"].value == pytest.approx(job / (count / 8))
    assert made["read bandwidth, one accelerator"].value == pytest.approx(job / count)
    assert made["sequence bytes"].value == 8192 * 4


def test_image_text_reads_56_times_as_much():
    text, images = sheet("corpus: {tokens: 1T}"), sheet(IMAGES)
    ratio = images["read bandwidth, whole job"].value / text["read bandwidth, whole job"].value
    assert ratio == pytest.approx(222.8 / 4, rel=0.001)
    assert images["images, whole job"].value == pytest.approx(7508, rel=0.001)
    assert "images, whole job" not in text


def test_of_a_mixture_only_one_source_has_images():
    made = sheet(
        "{sources: [{name: web, tokens: 1T, weight: 3},"
        " {name: photos, tokens: 1T, weight: 1, image_text: {}}]}"
    )
    alone = sheet(IMAGES)["images, whole job"].value
    assert made["images, whole job, photos"].value == pytest.approx(alone / 4)
    assert "images, whole job, web" not in made


def test_images_are_read_one_by_one_unless_runs_are_stated():
    made = sheet(IMAGES)
    reads = made["read requests, whole job"].value
    assert reads == pytest.approx(7508, abs=1)
    assert reads == pytest.approx(made["images, whole job"].value)
    assert made["hard drives for the requests"].value == 51
    assert made["bytes used of a read"].value == pytest.approx(250_400)
    runs = sheet(IMAGES + "\ntraining: {sequences_per_read: 256}")
    assert runs["read requests, whole job"].value == pytest.approx(reads / 256)
    assert runs["bytes used of a read"].value == pytest.approx(256 * 250_400)  # 64 MB


def test_a_sample_of_several_images_is_one_read():
    made = sheet("corpus: {tokens: 1T, image_text: {images_per_sample: 3}}")
    tokens = 3 * 1024 + 100
    reads = made["read requests, whole job"].value
    assert reads == pytest.approx(made["training rate"].value / tokens)
    assert made["images, whole job"].value == pytest.approx(3 * reads)


def test_reads_of_a_mixture_are_samples_of_images_and_sequences_of_text():
    plan = (
        "{{sources: [{{name: web, tokens: 1T, weight: 3}},"
        " {{name: photos, tokens: 1T, weight: 1, image_text: {{}}}}], training: {}}}"
    )
    made = sheet(plan.format("{access: mmap}"))
    rate = made["training rate"].value
    by_source = {"web": 0.75 * rate / 8192, "photos": 0.25 * rate / 1124}
    for name, own in by_source.items():
        assert made[f"read requests, {name}"].value == pytest.approx(own)
    whole = sum(by_source.values())
    assert made["read requests, whole job"].value == pytest.approx(whole)
    used = rate * (0.75 * 4 + 0.25 * 250_400 / 1124)
    assert made["bytes used of a read"].value == pytest.approx(used / whole)
    read = made["read bandwidth, whole job"].value
    assert read == pytest.approx(used + WASTED * whole)
    runs = sheet(plan.format("{sequences_per_read: 4}"))
    assert runs["read requests, whole job"].value == pytest.approx(whole / 4)


def test_the_only_one_of_sources_may_be_images():
    alone = sheet("sources: [{name: a, tokens: 1T, image_text: {}}]")
    assert alone["images, whole job, a"].value == pytest.approx(7508, abs=1)
    assert alone["read requests, whole job"].value == pytest.approx(7508, abs=1)
    assert "training rate, a" not in alone


def test_what_was_measured_is_no_sample_of_images_whatever_the_plan_says():
    made = sheet("corpus: {image_text: {}}", corpus=measured())
    assert "images, whole job" not in made
    assert made["read requests, whole job"].value == sheet("")["read requests, whole job"].value
    assert made["stored bytes a token"].value == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("training", "factor"),
    [
        ("{}", 1.3),
        ("{access: mmap}", 1 + WASTED / 32_768),
        ("{access: mmap, read_ahead: 8 MiB}", 1 + 64 * WASTED / 32_768),
        ("{access: random}", 1 + 3604 / 32_768),
        ("{access: mmap, sequences_per_read: 64}", 1 + WASTED / (64 * 32_768)),
        ("{access: mmap, read_amplification: 2}", 2),
    ],
)
def test_amplification_follows_from_how_sequences_are_read(training, factor):
    made = sheet(f"training: {training}")
    useful = made["training rate"].value * 4
    assert made["read bandwidth, whole job"].value / useful == pytest.approx(factor)


def test_rows_of_32_kib_through_a_memory_map_are_read_11_times_as_measured():
    made = sheet("training: {access: mmap}")
    assert made["bytes used of a read"].value == 32_768
    assert made["read amplification"].value == pytest.approx(11.1, rel=2e-3)
    source = made["bytes wasted of a read"].inputs[1].source
    assert source.startswith("stated: training.access mmap; mmap: measured")


def test_runs_of_sequences_take_fewer_requests_and_drives():
    made = sheet("{model: {params: 1B, seq_len: 2048}}")
    assert made["read requests, whole job"].value == pytest.approx(32_967, abs=1)
    assert made["hard drives for the requests"].value == 220
    assert made["NVMe drives for the requests"].value == 1
    assert not made["hard drives for the requests"].verified
    runs = sheet("{model: {params: 1B, seq_len: 2048}, training: {sequences_per_read: 100}}")
    assert runs["hard drives for the requests"].value == 3


def test_the_bound_is_what_the_peak_would_use():
    made = sheet("{cluster: {mfu: 0.4}, training: {read_amplification: 1}}")
    bound = made["FLOP-ratio demand of one accelerator, upper bound"]
    assert made["read bandwidth, one accelerator"].value / bound.value == pytest.approx(0.4)
    assert bound.formula.startswith("at most")


def test_one_epoch_finds_nothing_in_memory():
    assert not {"page cache of a node", "epochs"} & names(sheet(""))
    assert "page cache of a node" not in sheet("training: {epochs: 0.5}")


@pytest.mark.parametrize(
    "text",
    [
        "{corpus: {tokens: 160B}, training: {epochs: 3}}",
        "{corpus: {tokens: 160B}, training: {tokens: 480B}}",
        "{sources: [{name: a, tokens: 80B}, {name: b, tokens: 80B}], training: {epochs: 3}}",
        "{corpus: {tokens: 160B}, training: {epochs: 3}, storage: {token_versions: 2}}",
    ],
)
def test_later_epochs_find_what_the_node_still_holds(text):
    made = sheet(text)
    share = cached_frac(
        dataset_bytes=640e9, page_cache_bytes=0.25 * 2048 * 2**30, nodes=128, epochs=3
    )
    assert 0 < share < 1
    assert ("datasets, one version" in made) == ("sources" in text)
    assert made["reads answered from page cache, at most"].value == pytest.approx(share)
    assert made["read bandwidth, mean of all epochs"].value == pytest.approx(
        (1 - share) * made["read bandwidth, whole job"].value
    )


def test_no_number_of_epochs_is_too_many():
    made = sheet("{corpus: {tokens: 160B}, training: {epochs: 1.0e+12}}")
    held = 0.25 * 2048 * 2**30 / 640e9
    assert made["reads answered from page cache, at most"].value == pytest.approx(held)


def test_staging_by_the_network_and_by_the_storage():
    plan = "{{corpus: {{tokens: 11T}}, {}}}"
    made = sheet(plan.format("storage: {read_bytes_per_s: 500GB/s}"))
    assert made["network of a node"].value == 3200e9
    link = made["staging to local drives, by a node's network"]
    assert link.value == pytest.approx(44e12 * 8 / (3200e9 * 0.8) / 3600)
    shared = made["staging to local drives, by the storage"]
    assert shared.value == pytest.approx(44e12 * 128 / 500e9 / 3600)
    assert "staging to local drives, by the storage" not in sheet(plan.format("storage: {}"))
    unknown = "cluster: {accelerator: mine, dense_flops_per_s: 1e15, per_node: 8}"
    assert "network of a node" not in sheet(plan.format(unknown))


def test_a_measured_corpus_gives_its_reads_an_interval():
    made = sheet("", corpus=measured())
    low, high = made["read bandwidth, whole job"].interval
    assert high / low == pytest.approx((2.2 + 0.0196) / (2.2 - 0.0196))
