"""Whether an address or a number in a text is somebody's, by itself and what stands beside it.

    … Chrome/96.0.12.3 …      a version       mysql@5.7, icon@2x.png    a package, a file
    … see 4.2.1.3 …           a section       git@github.com:a/b        a repository

What is found by its shape alone is often none: in a manual most "1.2.3.4" are versions or sections.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools, text_buffers

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
