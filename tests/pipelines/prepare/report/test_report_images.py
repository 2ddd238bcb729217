"""What a report says of images."""

from tests.pipelines.core.test_measure import shard
from tests.pipelines.prepare.report.test_image_summary import SHARDS, images_of
from tests.pipelines.prepare.report.test_report import run_report
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.core.measured import measure
from tokenmill.pipelines.prepare.report.images import image_blocks, image_facts, image_plots
from tokenmill.pipelines.prepare.report.model import ImageToken, Report
from tokenmill.sizing.document.section import Table


def row(stage, *, came, out, removed=None, failed=None, gone=0):
    images = ImageStats(
        images_in=came,
        images_out=out,
        removed=removed or {},
        failed=failed or {},
        with_document=gone,
        bytes_in=10 * came,
        bytes_out=10 * out,
    )
    return {"stage": stage, **StageStats(images=images).to_json()}


def report_with(ledger, **more):
    return Report.model_validate({**run_report(), "ledger": ledger, **more})


LEDGER = [
    row("read", came=1_010, out=1_000, failed={"bomb": 1, "truncated_header": 9}),
    row("images", came=1_000, out=600, removed={"ratio": 150, "too_small": 200}, gone=50),
    {"stage": "exact", **StageStats().to_json()},
    row("tokenize", came=600, out=600),
]


def test_the_account_is_told_by_stage_and_by_reason():
    words, stages, reasons = image_blocks(report_with(LEDGER))
    assert words.startswith(
        "Images: 1,010 in = 350 removed + 10 failed + 50 gone with their document + 600 out."
    )
    assert isinstance(stages, Table)
    assert isinstance(reasons, Table)
    assert stages.rows[1] == ("images", "1,000", "350", "0", "50", "600", "6,000")
    assert [r[1] for r in reasons.rows] == ["truncated_header", "bomb", "too_small", "ratio"]


def test_an_account_that_does_not_close_is_seen():
    words = image_blocks(report_with([row("read", came=5, out=3)]))[0]
    assert "5 in ≠ 0 removed" in words


def test_a_run_of_text_says_nothing_of_images():
    assert image_blocks(Report.model_validate(run_report())) == []
    assert image_plots(Report.model_validate(run_report())) == []


def test_the_plot_tells_two_stages_apart():
    (plot,) = image_plots(report_with(LEDGER))
    assert "bomb · read" in plot
    assert "too_small · images" in plot


def of_images(**decoding):
    """A report of the images of two shards, one decoded."""
    shards = [
        shard(tokens=14, docs=1, images=image_facts(r.facts["measured"]) | {"image_tokens": 6})
        for r in SHARDS
    ]
    png = {"images": 1, "bytes": 50, "pixels": 16, "cpu_s": 0.002, "cpu_s_squared": 4e-6}
    machine = {"processor": "Z80", "cores": 1, "pillow": "13.0"}
    decoded = {
        "formats": {"png": png},
        "skipped": 2,
        "images_per_core_s": {"value": 500.0, "se": 20.0},
        "docs_per_batch": 2.0,
        "machine": machine,
    }
    notes = {"animated": 1_234, "skipped_link": 2}
    return report_with(
        LEDGER,
        measurement={name: m.to_json() for name, m in measure(shards, 100).items()},
        images={**images_of(SHARDS), "notes": notes, "decoding": decoded | decoding},
    )


def test_what_a_document_and_its_images_take_is_told_with_errors():
    blocks = image_blocks(of_images())
    words = [b for b in blocks if isinstance(b, str)]
    assert words[1].startswith(
        "A document that came out has 2.000 images of 225 ± 175 bytes in all, and with its text it"
        " takes 265 ± 175 bytes. Of its 14.000 tokens 8.000 are text;"
    )
    tables = {b.caption: b for b in blocks if isinstance(b, Table)}
    assert tables["Also met, by readers and steps"].rows == (
        ("animated", "1,234"),
        ("skipped_link", "2"),
    )
    assert tables["Decoding, one core, by format"].rows == (
        ("png", "1", "2.00", "500", "0.0", "0.0"),
    )
    assert words[-1] == (
        "A core decodes 500 ± 20 images a second, formats weighted as in the dataset (± one"
        " standard error over images). Decoded wholly, without resizing, by Pillow 13.0 on Z80."
        " 2 images had no bytes here, or would not decode."
    )


def test_a_placeholder_for_each_image_is_told_as_tokens_unknown():
    known = of_images()
    one = {"token": "<image>", "id": 7, "tokens": 1}
    for tokens, told in ((1, True), (576, False)):
        token = ImageToken(**{**one, "tokens": tokens})
        settings = known.tokenizer.model_copy(update={"image_token": token})
        words = image_blocks(known.model_copy(update={"tokenizer": settings}))
        assert any("Tokens of an image are unknown" in str(w) for w in words) is told


def test_images_that_are_not_at_hand_are_not_measured():
    blocks = image_blocks(of_images(formats={}, images_per_core_s=None))
    assert blocks[-1] == (
        "What decoding takes was not measured: no image of the dataset is at hand."
    )


def test_sizes_and_shapes_are_drawn():
    _, pixels, sizes, ratios = image_plots(of_images())
    assert "16 to under 32: 1" in pixels
    assert "64 B to under 128 B: 1" in sizes
    assert "1:2 to under 1:1.68: 1; " in ratios
    assert "1:1 to under 1.19:1: 2" in ratios


def test_a_source_without_images_is_told_with_the_way_out():
    words = image_blocks(report_with(LEDGER, images=images_of([]) | {"sources_without": ["saved"]}))
    assert "No image was read from saved: for images name {path: …, images: COLUMN}" in words[1]
