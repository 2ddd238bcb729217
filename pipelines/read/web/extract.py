"""Text of pages, made by a process of our own, so that no page can take the run along.

Extractors hold Python's lock, and are other people's C: in a process each thread of a run has its
own, and one that dies takes one page with it.

Parsers follow the standard in what it makes them do: elements that mistakes leave open are opened
anew in each block, and a page of 70 KB becomes a tree of 4 GB. Extractors add walks from each node
to the root. So what a page may ask for is bounded before it is parsed, told by its bytes, by counts
that are the same on every machine.
Source: WHATWG, HTML Standard, sections 13.1.2 (end tags), 13.2.4 and 13.2.6 (what stays open).
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple, Self

import numpy as np

from tokenmill.dedup.arrays import I64, U64
from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.stream import UnreadableError
from tokenmill.pipelines.read.web import child
from tokenmill.pipelines.read.web.child import ANSWER, CPU_SECONDS, TEXT, asked
from tokenmill.pipelines.read.web.kernels import outline as kernel

# Built trees of a million nodes took 0.4 s and 330 MB; options, n**2: 10,000 of them 0.3 s.
MOST_NODES = 1_000_000
MOST_OPTIONS = 10_000
PLACES = 1024  # for names of elements, of which there are 150
CAUSES = (
    *("too_many_tags", "too_many_attributes", "too_deep"),
    *("too_many_nodes", "too_many_options"),
)

# Elements without an end tag, or that need none: others bound how deep they nest.
_VOID = "area base br col embed hr img input link meta param source track wbr image keygen bgsound"
_LOOSE = (
    f"{_VOID} html head body option optgroup tr tbody thead tfoot colgroup rb rp rt rtc"
    " a nobr button frame"
)
_FORMATTING = "b big code em font i s small strike strong tt u"
_SPECIAL = (
    "address applet article aside blockquote caption center dd details dialog dir div dl dt"
    " fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup iframe li"
    " listing main marquee menu nav noembed noframes noscript object ol p plaintext pre script"
    " search section select style summary table td template textarea th title ul xmp"
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
    ("tr tbody thead tfoot", kernel.ROW),
    ("table template", kernel.TABLE),
    ("template", kernel.TEMPLATE),
    ("td th caption", kernel.OF_TABLES),
    ("li", kernel.LI),
    ("dd dt", kernel.DD),
    ("ol ul", kernel.LIST),
    ("form", kernel.FORM),
    ("address div p", kernel.PASSED),
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
    no depth: they may nest once more in each of those that do. Optional end tags may be left out.
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


def _table() -> tuple[U64, I64]:
    """(PLACES,) hashes, and kinds, as `kernel.outline` looks them up."""
    made: dict[int, int] = {}
    for names, kind in _KINDS:
        for name in names.split():
            h = int(kernel.HEADINGS) if kind == kernel.HEADING else _hash(name.encode())
            made[h] = made.get(h, 0) | kind
            if kind == kernel.HEADING:
                made[_hash(name.encode())] |= kind
                made[h] |= kernel.SPECIAL
    hashes, kinds = np.zeros(PLACES, np.uint64), np.zeros(PLACES, np.int64)
    for h, kind in made.items():
        place = next(k for i in range(PLACES) if not hashes[k := (h + i) % PLACES])
        hashes[place], kinds[place] = h, kind
    return hashes, kinds


_NAMES, _NAME_KINDS = _table()
CHOICES = {"main_content", "comments", "favor", "links", "tables", "formatting"}
REFUSED, STOPPED = "not_extracted", "extractor_stopped"
SHOWN = 200
# All processes of a job, or of a terminal, are sent these: the process ends when its pages do.
BLOCKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Extractor:
    """Makes text of pages, in order; a context manager that ends its process."""

    def __init__(self, options: Html) -> None:
        self._bounds = Bounds(options.max_tags, options.max_attributes, options.max_depth)
        chosen = options.model_dump(include=CHOICES)
        self._settings = json.dumps({"name": options.extractor, **chosen})
        self._process: subprocess.Popen[bytes] | None = None
        self._held = _memory()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._process is not None:
            self._process.kill()  # whoever is in a hurry does not wait for a page
        self._end()
        self._held.close()

    def __call__(self, pages: Sequence[bytes]) -> list[str | UnreadableError]:
        """The text of each page (UTF-8), or why there is none.

        One is over a bound (the cause is as `outline` says), the extractor refused it
        ("not_extracted"), or died of it ("extractor_stopped").
        """
        found = [self._within_bounds(page.replace(b"\0", b"")) for page in pages]
        made = iter(self._texts([page for page in found if isinstance(page, bytes)]))
        return [next(made) if isinstance(page, bytes) else page for page in found]

    def _within_bounds(self, page: bytes) -> bytes | UnreadableError:
        told, cause = outline(page, self._bounds)
        if not cause:
            return page
        at = CAUSES.index(cause)
        name, most = Outline._fields[at], (*self._bounds, MOST_NODES, MOST_OPTIONS)[at]
        key = f" (html.max_{name})" if name in Bounds._fields else ""
        return UnreadableError(
            cause, f"{name}: {told[at]:,} or more, where {most:,} are let in{key}"
        )

    def _texts(self, pages: list[bytes]) -> list[str | UnreadableError]:
        if not pages:
            return []
        process = self._process = self._process or self._start()
        try:
            return [
                text if status == TEXT else UnreadableError(REFUSED, text[:SHOWN])
                for status, text in _ask(process, pages, self._held)
            ]
        except (OSError, EOFError):
            stopped = UnreadableError(STOPPED, f"the extractor {self._end()}")
        if len(pages) == 1:
            return [stopped]
        return [self._texts([page])[0] for page in pages]  # which of them it died of

    def _start(self) -> subprocess.Popen[bytes]:
        fd = self._held.fileno()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)  # the process inherits it
        try:
            return subprocess.Popen(
                [*(sys.executable, "-P", "-m", child.__name__), self._settings, str(fd)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[fd],
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _end(self) -> str:
        """End the process, if there is one; say how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "was not there"
        for stream in (process.stdin, process.stdout):  # it ends where its pages do
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()
        if process.returncode == -signal.SIGPROF:
            return f"took more than {CPU_SECONDS:g} s of CPU time"
        return f"ended with code {process.returncode}"


def _memory() -> BinaryIO:
    """A file that two processes can hold, of memory where there are such."""
    with contextlib.suppress(OSError, AttributeError):
        return os.fdopen(os.memfd_create("pages"), "wb")
    return tempfile.TemporaryFile()


def _ask(
    process: subprocess.Popen[bytes], pages: Sequence[bytes], held: BinaryIO
) -> Iterator[tuple[int, str]]:
    if process.stdin is None or process.stdout is None:
        raise EOFError
    process.stdin.write(asked(pages, held))
    process.stdin.flush()
    heads = process.stdout.read(ANSWER.size * len(pages))
    if len(heads) < ANSWER.size * len(pages):
        raise EOFError
    for status, size in ANSWER.iter_unpack(heads):
        text = process.stdout.read(size)
        if len(text) < size:
            raise EOFError
        yield status, text.decode()
