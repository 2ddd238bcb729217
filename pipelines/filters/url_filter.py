"""Remove documents by their URLs: hosts, URLs and words that lists forbid.

    file ── blocks of lines ── hashes ── a table of 16 to 32 bytes for each entry

Lists stand in the recipe, or in files of millions of lines. A host that is not listed is taken for
one of n that are with probability n / 2**64.
"""

import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from tokenmill.dedup.arrays import I32, I64, U8, U64, power_of_two, read_only, text_buffers
from tokenmill.pipelines.core.config import PinnedFile, file_of, readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.filter import REASON, Filter, Kinds
from tokenmill.pipelines.core.step import StageResult
from tokenmill.pipelines.filters.kernels import urls as kernels

BLOCK_BYTES = 1 << 24
MOST_SUBWORD_BYTES = 1_000_000  # all together: the automaton takes 148 bytes for each
NOT_ALNUM = re.compile(b"[^a-zA-Z0-9]+")
FORMS = re.compile(rb"[^\x00-\x7f]|xn--", re.IGNORECASE)
ENTRY = re.compile(rb"[\x00- ]*[^\x00- #]")  # what begins a line that is no comment, nor empty


class ListFile(PinnedFile):
    """A file of entries, one a line, in UTF-8; empty lines and comments do not count.

    A comment begins with "#", spaces before it aside. The categories of the UT1 blacklists are such
    files, and datatrove's lists.
    """

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        if not any(map(ENTRY.match, _lines(path))):
            raise ConfigError(f"{path}: has no entry; expected one a line")


class DomainFile(ListFile):
    """A `ListFile` of hosts."""

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        if not sum(len(keys) for keys in _file_keys(path, hosts=True)):
            raise ConfigError(f"{path}: has no entry; expected one a line")


def _told_apart(kind: type[ListFile]) -> Any:
    """Of entries and files mixed the files; one alone is a list of one."""

    def read(value: Any) -> Any:
        each = value if isinstance(value, list | tuple) else (value,)
        return tuple(file_of(kind, "a file of a list", v) for v in each)

    return read


Domains: TypeAlias = Annotated[
    tuple[str | DomainFile, ...], BeforeValidator(_told_apart(DomainFile))
]
Listed: TypeAlias = Annotated[tuple[str | ListFile, ...], BeforeValidator(_told_apart(ListFile))]
Entries: TypeAlias = tuple[str | ListFile, ...]


@cache
def automaton(listed: Entries) -> tuple[I32, I32]:
    """What `kernels.judge` finds listed subwords by, as Aho and Corasick do.

    Letters and digits alone count, in lower case.

    Returns:
        goto: (n_states, 36) int32, the state behind each letter or digit.
        found: (n_states,) int32, bytes of the shortest subword that ends there, or 0.

    ConfigError: there are too many.
    """
    words = _words(listed)
    n = 1 + sum(map(len, words))
    if n > MOST_SUBWORD_BYTES:
        raise ConfigError(
            f"subwords have {n:,} letters together, more than {MOST_SUBWORD_BYTES:,}; give words,"
            " domains or urls in their place"
        )
    goto, found = np.zeros((n, kernels.SYMBOLS), np.int32), np.zeros(n, np.int32)
    states = 1
    for word in words:
        state = 0
        for byte in word.encode():
            symbol = byte - ord("a") if byte >= ord("a") else 26 + byte - ord("0")
            if not goto[state, symbol]:
                goto[state, symbol] = states
                states += 1
            state = goto[state, symbol]
        found[state] = len(word)
    goto, found = goto[:states], found[:states]
    _close(goto, found)
    return read_only(goto), read_only(found)


def _close(goto: I32, found: I32) -> None:
    """Give each state of a tree of words the ways of the longest of its ends that is a state."""
    ends = np.zeros(len(goto), np.int32)
    left = deque(goto[0][goto[0] > 0].tolist())
    while left:
        state = left.popleft()
        end = ends[state]
        if found[end] and not found[state]:
            found[state] = found[end]
        own = goto[state] > 0
        ends[goto[state][own]] = goto[end][own]
        left.extend(goto[state][own].tolist())
        goto[state] = np.where(own, goto[state], goto[end])


def _words(listed: Entries) -> list[str]:
    """Entries without all that is no letter or digit of ASCII, in lower case, each once."""
    lines = (
        line
        for entry in listed
        for line in ([entry.encode()] if isinstance(entry, str) else _lines(entry.checked()))
    )
    found = (NOT_ALNUM.sub(b"", line).lower().decode() for line in lines if ENTRY.match(line))
    return list(dict.fromkeys(word for word in found if word))


@cache
def table_of(listed: Entries, kind: Literal["hosts", "urls", "words"]) -> U64:
    """What `kernels.judge` knows entries by, words as [a-z0-9] alone; ConfigError: no host."""
    hosts = kind == "hosts"
    listed = tuple(_words(listed)) if kind == "words" else listed
    own, keys = [entry for entry in listed if isinstance(entry, str)], list[U64]()
    if own:
        hashes, found = _hashed("\n".join(own).encode(), hosts=hosts)
        for i in np.flatnonzero(found == kernels.ODD)[:1]:
            raise ConfigError(f"{own[i]!r} is no host; a file of hosts is named as {{file: …}}")
        keys.append(hashes[found == kernels.GOOD])
    for entry in listed:
        if isinstance(entry, ListFile):
            keys += _file_keys(entry.checked(), hosts=hosts)
    table = np.zeros(power_of_two(2 * sum(map(len, keys)) + 1), np.uint64)
    for some in keys:
        kernels.fill(read_only(some), table)
    return read_only(table)


def _file_keys(path: Path, *, hosts: bool) -> Iterator[U64]:
    """U64 of the entries of a file, some at a time; ConfigError: not UTF-8, or a line no host."""
    before = 0
    for block in _blocks(path):
        keys, found = _hashed(block, hosts=hosts)
        odd = np.flatnonzero(found == kernels.ODD)
        if len(odd):
            line = block.split(b"\n", int(odd[0]) + 1)[odd[0]].decode().strip()
            raise ConfigError(
                f"{path}: line {before + odd[0] + 1:,}: {line[:80]!r} is no host; expected one a"
                " line, as example.com (lists of URLs are named under urls)"
            )
        yield keys[found == kernels.GOOD]
        before += block.count(b"\n") + 1


def _hashed(block: bytes, *, hosts: bool) -> tuple[U64, U8]:
    """(n_lines + n_other,) hashes, and what each line is; a host's other form (IDNA) is behind."""
    if hosts and FORMS.search(block):
        block = b"\n".join([block, *_other_forms(block)])
    data = np.frombuffer(block, np.uint8)
    breaks = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate(([0], breaks + 1)).astype(np.int64)
    ends = np.append(breaks, len(data)).astype(np.int64)
    keys, found = np.zeros(len(starts), np.uint64), np.empty(len(starts), np.uint8)
    kernels.hash_lines(read_only(data), starts, ends, hosts, keys, found)
    return keys, found


def _other_forms(block: bytes) -> Iterator[bytes]:
    for line in block.split(b"\n"):
        if FORMS.search(line) and ENTRY.match(line):
            host = line.decode().strip().lstrip("*.")
            try:
                ascii_form = host.isascii()
                yield host.encode().decode("idna").encode() if ascii_form else host.encode("idna")
            except UnicodeError:  # it has no other form
                continue


def _lines(path: Path) -> Iterator[bytes]:
    for block in _blocks(path):
        yield from block.split(b"\n")


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, about BLOCK_BYTES at a time, the last end left off; ConfigError: not UTF-8."""
    before = 0
    with readable(path) as f:
        while lines := f.readlines(BLOCK_BYTES):
            block = b"".join(lines)
            if before == 0:
                block = block.removeprefix(b"\xef\xbb\xbf")
            try:
                block.decode("utf-8")
            except UnicodeDecodeError as e:
                number = before + block.count(b"\n", 0, e.start) + 1
                raise ConfigError(
                    f"{path}: line {number:,} is not UTF-8; convert the file, as with"
                    " iconv -f latin1 -t utf-8, or unpack it if it is compressed"
                ) from e
            before += len(lines)
            yield block.removesuffix(b"\n")


REASONS = (  # in the kernel's order
    "blocked_domain",
    "blocked_url",
    "blocked_word",
    "blocked_soft_words",
    "blocked_subword",
)


class UrlFilter(Filter):
    """Remove documents by lists of hosts, URLs and words in URLs. Each list holds entries, or
    files of yours, of millions of lines: `[{file: PATH}]`.

    domains: hosts, whatever their case; their subdomains are removed too. A host in another script
        is also known by its ASCII form.
    urls: whole URLs, letter by letter, with "scheme://" or without it.
    words: what stands between characters that are no letters or digits of ASCII.
    soft_words, least_soft_words: a document leaves if its URL has so many different ones.
    subwords: what stands anywhere in the URL once all but letters and digits is taken out of it,
        in lower case.
    ignore_case: words are found in capitals too. datatrove misses those.

    A document without a URL stays (`select: {where: "url != ''"}` takes it out). Entries of the
    three lists of words count in lower case, less all but letters and digits. The value of a
    removed row is the number of soft words, its detail the part of the URL that was listed (from
    the first soft word to the last).

    Source: datatrove 0.10's URLFilter, which RefinedWeb's and FineWeb's lists are for
    (arXiv:2306.01116, section G.1; arXiv:2406.17557); no list comes with this step. datatrove knows
    a host and its registered domain, this step all parents between and above too; datatrove's URLs
    need their scheme; IP addresses and hosts in capitals pass it.
    """

    name: ClassVar[str] = "url_filter"
    tells: ClassVar[Kinds] = {REASON: pa.string(), "listed": pa.string()}

    domains: Domains = ()
    urls: Listed = ()
    words: Listed = ()
    soft_words: Listed = ()
    least_soft_words: Annotated[int, Field(ge=1)] = 2
    subwords: Listed = ()
    ignore_case: bool = False

    @property
    def asks_urls(self) -> bool:
        return True

    @model_validator(mode="after")
    def _blocks_something(self) -> "UrlFilter":
        lists = (self.domains, self.urls, self.words, self.soft_words, self.subwords)
        if not any(lists):
            raise ValueError("no list; give domains, urls, words, soft_words or subwords")
        table_of(tuple(e for e in self.domains if isinstance(e, str)), "hosts")
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        n, buffers = batch.num_rows, text_buffers(batch["url"].fill_null(""))
        verdicts, spans = np.empty(n, np.uint8), np.empty((n, 2), np.int64)
        counts = np.empty(n, np.int64)
        hosts, urls = table_of(self.domains, "hosts"), table_of(self.urls, "urls")
        words, soft_words = table_of(self.words, "words"), table_of(self.soft_words, "words")
        met = np.full(len(soft_words), -1, np.int64)
        soft = soft_words, met, self.least_soft_words, self.ignore_case
        given = *buffers, hosts, urls, words, *soft, *automaton(self.subwords)
        kernels.judge(*given, verdicts, spans, counts)
        details = _details(buffers.data, spans, verdicts)
        values = np.where(verdicts == kernels.SOFT_WORDS, counts, np.nan)
        found = {"listed": details}
        return self.judge(batch, verdicts, REASONS, values=values, details=details, found=found)


def _details(data: U8, spans: I64, verdicts: U8) -> pa.Array:
    """(n,) string, what was listed of each URL that is removed; null of the others."""
    gone = np.flatnonzero(verdicts != kernels.KEEP)
    found: list[Any] = [None] * len(verdicts)
    for doc, (start, end) in zip(gone.tolist(), spans[gone].tolist(), strict=True):
        found[doc] = data[start:end].tobytes().decode(errors="replace")
    return pa.array(found, pa.string())
