"""Texts of others side by side on a page, with what they have in common marked."""

from tokenmill.sizing.document.section import Comparison, Comparisons, Passage
from tokenmill.sizing.document.svg import escaped
from tokenmill.sizing.document.unseen import RUN, name_of

STYLE = """
:root { --found: #fff0b3; --found-line: #c79a00; }
@media (prefers-color-scheme: dark) { :root { --found: #4d3f0a; --found-line: #d9b13b; } }
.comparisons h3 { font-size: 1rem; margin: 1.8rem 0 .4rem; overflow-wrap: anywhere; }
.comparison { border-top: 1px solid var(--line); padding: .7rem 0 1rem; break-inside: avoid; }
.comparison h4 { font-size: .92rem; margin: 0; overflow-wrap: anywhere; }
.comparison .facts { color: var(--soft); font-size: .82rem; margin: .1rem 0 .5rem;
  max-width: none; }
.comparison .facts span { unicode-bidi: isolate; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: .6rem 1.5rem; }
.sides > div { min-width: 0; }
.sides h5 { margin: 0 0 .2rem; font-size: .78rem; font-weight: 500; color: var(--soft); }
blockquote { margin: 0; padding: .55rem .8rem; background: var(--wash); border-radius: 6px;
  font-size: .87rem; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem;
  overflow-y: auto; unicode-bidi: isolate; }
blockquote mark { background: var(--found); border: 0; border-radius: 2px; padding: .08em 0;
  font-size: inherit; white-space: inherit; box-decoration-break: clone;
  -webkit-box-decoration-break: clone; box-shadow: inset 0 -2px var(--found-line); }
.unseen { font: .72em var(--mono); color: var(--warn); border: 1px solid; border-radius: 3px;
  padding: 0 .15em; white-space: nowrap; }
@media print { blockquote { max-height: none; overflow: visible; } }
"""


def drawn(block: Comparisons) -> str:
    """The comparisons as HTML, the first open."""
    seen, folded = block.rows[: block.n_open], block.rows[block.n_open :]
    parts = [f"<h3>{_shown(block.heading(len(block.rows)))}</h3>\n", *map(_comparison, seen)]
    if folded:
        more = f"{len(folded):,} more"
        parts.append(f"<details><summary>{more}</summary>\n")
        parts += [*map(_comparison, folded), "</details>\n"]
    return f'<div class="comparisons">\n{"".join(parts)}</div>\n'


def _comparison(of: Comparison) -> str:
    facts = " · ".join(f"<span>{_shown(fact)}</span>" for fact in of.facts)
    return (
        f'<article class="comparison"><h4>{_shown(of.title)}</h4>\n<p class="facts">{facts}</p>\n'
        f'<div class="sides">{"".join(map(_passage, of.sides))}</div></article>\n'
    )


def _passage(passage: Passage) -> str:
    pieces = []
    for text, marked in passage.pieces:
        shown = _shown(text)
        pieces.append(f"<mark>{shown}</mark>" if marked and shown else shown)
    return (
        f"<div><h5>{_shown(passage.name)}</h5>"
        f'<blockquote dir="auto" tabindex="0">{"".join(pieces)}</blockquote></div>\n'
    )


def _shown(text: str) -> str:
    """Text as it is, line breaks too; what cannot be seen by its name."""
    parts, at = [], 0
    text = text.replace("\r\n", "\n")
    for found in RUN.finditer(text):
        parts += [_lines(text[at : found.start()]), _unseen(found[0])]
        at = found.end()
    return "".join([*parts, _lines(text[at:])])


def _lines(text: str) -> str:
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n"))


def _unseen(run: str) -> str:
    return f'<span class="unseen">{name_of(run)}</span>'
