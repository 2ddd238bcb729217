"""Where personal identifiers stand in a text column: e-mail and IP addresses, phone numbers.

text ── anchors: every "@" ── kernel ── spans of bytes, document by document, in order
"""

import ipaddress
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.dedup.unicode import tables
from tokenmill.pipelines.filters.kernels import phones
from tokenmill.pipelines.filters.kernels import pii as kernels

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
ATOMS = "!#$%&'*+/=?^_`{|}~-"  # of an e-mail address, besides letters and digits

# Not "globally reachable" by IANA's registries of special-purpose addresses, as of Python 3.13's
# `ipaddress`; written down here, since interpreters differ.
NOT_GLOBAL_IPV4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
)
GLOBAL_IPV4 = ("192.0.0.9/32", "192.0.0.10/32")  # within one of those
GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")  # all that is handed out to networks
NOT_GLOBAL_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))


class Spans(NamedTuple):
    """(n,) bytes where each begins, and behind its last, of the column's data; ascending."""

    starts: Ints
    ends: Ints

    def where(self, wanted: npt.NDArray[np.bool_]) -> "Spans":
        return Spans(self.starts[wanted], self.ends[wanted])


@cache
def byte_kinds() -> Bytes:
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


def emails(text: pa.Array) -> Spans:
    """E-mail addresses, as the regular expression of datatrove's `PIIFormatter` finds them."""
    column = _Column(text)
    anchors = column.where(b"@")
    starts, ends = np.empty_like(anchors), np.empty_like(anchors)
    known = tables()
    pages, flags = read_only(known.pages), read_only(known.flags)
    n = kernels.find_emails(*column.arguments(anchors), pages, flags, starts, ends)
    return Spans(starts[:n], ends[:n])


def ipv4(text: pa.Array, *, public_only: bool) -> Spans:
    """IPv4 addresses, as `PIIFormatter` finds them: no edge of a word is asked for.

    public_only: those alone that are globally reachable.
    """
    column = _Column(text)
    anchors = column.between(b".", column.digits)
    starts, ends = np.empty_like(anchors), np.empty_like(anchors)
    values, valid = np.empty(len(anchors), np.uint32), np.empty(len(anchors), np.uint8)
    n = kernels.find_ipv4(*column.arguments(anchors), starts, ends, values, valid)
    wanted = valid[:n] != 0
    if public_only:
        wanted &= is_global(values[:n])
    return Spans(starts[:n], ends[:n]).where(wanted)


def is_global(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """(n,) whether IPv4 addresses are globally reachable."""
    return ~_within(values, NOT_GLOBAL_IPV4) | _within(values, GLOBAL_IPV4)


def ipv6(text: pa.Array, *, public_only: bool) -> Spans:
    """IPv6 addresses as `ipaddress` reads them, that are no part of a word.

    public_only: those alone of 2000::/3 that are globally reachable.
    """
    column = _Column(text)
    anchors = column.where(b":")
    starts, ends = np.empty_like(anchors), np.empty_like(anchors)
    n = kernels.find_ipv6(*column.arguments(anchors), starts, ends)
    found = Spans(starts[:n], ends[:n])
    pairs = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    good = [_is_ipv6(column.data[a:b].tobytes(), public_only=public_only) for a, b in pairs]
    return found.where(np.array(good, np.bool_))


def international_phones(text: pa.Array) -> Spans:
    """Phone numbers with "+" and a country code."""
    column = _Column(text)
    anchors = column.where(b"+")
    starts, ends = np.empty_like(anchors), np.empty_like(anchors)
    n = phones.find_international(*column.arguments(anchors), starts, ends)
    return Spans(starts[:n], ends[:n])


def north_american_phones(text: pa.Array) -> Spans:
    """Phone numbers of ten digits, as the United States and Canada write them."""
    column = _Column(text)
    anchors = np.sort(
        np.concatenate([column.between(c, column.digits) for c in (b"-", b".", b" ")])
    )
    starts, ends = np.empty_like(anchors), np.empty_like(anchors)
    n = phones.find_north_american(*column.arguments(anchors), starts, ends)
    return Spans(starts[:n], ends[:n])


class _Column:
    """A text column's bytes; anchors are numbers of bytes within it."""

    def __init__(self, text: pa.Array) -> None:
        buffers = text_buffers(text)
        self.data, self.offsets = read_only(buffers.data), read_only(buffers.offsets)
        self._first, self._end = (int(edge) for edge in buffers.offsets[[0, -1]])

    def where(self, byte: bytes) -> Ints:
        """(n,) where a byte stands."""
        here = self.data[self._first : self._end] == byte[0]
        return np.flatnonzero(here) + self._first

    def between(self, byte: bytes, wanted: npt.NDArray[np.bool_]) -> Ints:
        """(n,) where a byte stands between two that are `wanted`, (256,)."""
        at = self.where(byte)
        at = at[(at > self._first) & (at < self._end - 1)]
        return at[wanted[self.data[at - 1]] & wanted[self.data[at + 1]]]

    @property
    def digits(self) -> npt.NDArray[np.bool_]:
        return np.asarray((byte_kinds() & kernels.DIGIT) != 0)

    def arguments(self, anchors: Ints) -> tuple[Bytes, Ints, Ints, Bytes]:
        """What every finder takes first."""
        return self.data, self.offsets, read_only(anchors), byte_kinds()


def _within(values: npt.NDArray[np.uint32], networks: tuple[str, ...]) -> npt.NDArray[np.bool_]:
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
