"""What a report says of images."""

from pipelines.report_images import image_blocks, image_plots
from sizing.document.section import Table


def row(stage, *, came, out, removed=None, failed=None, gone=0):
    images = {
        "images_in": came,
        "images_out": out,
        "removed": removed or {},
        "failed": failed or {},
        "with_document": gone,
        "bytes_in": 10 * came,
        "bytes_out": 10 * out,
    }
    return {"stage": stage, "images": images}


LEDGER = [
    row("read", came=1_010, out=1_000, failed={"bomb": 1, "truncated_header": 9}),
    row("images", came=1_000, out=600, removed={"ratio": 150, "too_small": 200}, gone=50),
    {"stage": "exact"},
    row("tokenize", came=600, out=600),
]


def test_the_account_is_told_by_stage_and_by_reason():
    words, stages, reasons = image_blocks({"ledger": LEDGER})
    assert words.startswith(
        "Images: 1,010 in = 350 removed + 10 failed + 50 gone with their document + 600 out."
    )
    assert isinstance(stages, Table)
    assert isinstance(reasons, Table)
    assert stages.rows[1] == ("images", "1,000", "350", "0", "50", "600", "6,000")
    assert [r[1] for r in reasons.rows] == ["truncated_header", "bomb", "too_small", "ratio"]


def test_an_account_that_does_not_close_is_seen():
    words = image_blocks({"ledger": [row("read", came=5, out=3)]})[0]
    assert "5 in ≠ 0 removed" in words


def test_a_run_of_text_says_nothing_of_images():
    assert image_blocks({"ledger": [{"stage": "read"}]}) == []
    assert image_plots({"ledger": [{"stage": "read"}]}) == []


def test_the_plot_tells_two_stages_apart():
    (plot,) = image_plots({"ledger": LEDGER})
    assert "bomb · read" in plot
    assert "too_small · images" in plot
