"""Replace personal identifiers of a text: e-mail and IP addresses, phone numbers.

    text ── anchors: every "@", … ── kernel ──► spans of bytes, in order ──► made-up ones there

    … Chrome/96.0.12.3 …      a version       mysql@5.7, icon@2x.png    a package, a file
    … see 4.2.1.3 …           a section       git@github.com:a/b        a repository

A span is found from one character of it, its anchor, and checked around that. What is found by its
shape alone is often nobody's: in a manual most "1.2.3.4" are versions or sections.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import I64, U8, U32, Bools, large_strings, read_only, text_buffers
from tokenmill.dedup.kernels.edits import Edits
from tokenmill.dedup.text.fold import spliced
from tokenmill.dedup.text.unicode import tables
from tokenmill.pipelines.core.config import ALONE
from tokenmill.pipelines.core.filter import Filter
from tokenmill.pipelines.core.step import KEEP, StageResult, keep_where, with_text
from tokenmill.pipelines.filters.kernels import pii as kernels

BEFORE, AFTER = 40, 12  # bytes that are looked at on either side

# Last parts of names of files and units that are nobody's top level domain.
ENDINGS = (
    b"png jpg jpeg gif svg webp bmp ico css scss less js jsx mjs cjs ts tsx json html htm xml yml"
    b" yaml toml txt log pdf doc docx csv exe dll jar war gz bz2 xz tgz whl deb rpm service socket"
    b" timer target mount device slice"
).split()
RESERVED = rb"(?:^|\.)(?:example\.(?:com|net|org)|example|test|invalid|localhost)$"  # RFC 2606
NAMES_OF_ALGORITHMS = rb"(?:^|\.)(?:openssh\.com|libssh\.org)$"  # RFC 4251, section 6: name@domain
NOBODY = re.compile(RESERVED + rb"|" + NAMES_OF_ALGORITHMS, re.I)
NO_MAILBOX = re.compile(rb"(?:^|[/=])(?:this|super|return)?$", re.I)
OF_REPOSITORIES = re.compile(rb"(?:^|/)(?:git|hg|svn)$", re.I)
FORGES = (b"github.com", b"gitlab.com", b"bitbucket.org", b"codeberg.org")
TOP_LEVEL = re.compile(rb"(?:[a-z]{2,63}|[A-Z]{2,63}|[A-Z][a-z]{1,62}|(?i:xn--[a-z0-9-]+))\Z")
PIXELS = re.compile(rb"[0-9]+x\.")  # icon@2x.png

NUMBERED = re.compile(
    rb"(?:\b(?:v|vers?|versions?|releases?|rel|build|update|upgrade|firmware|driver|patch|rev"
    rb"|revision|sections?|sect?|subsection|chapters?|clauses?|subclause|para|paragraphs?|articles?"
    rb"|rules?|parts?|tables?|figures?|fig|annex|appendix|items?|step|page|no|nos|number|iso|iec"
    rb"|oid|kernel|requirement|control)(?:\s+to)?[\s.:#=(\"']*|\xc2\xa7\s*|[A-Za-z0-9_]|[0-9]\."
    rb"|[A-Za-z][/_-]|[A-Za-z]\.)\Z",
    re.I,
)
GOES_ON = re.compile(rb"[A-Za-z0-9_+]|\.[0-9a-z]|-(?![0-9]{1,3}\.)[A-Za-z0-9]")
OF_A_HOST = re.compile(
    rb"(?:\b(?:ips?|ipv4|inet|addr|address|addresses|hosts?|dns|nameservers?|resolvers?|gateway"
    rb"|ping|ssh|telnet|traceroute|whois)\b[^\n]{0,16}|://|@)\Z",
    re.I,
)
PORT_OR_PREFIX = re.compile(rb":[0-9]{2,5}\b|/[0-9]{1,2}\b")
SUM = re.compile(rb"[A-Za-z0-9_)\]%*+~]\Z")
PART_NUMBER = re.compile(
    rb"(?:\b(?:parts?|orders?|items?|models?|serial|sku|isbn|case|ref|invoice|docket|patent)\b"
    rb"[\s.:#]*(?:no|number|nr)?[\s.:#]*|#\s*)\Z",
    re.I,
)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
ATOMS = "!#$%&'*+/=?^_`{|}~-"  # of an e-mail address, besides letters and digits
# Not "globally reachable" by IANA's registries of special-purpose addresses, as of Python 3.13's
# `ipaddress`; written down here, since interpreters differ.
NOT_GLOBAL_IPV4 = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "240.0.0.0/4",
)  # fmt: skip
GLOBAL_IPV4 = ("192.0.0.9/32", "192.0.0.10/32")  # within one of those
GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")  # all that is handed out to networks
NOT_GLOBAL_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
Replacements = Annotated[tuple[str, ...], ALONE, Field(min_length=1)]


class Place(NamedTuple):
    """What was found in a document, with what stands before and behind it."""

    before: bytes
    found: bytes
    behind: bytes


def personal(kind: str, text: pa.Array, starts: I64, ends: I64) -> Bools:
    """(n,) whether each find of a column is somebody's.

    kind: "emails", "ipv4", "ipv6", "international", "north_american".
    starts, ends: (n,) bytes of the column's data, ascending.
    """
    data, offsets = text_buffers(text)
    docs = np.searchsorted(offsets, starts, side="right")
    rule = RULES[kind]
    first, last = offsets[docs - 1].tolist(), offsets[docs].tolist()
    found = np.empty(len(starts), np.bool_)
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        before = data[max(first[i], start - BEFORE) : start].tobytes()
        behind = data[end : min(last[i], end + AFTER)].tobytes()
        found[i] = rule(Place(before, data[start:end].tobytes(), behind))
    return found


def _of_a_mailbox(place: Place) -> bool:
    name, _, host = place.found.rpartition(b"@")
    if host.startswith(b"["):
        return True
    top = host.rpartition(b".")[2]
    if not TOP_LEVEL.match(top) or top.lower() in ENDINGS or PIXELS.match(host):
        return False
    if OF_REPOSITORIES.search(name):
        a_path = re.match(rb"[:/][\w~.]", place.behind) or place.before.endswith(b"://")
        return not (a_path or host.lower() in FORGES)
    on_a_machine = place.behind.startswith((b":/", b":~"))
    return not (on_a_machine or NO_MAILBOX.search(name) or NOBODY.search(host))


def _of_a_machine(place: Place) -> bool:
    """Numbers under 32 throughout, or two of them under 10, has one address in 100 by chance."""
    if NUMBERED.search(place.before) or GOES_ON.match(place.behind):
        return False
    numbers = [int(n) for n in place.found.split(b".")]
    if numbers[0] >= 224:  # RFC 1112: of groups, not of machines
        return False
    usual = max(numbers) >= 32 and sum(n < 10 for n in numbers) < 2
    return bool(usual or OF_A_HOST.search(place.before) or PORT_OR_PREFIX.match(place.behind))


def _not_a_part(place: Place) -> bool:
    """Where blanks part it, as they part lists of numbers, no number stands beside it."""
    separators = re.sub(rb"\A1[-. ]|[()0-9]", b"", place.found)
    if b"(" not in place.found and len(set(separators)) > 1:
        return False
    if b" " in separators and b"(" not in place.found:
        of_a_list = re.search(rb"[0-9][\s,]*\Z", place.before)
        if of_a_list or re.match(rb"[\s,]*[0-9]", place.behind):
            return False
    more = re.match(rb"[-./]?[0-9]", place.behind)
    return not (more or PART_NUMBER.search(place.before))


RULES: dict[str, Callable[[Place], bool]] = {
    "emails": _of_a_mailbox,
    "ipv4": _of_a_machine,
    "ipv6": lambda place: sum(map(bool, place.found.split(b":"))) >= 3,
    "international": lambda place: not SUM.search(place.before),
    "north_american": _not_a_part,
}


class Spans(NamedTuple):
    """(n,) bytes where each begins, and behind its last, of the column's data; ascending."""

    starts: I64
    ends: I64

    def where(self, wanted: Bools) -> "Spans":
        return Spans(self.starts[wanted], self.ends[wanted])


@cache
def byte_kinds() -> U8:
    """(256,) bits of `kernels.pii` for each byte."""
    table = np.zeros(256, np.uint8)
    for bit, members in (
        (kernels.ATOM, LETTERS + DIGITS + ATOMS),
        (kernels.ALNUM, LETTERS + DIGITS),
        (kernels.UNDERSCORE, "_"),
        (kernels.DIGIT, DIGITS),
        (kernels.HEX, DIGITS + "abcdefABCDEF"),
    ):
        table[list(members.encode())] |= bit
    return read_only(table)


def emails(text: pa.Array, *, anywhere: bool = False) -> Spans:
    """E-mail addresses, as the regular expression of datatrove's `PIIFormatter` finds them.

    anywhere: behind letters of any script too, as Chinese has them; no blank stands before.
    """
    column = _Column(text)
    known = tables()
    flags = np.zeros_like(known.flags) if anywhere else known.flags  # no letter is of a word
    anchors = column.where(b"@")
    return column.found(kernels.find_emails, anchors, read_only(known.pages), read_only(flags))


def ipv4(text: pa.Array, *, public_only: bool) -> Spans:
    """IPv4 addresses as `PIIFormatter` finds them, in words too; public_only: those `is_global`."""
    column = _Column(text)
    anchors = column.between(b".", column.digits)
    values, valid = np.empty(len(anchors), np.uint32), np.empty(len(anchors), np.uint8)
    spans = column.found(kernels.find_ipv4, anchors, values, valid)
    n = len(spans.starts)
    wanted = valid[:n] != 0
    if public_only:
        wanted &= is_global(values[:n])
    return spans.where(wanted)


def is_global(values: U32) -> Bools:
    """(n,) whether IPv4 addresses are globally reachable."""
    return ~_within(values, NOT_GLOBAL_IPV4) | _within(values, GLOBAL_IPV4)


def ipv6(text: pa.Array, *, public_only: bool) -> Spans:
    """IPv6 addresses as `ipaddress` reads them, no part of a word.

    public_only: those of 2000::/3 that are globally reachable.
    """
    column = _Column(text)
    spans = column.found(kernels.find_ipv6, column.where(b":"))
    pairs = zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)
    good = [_is_ipv6(column.data[a:b].tobytes(), public_only=public_only) for a, b in pairs]
    return spans.where(np.array(good, np.bool_))


def international_phones(text: pa.Array) -> Spans:
    """Phone numbers with "+" and a country code."""
    column = _Column(text)
    return column.found(kernels.find_international, column.where(b"+"))


def north_american_phones(text: pa.Array) -> Spans:
    """Phone numbers of ten digits, as the United States and Canada write them."""
    column = _Column(text)
    anchors = [column.between(c, column.digits) for c in (b"-", b".", b" ")]
    return column.found(kernels.find_north_american, np.sort(np.concatenate(anchors)))


class _Column:
    """A text column's bytes; anchors are numbers of bytes within it."""

    def __init__(self, text: pa.Array) -> None:
        self.data, self.offsets = text_buffers(text)
        self._first, self._end = (int(edge) for edge in self.offsets[[0, -1]])

    def where(self, byte: bytes) -> I64:
        """(n,) where a byte stands."""
        here = self.data[self._first : self._end] == byte[0]
        return np.flatnonzero(here) + self._first

    def between(self, byte: bytes, wanted: Bools) -> I64:
        """(n,) where a byte stands between two that are `wanted`, (256,)."""
        at = self.where(byte)
        at = at[(at > self._first) & (at < self._end - 1)]
        return at[wanted[self.data[at - 1]] & wanted[self.data[at + 1]]]

    @property
    def digits(self) -> Bools:
        return np.asarray((byte_kinds() & kernels.DIGIT) != 0)

    def found(self, find: Callable[..., int], anchors: I64, *more: npt.NDArray[Any]) -> Spans:
        """What a kernel finds from anchors.  more: its other arguments."""
        starts, ends = np.empty_like(anchors), np.empty_like(anchors)
        first = self.data, self.offsets, read_only(anchors), byte_kinds()
        n = find(*first, *more, starts, ends)
        return Spans(starts[:n], ends[:n])


def _within(values: U32, networks: tuple[str, ...]) -> Bools:
    found = np.zeros(len(values), np.bool_)
    for network in map(ipaddress.IPv4Network, networks):
        found |= (values & np.uint32(int(network.netmask))) == int(network.network_address)
    return found


def _is_ipv6(written: bytes, *, public_only: bool) -> bool:
    try:
        address = ipaddress.IPv6Address(written.decode("ascii"))
    except ValueError:
        return False
    if not public_only:
        return True
    return address in GLOBAL_IPV6 and not any(address in n for n in NOT_GLOBAL_IPV6)


class Finder(NamedTuple):
    """One kind of what is masked; `column` is what it is counted as."""

    kind: str
    column: str
    find: Callable[[pa.Array], Spans]
    replacements: tuple[str, ...]


class Pii(Filter):
    """Put made-up e-mail and public IPv4 addresses in place of those that are found, by request
    IPv6 addresses and phone numbers too. Documents are never removed; the report counts what was
    masked. To annotate masks nothing, and counts what it would have masked of each kind.

    rules: "context" leaves what is nobody's: versions, numbers of sections, packages and files
        (mysql@5.7, icon@2x.png), repositories (git@github.com), names kept for examples.
        "datatrove" goes by shape alone, as the published recipes do.
    emails: e-mail addresses.
    ipv4, ipv6: IP addresses.  public_only: only those that are globally reachable; of IPv6 those
        of 2000::/3 (the others, as `a::b`, stand in code far more often).
    phones: "international", as +44 (0)20 7946 0958: "+" and 8 to 15 digits; "north_american", as
        (202) 555-0100 and 202-555-0100. Numbers of another national form stay.
    email_replacements, ipv4_replacements, ipv6_replacements, phone_replacements: put in place of a
        document's first, second, … of the kind, over and over.

    E-mail addresses are masked first, then IPv6, IPv4 and phone numbers, each in what the one
    before left.

    Source: datatrove 0.10's PIIFormatter, which FineWeb used (arXiv:2406.17557): with its rules the
    texts are its own, but that its replacements go round over all documents of a process.
    """

    name: ClassVar[str] = "pii"
    edits_texts: ClassVar[bool] = True

    rules: Literal["context", "datatrove"] = "context"
    emails: bool = True
    ipv4: bool = True
    ipv6: bool = False
    public_only: bool = True
    phones: tuple[Literal["international", "north_american"], ...] = ()
    email_replacements: Replacements = ("email@example.com", "firstname.lastname@example.org")
    ipv4_replacements: Replacements = (
        "22.214.171.124", "126.96.36.199", "188.8.131.52", "184.108.40.206", "220.127.116.11",
        "18.104.22.168",
    )  # fmt: skip
    ipv6_replacements: Replacements = ("2001:db8::1", "2001:db8::2")  # RFC 3849: of no network
    phone_replacements: Replacements = ("202-555-0100", "202-555-0143")  # of nobody, for films

    @model_validator(mode="after")
    def _masks_something(self) -> "Pii":
        if not (self.emails or self.ipv4 or self.ipv6 or self.phones):
            raise ValueError("masks nothing; set emails, ipv4, ipv6 or phones, or leave it out")
        return self

    def finds(self) -> dict[str, pa.DataType]:
        return dict.fromkeys((finder.column for finder in self.finders()), pa.int64())

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        result = keep_where(self.stage_name, batch, np.full(batch.num_rows, KEEP, np.uint8), ())
        text, notes = batch["text"], dict[str, int]()
        counts = {part: np.zeros(batch.num_rows, np.int64) for part in self.finds()}
        for finder in self.finders():
            spans = self.spans(finder, text)
            if len(spans.starts):
                docs = np.searchsorted(text_buffers(text).offsets, spans.starts, side="right") - 1
                counts[finder.column] += np.bincount(docs, minlength=batch.num_rows)
                text = masked(text, spans, finder.replacements)
                note = f"pii_{finder.column}"
                notes[note] = notes.get(note, 0) + len(spans.starts)
        if self.annotates:
            result = self.annotated(batch, [pa.array(of_kind) for of_kind in counts.values()])
        elif notes:
            result = with_text(result, text)
        return result._replace(notes=notes or None)

    def spans(self, finder: Finder, text: pa.Array) -> Spans:
        """What a finder finds, by the rules of this step."""
        spans = finder.find(text)
        if self.rules == "datatrove" or not len(spans.starts):
            return spans
        return spans.where(personal(finder.kind, text, *spans))

    def finders(self) -> Iterator[Finder]:
        only, phones = self.public_only, self.phone_replacements
        if self.emails:
            of_mail = partial(emails, anywhere=self.rules == "context")
            yield Finder("emails", "emails", of_mail, self.email_replacements)
        if self.ipv6:
            yield Finder("ipv6", "ipv6", partial(ipv6, public_only=only), self.ipv6_replacements)
        if self.ipv4:
            yield Finder("ipv4", "ipv4", partial(ipv4, public_only=only), self.ipv4_replacements)
        if "international" in self.phones:
            yield Finder("international", "phones", international_phones, phones)
        if "north_american" in self.phones:
            yield Finder("north_american", "phones", north_american_phones, phones)


def masked(text: pa.Array, spans: Spans, replacements: tuple[str, ...]) -> pa.Array:
    """Put replacements in place of spans, the first again in each document; same type."""
    buffers = text_buffers(text)
    docs = np.searchsorted(buffers.offsets, spans.starts, side="right")
    rank = np.arange(len(docs)) - np.searchsorted(docs, docs)
    filling = pa.array(replacements, pa.large_string()).take(pa.array(rank % len(replacements)))
    data, ends = text_buffers(filling)
    spots = np.column_stack((*spans, ends[1:], np.zeros_like(docs)))
    edits = Edits(
        np.searchsorted(spans.starts, buffers.offsets[1:]), spots, data[: ends[-1]].copy()
    )
    return large_strings(*spliced(buffers, edits).out).cast(text.type)
