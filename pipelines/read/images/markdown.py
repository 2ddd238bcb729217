"""Folders of Markdown: each file a document, with the images it refers to; tiny ones share a shard.

    # A cat                          # A cat
    See ![the cat](cat.png) here.    See the cat here.
                                     ⟨blank line⟩ U+FFFC
                                     ⟨blank line⟩
    Then it slept.                   Then it slept.

The alternative text of an image takes the place of its markup; the image itself is a node of its
own behind the paragraph. A document without images stays as it is.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.common import html_re
from markdown_it.rules_inline import StateInline, html_inline, image
from markdown_it.token import Token

from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import ReadBatch, SourceDocument
from tokenmill.pipelines.read.images import documents as illustrated
from tokenmill.pipelines.read.images.folder import Folder, Place, is_url
from tokenmill.pipelines.read.images.layouts import Value
from tokenmill.pipelines.read.images.nodes import BREAK, own_text
from tokenmill.pipelines.read.options import Images, Limits, Reading
from tokenmill.pipelines.read.text import read_text

_LINE_END = re.compile(r"\r\n?|\n")  # as CommonMark has it; `str.splitlines` ends lines elsewhere
_HINT = re.compile(r"!\[|<img", re.IGNORECASE)  # what a document with images has at least
_SPAN = "span"
_TAG = re.compile(html_re.open_tag)
_RAW = ("script", "style", "textarea", "title")  # no tags within
_BEGIN = re.compile(rf"<(!--|(?:img|{'|'.join(_RAW)})\b)", re.IGNORECASE)
_ENDS = {"!--": re.compile("-->")} | {n: re.compile(f"</{n}", re.IGNORECASE) for n in _RAW}


class Mark(NamedTuple):
    """An image in a document's source; start, stop: its markup.  behind: end of its paragraph."""

    start: int
    stop: int
    behind: int
    line: int
    alt: str
    src: str


def find_images(source: str) -> list[Mark]:
    """The images of a Markdown document, in order: `![…](…)`, by reference too, and `<img src>`.

    Code and comments have none, an image within another's text is none.
    """
    if not _HINT.search(source):
        return []
    lines = _Lines(source)
    marks: list[Mark] = []
    before: Token | None = None
    for token in _parser().parse(source):
        # what opens a heading knows of the line below it, what stands in it does not
        behind = (before if token.type == "inline" and before is not None else token).map
        marks += _marks(token, lines, behind)
        before = token
    return marks


def with_placeholders(source: str, marks: Sequence[Mark]) -> str:
    """The text of a document, with U+FFFC for each of its images."""
    if not marks:
        return source
    nodes, at = [], 0
    for behind, together in groupby(marks, key=attrgetter("behind")):
        text, places = "", []
        for mark in together:
            text += source[at : mark.start] + mark.alt
            places.append(PLACEHOLDER)
            at = mark.stop
        nodes += [text + source[at:behind], *places]
        at = behind
    nodes.append(source[at:])
    return BREAK.join(node.strip("\r\n") for node in nodes if node.strip())


class _Lines:
    """The lines of a document, to find again what the parser took out of them."""

    def __init__(self, source: str) -> None:
        ends = [m.end() for m in _LINE_END.finditer(source)]
        self.starts = [0, *ends, len(source)]
        self.lines = _LINE_END.split(source.replace("\0", "\ufffd"))


class _Content:
    """What the parser took of the lines of a block, and where it stands in the document.

    first: the block's first line.  Quote marks, indents and the like are stripped from either end.
    """

    def __init__(self, content: str, first: int, source: _Lines) -> None:
        lines = content.split("\n")
        self.first = first
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))[:-1]
        self._places: list[int | None] = []
        for line, number in zip(lines, range(first, len(source.lines)), strict=False):
            at = source.lines[number].rfind(line.strip())
            indent = len(line) - len(line.lstrip())
            self._places.append(source.starts[number] + at - indent if at >= 0 else None)

    def line(self, offset: int) -> int:
        """The line of the document, from 0, that a place in the content is on."""
        return self.first + bisect_right(self._starts, offset) - 1

    def place(self, offset: int) -> int | None:
        """Where in the document a place in the content is; None where it cannot be found."""
        i = bisect_right(self._starts, offset) - 1
        begin = self._places[i] if i < len(self._places) else None
        return None if begin is None else begin + offset - self._starts[i]


def _marks(token: Token, lines: _Lines, block: list[int] | None) -> Iterator[Mark]:
    """Images of a token.  block: the lines from and to of the block it stands in."""
    found = list(_found(token))
    if token.map is None or block is None or not found:
        return
    content = _Content(token.content, token.map[0], lines)
    for start, stop, alt, src in found:
        begin, end = content.place(start), content.place(stop)
        if begin is not None and end is not None:
            yield Mark(begin, end, lines.starts[block[1]], content.line(start) + 1, alt, src)


def _found(token: Token) -> Iterator[tuple[int, int, str, str]]:
    """(start, stop, alternative text, source) of the images of a block, by place in its content."""
    if token.type == "html_block":
        yield from _tags(token.content)
    for child in token.children or ():
        start, stop = child.meta.get(_SPAN, (0, 0))
        if child.type == "image" and child.attrs.get("src"):
            yield start, stop, _plain(child.children or ()), str(child.attrs["src"])
        elif child.type == "html_inline":
            for a, b, alt, src in _tags(child.content):
                yield start + a, start + b, alt, src


def _plain(tokens: Sequence[Token]) -> str:
    """The text of tokens without markup, as it is shown where an image is not."""
    parts = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type in ("text", "text_special", "code_inline", "image"):
            parts.append(_plain(token.children) if token.children else token.content)
    return "".join(parts)


def _tags(html: str) -> Iterator[tuple[int, int, str, str]]:
    """The same of HTML; comments, scripts and the like have none.

    `html.parser` sees single tags only: the time it takes grows with the square of what is open.
    """
    at = 0
    while (begin := _BEGIN.search(html, at)) is not None:
        kind, at = begin[1].lower(), begin.end()
        if kind == "img":
            tag = _TAG.match(html, begin.start())
            if tag is not None:
                at, said = tag.end(), _Attributes(tag[0]).found
                if src := said.get("src"):
                    yield tag.start(), at, said.get("alt") or "", src
            continue
        end = _ENDS[kind].search(html, at)
        if end is None:
            return
        at = end.end()


class _Attributes(HTMLParser):
    def __init__(self, tag: str) -> None:
        super().__init__()
        self.found: dict[str, str | None] = {}
        self.feed(tag)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found = dict(attrs)


def _parser() -> MarkdownIt:
    """CommonMark with every kind of address: what may not be read is named, not passed over."""
    parser = MarkdownIt("commonmark")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.inline.ruler.at("image", _spanned(image))
    parser.inline.ruler.at("html_inline", _spanned(html_inline))
    return parser


def _spanned(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """A rule that leaves in its token where in the content it stands."""

    def apply(state: StateInline, silent: bool) -> bool:
        start = state.pos
        applies = rule(state, silent)
        if applies and not silent:
            state.tokens[-1].meta[_SPAN] = (start, state.pos)
        return applies

    return apply


def read_markdown(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield each file of the shard as a document; its id is its path below the input's folder.

    Images lie below that folder; what else a document refers to is an image that failed, or
    stays a URL.
    """
    images = how.images or Images()
    pages = (_page(shard, row, how.limits, images) for row in range(len(shard.paths)))
    return illustrated.batches(shard, pages, images)


def _page(shard: SourceShard, row: int, limits: Limits, images: Images) -> SourceDocument:
    path, name = shard.paths[row], shard.names[row]
    document = read_text(shard, row, limits)
    if document.lost is not None:
        return document
    source = own_text(document.text)
    marks = find_images(source)
    folder = Folder(shard, images, row)
    found = [
        folder.image(Value(reference=local_path(m.src)), Place(name, f"{path} line {m.line}"))
        for m in marks
    ]
    return document._replace(text=with_placeholders(source, marks), images=found)


def local_path(address: str) -> str:
    """The file that an address means, if it means one: without query, fragment and %20.

    >>> local_path("img/my%20cat.png?raw=true")
    'img/my cat.png'
    >>> local_path("https://a.org/cat.png?size=2")
    'https://a.org/cat.png?size=2'
    """
    if is_url(address) or address[:5].lower() in ("data:", "file:"):
        return address
    try:
        return unquote(urlsplit(address).path) or address
    except ValueError:
        return address
