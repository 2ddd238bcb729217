"""Put made-up e-mail addresses, IP addresses and phone numbers in place of those of people."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.pipelines.config import Config
from tokenmill.pipelines.filters import pii_spans as found
from tokenmill.pipelines.filters.kernels.pii import splice
from tokenmill.pipelines.filters.pii_spans import Spans
from tokenmill.pipelines.stage import KEEP, StageResult, keep_where, with_text


def _one_alone(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Replacements = Annotated[tuple[str, ...], BeforeValidator(_one_alone), Field(min_length=1)]
Finder = Callable[[pa.Array], Spans]


class Pii(Config):
    """Mask personal identifiers. Documents are never removed; the report counts what was masked.

    emails: e-mail addresses.
    ipv4, ipv6: IP addresses.  public_only: only those that are globally reachable; of IPv6 those
        of 2000::/3 (the others, as `a::b`, stand in code far more often).
    phones: "international", as +44 (0)20 7946 0958: "+" and 8 to 15 digits; "north_american", as
        (202) 555-0100 and 202-555-0100. Both go by shape alone: numbers of another national form
        stay, and a part number of such a shape is masked.
    email_replacements, …: put in place of a document's first, second, … of the kind, over and over.

    E-mail addresses are masked first, then IPv6, IPv4 and phone numbers, each in what the one
    before left.

    Source: datatrove 0.10's PIIFormatter, which FineWeb used (arXiv:2406.17557): by default the
    texts are its own, but that its replacements go round over all documents of a process.
    """

    name: ClassVar[str] = "pii"

    emails: bool = True
    ipv4: bool = True
    ipv6: bool = False
    public_only: bool = True
    phones: tuple[Literal["international", "north_american"], ...] = ()
    email_replacements: Replacements = ("email@example.com", "firstname.lastname@example.org")
    ipv4_replacements: Replacements = (
        "22.214.171.124",
        "126.96.36.199",
        "188.8.131.52",
        "184.108.40.206",
        "220.127.116.11",
        "18.104.22.168",
    )
    ipv6_replacements: Replacements = ("2001:db8::1", "2001:db8::2")  # RFC 3849: of no network
    phone_replacements: Replacements = ("202-555-0100", "202-555-0143")  # of nobody, for films

    @model_validator(mode="after")
    def _masks_something(self) -> "Pii":
        if not (self.emails or self.ipv4 or self.ipv6 or self.phones):
            raise ValueError("masks nothing; set emails, ipv4, ipv6 or phones, or leave it out")
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        result = keep_where(self.name, batch, np.full(batch.num_rows, KEEP, np.uint8), ())
        text, notes = batch["text"], dict[str, int]()
        for kind, finder, replacements in self._finders():
            spans = finder(text)
            if len(spans.starts):
                text = masked(text, spans, replacements)
                notes[kind] = notes.get(kind, 0) + len(spans.starts)
        if not notes:
            return result
        return with_text(result, text)._replace(notes=notes)

    def _finders(self) -> Iterator[tuple[str, Finder, tuple[str, ...]]]:
        """What is masked, in order: its name among the notes, and what stands in its place."""
        only = self.public_only
        if self.emails:
            yield "pii_emails", found.emails, self.email_replacements
        if self.ipv6:
            yield "pii_ipv6", lambda t: found.ipv6(t, public_only=only), self.ipv6_replacements
        if self.ipv4:
            yield "pii_ipv4", lambda t: found.ipv4(t, public_only=only), self.ipv4_replacements
        if "international" in self.phones:
            yield "pii_phones", found.international_phones, self.phone_replacements
        if "north_american" in self.phones:
            yield "pii_phones", found.north_american_phones, self.phone_replacements


def masked(text: pa.Array, spans: Spans, replacements: tuple[str, ...]) -> pa.Array:
    """Put replacements in place of spans, the first again in each document; same type."""
    buffers = text_buffers(text)
    docs = np.searchsorted(buffers.offsets, spans.starts, side="right")
    rank = np.arange(len(docs)) - np.searchsorted(docs, docs)
    which = rank % len(replacements)
    filling = [r.encode() for r in replacements]
    sizes = np.array([len(f) for f in filling], np.int64)
    edges = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    n_bytes = int(buffers.lengths.sum() + (sizes[which] - (spans.ends - spans.starts)).sum())
    out, out_offsets = np.empty(n_bytes, np.uint8), np.empty(len(text) + 1, np.int64)
    splice(
        read_only(buffers.data),
        read_only(buffers.offsets),
        read_only(spans.starts),
        read_only(spans.ends),
        read_only(which),
        read_only(np.frombuffer(b"".join(filling), np.uint8)),
        read_only(edges),
        out,
        out_offsets,
    )
    made = pa.LargeStringArray.from_buffers(len(text), pa.py_buffer(out_offsets), pa.py_buffer(out))
    return made.cast(text.type)
