"""Whether a page is one that a parser of HTML takes little time and memory for, told by its bytes.

Parsers follow the standard in what it makes them do: elements that mistakes leave open are opened
anew in each block, and a page of 70 KB becomes a tree of 4 GB. Extractors add walks from each node
to the root. What a page may ask for is bounded here, by counts that are the same on every machine.
Source: WHATWG, HTML Standard, sections 13.1.2 (end tags), 13.2.4 and 13.2.6 (what stays open).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.read.web.kernels import outline as kernel

# Built trees of a million nodes took 0.4 s and 330 MB; options, n**2: 10,000 of them 0.3 s.
MOST_NODES = 1_000_000
MOST_OPTIONS = 10_000
CAUSES = (
    *("too_many_tags", "too_many_attributes", "too_deep"),
    *("too_many_nodes", "too_many_options"),
)

# Elements without an end tag, or that need none: others bound how deep they nest.
_VOID = "area base br col embed hr img input link meta param source track wbr image keygen bgsound"
_LOOSE = (
    f"{_VOID} html head body li dt dd option optgroup tr tbody thead tfoot colgroup rb rp rt rtc"
    " form a nobr button frame"
)
_FORMATTING = "b big code em font i s small strike strong tt u"
_SPECIAL = (
    "address applet article aside blockquote caption center details dialog dir div dl fieldset"
    " figcaption figure footer frameset h1 h2 h3 h4 h5 h6 header hgroup iframe listing main marquee"
    " menu nav noembed noframes noscript object ol p plaintext pre script search section select"
    " style summary table td template textarea th title ul xmp"
)
_BARRIER = (
    "applet caption table td th marquee object template select svg math foreignobject desc"
    " annotation-xml mi mo mn ms mtext"
)
_CLOSES_P = (
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure"
    " footer header hgroup main menu nav ol p search section summary ul h1 h2 h3 h4 h5 h6 pre"
    " listing form hr li dd dt"
)  # not `table`, which does so in some pages only
_LEAVES_FOREIGN = (
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li"
    " listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
_MARKER = "td th caption applet marquee object template"
_REOPENS_NONE = (
    "table td th tr tbody thead tfoot caption colgroup col html head body frameset frame meta link"
    " base param source track template"
)
_INTEGRATION = "foreignobject desc title annotation-xml mi mo mn ms mtext"
_RAW = "script style textarea title xmp iframe noembed noframes plaintext"
_KINDS = (
    (_LOOSE, kernel.LOOSE),
    (_FORMATTING, kernel.FORMATTING),
    (_SPECIAL, kernel.SPECIAL),
    (_BARRIER, kernel.BARRIER),
    (_RAW, kernel.RAW),
    ("svg math", kernel.FOREIGN),
    ("option", kernel.OPTION),
    ("h1 h2 h3 h4 h5 h6", kernel.HEADING),
    ("p", kernel.PARAGRAPH),
    (_CLOSES_P, kernel.CLOSES_P),
    ("td th", kernel.CELL),
    ("tr tbody thead tfoot", kernel.ROW),
    ("table template", kernel.TABLE),
    ("template", kernel.TEMPLATE),
    ("td th caption", kernel.OF_TABLES),
    (_LEAVES_FOREIGN, kernel.LEAVES_FOREIGN),
    (_INTEGRATION, kernel.INTEGRATION),
    (_MARKER, kernel.MARKER),
    (f"{_CLOSES_P} {_REOPENS_NONE} {_RAW}", kernel.REOPENS_NONE),
)


class Bounds(NamedTuple):
    """tags: of a page.  attributes: of a tag.  depth: of elements in one another."""

    tags: int
    attributes: int
    depth: int


class Outline(NamedTuple):
    """As `Bounds`; nodes: of the tree, with attributes, at most.  options: of lists to choose."""

    tags: int
    attributes: int
    depth: int
    nodes: int
    options: int


def outline(page: bytes, bounds: Bounds) -> tuple[Outline, str]:
    """What a page asks for, and the cause of refusing it: "too_deep" and the like, else "".

    Of a page that is refused counting ends at what is too much. Tags without an end tag count for
    no depth: they may nest once more in each of those that do.
    """
    limits = np.array([*bounds, MOST_NODES, MOST_OPTIONS], np.int64)
    found = np.zeros(len(limits), np.int64)
    stack, waiting = np.empty((2, 3, bounds.depth + 1), np.uint64)
    data = np.frombuffer(page, np.uint8)
    kernel.outline(data, _NAMES, _NAME_KINDS, limits, stack, waiting, found)
    over = np.flatnonzero(found > limits)
    return Outline(*found.tolist()), CAUSES[over[0]] if len(over) else ""


def _hash(name: bytes) -> int:
    h = int(kernel.FNV_START)
    for b in name:
        h = (h ^ b) * int(kernel.FNV_PRIME) % 2**64
    return h


def _table(
    kinds: Iterable[tuple[str, int]],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """(n_names,) hashes, ascending, and kinds."""
    made: dict[int, int] = {}
    for names, kind in kinds:
        for name in names.split():
            h = int(kernel.HEADINGS) if kind == kernel.HEADING else _hash(name.encode())
            made[h] = made.get(h, 0) | kind
            if kind == kernel.HEADING:
                made[_hash(name.encode())] |= kind
                made[h] |= kernel.SPECIAL
    hashes = sorted(made)
    return np.array(hashes, np.uint64), np.array([made[h] for h in hashes], np.int64)


_NAMES, _NAME_KINDS = _table(_KINDS)
