"""What is said of a trained language model, from the account that its file carries."""

from collections.abc import Iterator, Mapping
from typing import Any

from tokenmill.pipelines.train.sample import account_table
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import Block, Section, Table, table

About = Mapping[str, Any]

MANY_UNKNOWN = 0.1  # of words


def lm_markdown(about: About) -> str:
    """The account as a Markdown document."""
    section = Section(
        key="perplexity", title="How it was trained, and how well", blocks=tuple(blocks(about))
    )
    return markdown("Language model", [section])


def blocks(about: About) -> Iterator[Block]:
    """Tables and paragraphs, in order."""
    yield account_table(about["inputs"], "option", ("documents", "words"))
    yield _orders(about["orders"])
    known, unknown = (about["vocabulary"][name] for name in ("known", "unknown"))
    yield f"Vocabulary: {known:,} words; {unknown:,} others occur, each as likely as the rest."
    measured = about["held_out"]
    yield (
        f"Held-out text: perplexity {measured['perplexity']:,.1f} a word, line ends among them;"
        f" {measured['unknown_frac']:.2%} of {measured['words']:,} words are not in the vocabulary."
    )
    if measured["unknown_frac"] > MANY_UNKNOWN:
        yield (
            "Caution: perplexities are mostly of how many words are not known. Train on more text."
        )
    yield _percentiles(about["percentiles"])
    cutoffs = about["cutoffs"]
    yield (
        f"Head below {cutoffs['head']:,.1f}, tail from {cutoffs['tail']:,.1f} on: percentiles"
        f" {about['training']['head']:g} and {about['training']['tail']:g} of"
        f" {cutoffs['documents']:,} documents of {_said(cutoffs['of'])}."
    )


def _said(of: str) -> str:
    if of == "cutoffs":
        return "--cutoffs"
    return "the held-out text; give the corpus that is to be filtered as --cutoffs"


def _orders(orders: list[dict[str, Any]]) -> Table:
    rows = [
        (
            str(level["order"]),
            f"{level['ngrams']:,}",
            *(f"{d:.3f}" for d in level["discounts"]),
            "estimated" if level["estimated"] else "too little text to estimate",
        )
        for level in orders
    ]
    columns = (">words", ">n-grams", ">D1", ">D2", ">D3+", "discounts")
    return table("N-grams, by modified Kneser-Ney", columns, rows)


def _percentiles(percentiles: Mapping[str, float]) -> Table:
    rows = [(p, f"{value:,.1f}") for p, value in percentiles.items()]
    return table("Perplexity of documents", (">percentile", ">perplexity"), rows)
