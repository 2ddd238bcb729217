"""What is said of a trained classifier, from the account that its file carries."""

from collections.abc import Iterator, Mapping
from typing import Any

from tokenmill.pipelines.train.quality.examples import SIDES
from tokenmill.pipelines.train.sample import account_table
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import Block, Section, Table, table

About = Mapping[str, Any]

SUSPICIOUS = 0.995  # AUC


def quality_markdown(about: About) -> str:
    """The account as a Markdown document."""
    section = Section(
        key="quality", title="How it was trained, and how well", blocks=tuple(blocks(about))
    )
    return markdown("Quality classifier", [section])


def blocks(about: About) -> Iterator[Block]:
    """Tables and paragraphs, in order."""
    measured, inputs = about["evaluation"], about["inputs"]
    yield account_table({side: inputs[side] for side in SIDES}, "side", ("trained_on", "held_out"))
    yield (
        f"Held-out documents: AUC {measured['auc']:.4f}, Brier score {measured['brier']:.4f}"
        " (0.25 is of guessing)."
    )
    if measured["auc"] > SUSPICIOUS:
        yield (
            "Caution: nearly every held-out document is told. The words below show whether it is"
            " by quality, or by how the two sides were made: markup, dates, a site's own words."
        )
    if not about["training"]["converged"]:
        n = about["training"]["iterations"]
        yield f"Training stopped after {n:,} iterations before it had converged."
    yield _kept(measured["kept"])
    yield _calibration(measured["calibration"])
    yield _telling(about["telling"])


def _kept(kept: About) -> Table:
    rules = {"pareto": f"pareto, alpha {kept['alpha']:g}"}
    rows = [
        (
            rules.get(name, name.replace("_", " ")),
            *(f"{100 * shares[side]:.2f}" for side in SIDES),
        )
        for name, shares in kept.items()
        if name != "alpha"
    ]
    return table("Held-out documents that stay", ("rule", ">% of good", ">% of bad"), rows)


def _calibration(rows: list[dict[str, Any]]) -> Table:
    shown = [
        (
            f"{r['from']:.1f} to {r['to']:.1f}",
            f"{r['good']:,}",
            f"{r['bad']:,}",
            f"{r['mean_score']:.3f}",
            f"{r['good_frac']:.3f}",
        )
        for r in rows
    ]
    columns = ("score", ">good", ">bad", ">mean score", ">share of good")
    return table("Calibration: calibrated, mean score and share of good are equal", columns, shown)


def _telling(words: About) -> Table:
    pairs = [[f"{w['word']} ({w['weight']:+.2f})" for w in words[side]] for side in SIDES]
    longest = max(map(len, pairs))
    padded = [side + [""] * (longest - len(side)) for side in pairs]
    rows = list(zip(*padded, strict=True))
    return table("Most telling words, with their weights", ("`good", "`bad"), rows)
