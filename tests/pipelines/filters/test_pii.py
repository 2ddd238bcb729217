"""Masking: the same spans as regular expressions find, in linear time, accounted for by kind."""

import ipaddress
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import pii as twin
from tests.strategies import document_batch
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters import pii as pii_spans
from tokenmill.pipelines.filters.pii import Pii

PIECES = [
    *"ab1.@-_!+:[]() é字\n",
    *("a.b", "c.de", "256", "25", "8.8.8.8", "192.168.0.1", "08.8.8.8", "[1.2.3.4]", "x:]"),
    *("2001:470:1:18::119", "::", "fe80::1", "1:2:3:4:5:6:7:8", "12:30:45", "::ffff:1.2.3.4", "."),
    *("+44 ", "(0)", "20 7946 0958", "(202) ", "555", "-0100", "202-", "1-", "12345678901234567"),
]
pieces = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
texts = st.lists(pieces | st.text(alphabet="a.@-0125:+ ", max_size=30), max_size=6)
SHAPE = {"rules": "datatrove"}  # what the reference knows
settings = st.builds(
    Pii,
    rules=st.just("datatrove"),
    emails=st.booleans(),
    ipv4=st.just(True),
    ipv6=st.booleans(),
    public_only=st.booleans(),
    phones=st.sets(st.sampled_from(["international", "north_american"])).map(tuple),
    email_replacements=st.sampled_from([("e@example.com",), ("", "ä"), ("a@b.c", "d", "ef")]),
)
FINDERS = {
    "emails": (pii_spans.emails, twin.emails),
    "ipv4": (
        lambda t: pii_spans.ipv4(t, public_only=False),
        lambda t: twin.ipv4(t, public_only=False),
    ),
    "ipv6": (
        lambda t: pii_spans.ipv6(t, public_only=False),
        lambda t: twin.ipv6(t, public_only=False),
    ),
    "international": (pii_spans.international_phones, twin.international_phones),
    "north_american": (pii_spans.north_american_phones, twin.north_american_phones),
}


@given(settings, texts)
@example(
    Pii(**SHAPE), ["é.a@b.c", "éa@b.c", "_a@b.c", "!a@b.c", "a..b@c.d", "a@b.c-@d.e", "a@b-.c"]
)
@example(
    Pii(**SHAPE), ["a@[1.2.3.4]", "a@[1.2.3.x-y:]", "a@[1.2.3.x-:]", "a@[1.2.3.256]", "a@[1.2.3.:]"]
)
@example(
    Pii(**SHAPE), ["1234.5.6.7", "8.8.8.256", "8.8.8.8.8.8.8.8", "8.08.8.8", "8.8.8.", ".8.8.8.8"]
)
@example(
    Pii(**SHAPE, phones=("north_american",)),
    ["-1 202-555-0100", "21 202-555-0100", "1.202.555.0100"],
)
@example(
    Pii(**SHAPE, phones=("north_american",)), ["-202-555-0100", "x202-555-0100", "1x1-202-555-0100"]
)
@example(
    Pii(**SHAPE, phones=("international",)),
    ["+1234567890123456", "+1234567", "+12345678a", "+1 23456789"],
)
@example(
    Pii(**SHAPE, ipv6=True, public_only=False), ["", "2600::1", "x2600::1", "2600::1x", "_2600::1"]
)
@example(Pii(**SHAPE, phones=("international",)), ["+442079460958"])
@example(
    Pii(**SHAPE, phones=("international",)),
    ["++4420794609580", "+44(0)2079460958x", "+44  (0)20794"],
)
def test_what_is_masked_is_what_the_reference_masks(pii, texts):
    batch = document_batch(texts)
    found = pii(batch.slice(1) if len(texts) > 3 else batch)
    wanted = [twin.masked(text, pii) for text in (texts[1:] if len(texts) > 3 else texts)]
    assert found.kept["text"].to_pylist() == [text for text, _ in wanted]
    assert dict(found.notes or {}) == dict(sum((Counter(notes) for _, notes in wanted), Counter()))
    assert found.removed.num_rows == 0
    stats = found.stats
    assert stats.bytes_in == sum(len(t.encode()) for t in (texts[1:] if len(texts) > 3 else texts))
    assert stats.bytes_out == stats.bytes_in - stats.bytes_edited
    assert stats.bytes_out == sum(len(text.encode()) for text, _ in wanted)


@pytest.mark.parametrize("kind", FINDERS)
@pytest.mark.parametrize("piece", ["a.", "a.@", "a@", "1.", "1:", "::", "+1 ", "202-555-", "a@b."])
def test_runs_that_lead_nowhere_take_linear_time(kind, piece):
    ours, theirs = FINDERS[kind]
    few = piece * 20
    expected = theirs(few)
    found = ours(pa.array([few]))
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == expected
    long = piece * (3_000_000 // len(piece))  # at a step for each two bytes: hours
    assert len(ours(pa.array([long])).starts) >= len(expected)


SAMPLES = {
    "emails": ["jo.e_1@a-b.co.uk", "x@[1.22.255.0]", "x@[1.2.3.a-b:]", "a@b.c"],
    "ipv4": ["1.22.255.9", "249.199.99.0", "250.0.0.1.8"],
    "ipv6": ["2001:470:1:18::119", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "::", "abcd::EF09"],
    "international": ["+44 (0)20 7946-0958", "+12345678", "+123456789012345"],
    "north_american": ["1 (202) 555-0199", "1-202-555-0100", "202.999 0100", "(299)200-0100"],
}


# all of ASCII for the finder with most of it; for others those that they know, and some beside
CHARS = {"emails": "".join(map(chr, range(128)))}
SOME = ".:/-+()[ \n0129agfAGF_@"


@pytest.mark.parametrize("kind", FINDERS)
def test_every_character_at_every_place_is_found_as_the_reference_finds_it(kind):
    """In place of each character of a sample, before it, and none in its place."""
    ours, theirs = FINDERS[kind]
    lines, chars = [], [*CHARS.get(kind, SOME)]
    for sample in SAMPLES[kind]:
        for at in range(len(sample) + 1):
            lines.append(sample[:at] + sample[at + 1 :])
            for char in chars:
                lines.append(sample[:at] + char + sample[at:])
                lines.append(sample[:at] + char + sample[at + 1 :])
    text = "\n".join(lines)
    found = ours(pa.array([text]))
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == theirs(text)


def test_documents_are_masked_each_by_itself():
    text = "a@b.cd e@f.gh i@j.kl"
    found = Pii(email_replacements=("1", "2")).__call__(document_batch([text, "", text]))
    assert found.kept["text"].to_pylist() == ["1 2 1", "", "1 2 1"]
    assert found.notes == {"pii_emails": 6}


def test_a_batch_without_any_is_left_as_it_is():
    batch = document_batch(["see section 1.2.3 @ home", ""])
    found = Pii()(batch)
    assert found.kept["text"].equals(batch["text"])
    assert found.notes is None
    assert Pii()(batch.slice(0, 0)).kept.num_rows == 0


@given(st.integers(0, 2**32 - 1))
@example(int(ipaddress.IPv4Address("100.64.0.1")))
@example(int(ipaddress.IPv4Address("224.0.0.1")))
@example(int(ipaddress.IPv4Address("203.0.113.7")))
@example(int(ipaddress.IPv4Address("172.31.255.255")))
def test_public_addresses_are_those_of_the_standard_library(value):
    address = ipaddress.IPv4Address(value)
    if address not in ipaddress.IPv4Network("192.0.0.0/24"):  # interpreters differ there
        assert pii_spans.is_global(np.array([value], np.uint32)) == [address.is_global]


def test_all_that_the_standard_library_calls_reserved_is():
    firsts = [n << 16 for n in range(1 << 16) if n != 192 << 8]  # interpreters differ there
    for small in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"):
        network = ipaddress.IPv4Network(small)
        firsts += [int(network[0]) - 1, int(network[0]), int(network[-1]), int(network[-1]) + 1]
    wanted = [ipaddress.IPv4Address(value).is_global for value in firsts]
    assert pii_spans.is_global(np.array(firsts, np.uint32)).tolist() == wanted


def test_what_masks_nothing_is_refused():
    with pytest.raises(ValueError, match="masks nothing; set emails, ipv4, ipv6 or phones"):
        Pii(emails=False, ipv4=False)


def test_one_replacement_may_stand_alone():
    assert STEPS["pii"].model_validate({"email_replacements": "x@example.com"}) == Pii(
        email_replacements=("x@example.com",)
    )


def test_two_addresses_of_a_reserved_network_are_public():
    found = Pii(**SHAPE)(document_batch(["192.0.0.9 192.0.0.10 192.0.0.1 192.0.0.8 192.0.0.255"]))
    assert found.kept["text"].to_pylist() == [
        "22.214.171.124 126.96.36.199 192.0.0.1 192.0.0.8 192.0.0.255"
    ]
