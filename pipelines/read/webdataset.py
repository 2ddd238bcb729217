"""Tars of samples, as WebDataset and img2dataset write them.

    000017.jpg  000017.txt  000017.json   ── members that follow one another under one key
        └── image      └── caption  └── more captions, URL

The key is the name up to the first dot of its last part. A sample becomes a document: its
captions are the text, its key the id. A sample begins where the key changes, or where a member
comes again under it; of two samples with one key the second fails.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import xxhash

from pipelines.images.options import Images
from pipelines.read.batch import ReadBatch
from pipelines.read.columns import Columns, Piece
from pipelines.read.illustrated import Found, Lost, Page, illustrated_batches, own_text
from pipelines.read.img2dataset import with_missing
from pipelines.read.interleaved import caption_of
from pipelines.read.limits import Limits
from pipelines.read.packed import PackedError, unpacked
from pipelines.read.sample_text import Said, UnsaidError, Wanted, said
from pipelines.read.stream import DamagedError, read_blocks
from pipelines.read.tar import Member, Tar
from pipelines.shard import Input, SourceShard
from pipelines.store import InputFile

IMAGE = frozenset(
    ("jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "bmp", "tif", "tiff", "avif")
)
TEXT = frozenset(("txt", "text", "caption"))
JSON = "json"
MOST_MEMBERS = 1000  # of one sample; more are passed over
NAMED_SUFFIXES = 50  # of members passed over; more are counted together
SHOWN_SUFFIX = 30


class _Part(NamedTuple):
    """A member that is part of a sample.

    kind: the last part of its suffix, without .gz.  data: None where it cannot be had: `lost`.
    at: byte of the tar where its data can be read in place.
    """

    name: str
    kind: str
    data: bytes | memoryview | None
    at: int | None = None
    lost: Lost | None = None


class _Sample(NamedTuple):
    key: str
    row: int
    parts: list[_Part]


def cut_webdataset(file: InputFile, wanted: Input) -> list[Piece]:
    """One shard for each tar: what begins where is known only to who has read what is before."""
    columns = Columns(wanted.text or "", wanted.id, wanted.url)
    return [Piece(columns, 0, None, bytes=file.bytes)]


def read_webdataset(shard: SourceShard, limits: Limits, options: Images) -> Iterator[ReadBatch]:
    """Yield the samples of a tar as documents.

    Members that are no part of a sample (links, devices, names that lead out of the folder,
    suffixes that say nothing here) are passed over, and counted in the batches' notes.
    """
    notes: Counter[str] = Counter()
    blocks = read_blocks(shard.paths[0], shard.compression, limits=limits)
    with contextlib.closing(blocks):
        pages = _Reader(shard, limits, options, notes).pages(Tar(blocks))
        yield from illustrated_batches(shard.ordinal, with_missing(pages, shard), options, notes)


class _Reader:
    def __init__(
        self, shard: SourceShard, limits: Limits, options: Images, notes: Counter[str]
    ) -> None:
        self._shard, self._limits, self._options, self._notes = shard, limits, options, notes
        self._path, self._name = shard.paths[0], shard.names[0]
        self._in_place = shard.compression is None
        self._wanted = Wanted(shard.text or None, shard.id, shard.url)
        # Some 70 bytes for each sample of the tar: a digest of its key, not the key.
        self._seen: set[int] = set()
        self._passed_over: set[str] = set()

    def pages(self, tar: Tar) -> Iterator[Page]:
        """The documents, in order; what breaks the tar off is the last."""
        sample = _Sample("", 0, [])
        suffixes: set[str] = set()
        broken: DamagedError | None = None
        try:
            for member in tar:
                key, suffix = self._split(member)
                if not key:
                    continue
                if key != sample.key or suffix in suffixes:
                    if sample.key:
                        yield self._page(sample)
                    sample = _Sample(key, sample.row + bool(sample.key), [])
                    suffixes.clear()
                if len(suffixes) == MOST_MEMBERS:
                    self._notes["skipped_beyond_1000"] += 1
                    continue
                suffixes.add(suffix)
                part = self._part(tar, member, suffix, sample)
                if part is not None:
                    sample.parts.append(part)
        except DamagedError as e:
            broken = e
        self._notes.update(tar.notes)
        yield from self._last(sample, broken)

    def _last(self, sample: _Sample, broken: DamagedError | None) -> Iterator[Page]:
        """The sample that the tar ends with, and why it ends if not by its mark.

        A tar that breaks off inside of a sample takes it along: what is there may be half of it.
        """
        row = sample.row
        lost = None if broken is None else Lost(broken.cause, f"{self._path}: {broken}")
        if lost is not None and sample.key and lost.cause != "unended_tar":
            yield self._page(sample)._replace(lost=lost)
            return
        if sample.key:
            yield self._page(sample)
            row += 1
        if lost is not None:
            yield Page(row, f"{self._name}#{row}", lost=lost)

    def _split(self, member: Member) -> tuple[str, str]:
        """Key and suffix, in small letters; no key where it is part of no sample."""
        name = member.name
        if member.kind != "file":
            if member.kind != "folder":
                self._notes[f"skipped_{member.kind}"] += 1
            return "", ""
        if name.startswith("/") or (".." in name and ".." in name.split("/")):
            self._notes["skipped_unsafe_path"] += 1
            return "", ""
        folder, slash, last = name.removeprefix("./").rpartition("/")
        stem, _, suffix = last.partition(".")
        if not stem or not suffix:
            self._notes["skipped_no_key"] += 1
            return "", ""
        return f"{folder}{slash}{stem}", suffix.lower()

    def _part(self, tar: Tar, member: Member, suffix: str, sample: _Sample) -> _Part | None:
        """A member that says something here, read; None passes over it."""
        plain = suffix.removesuffix(".gz")
        kind = plain.rpartition(".")[2]
        if kind not in IMAGE and kind not in TEXT and kind != JSON:
            self._pass_over(kind)
            return None
        room = self._room(kind, sample)
        if member.size > room:
            return _Part(member.name, kind, None, lost=self._too_large(kind, member, room))
        data = tar.data(member)
        if plain == suffix:
            return _Part(member.name, kind, data, member.at if self._in_place else None)
        try:
            return _Part(member.name, kind, unpacked(data, room))
        except PackedError as e:
            return _Part(member.name, kind, None, lost=self._lost(member, e.cause, str(e)))

    def _room(self, kind: str, sample: _Sample) -> int:
        """Bytes that a member may have: the images of a sample, and its texts, share a bound."""
        image = kind in IMAGE
        held = sum(len(p.data or b"") for p in sample.parts if (p.kind in IMAGE) == image)
        return (self._options.max_bytes if image else self._limits.max_document_bytes) - held

    def _too_large(self, kind: str, member: Member, room: int) -> Lost:
        named, most = "limits.max_document_bytes", self._limits.max_document_bytes
        if kind in IMAGE:
            named, most = "images.max_bytes", self._options.max_bytes
        beside = f" beside {most - room} of others in its sample" if room < most else ""
        return self._lost(member, "too_large", f"{member.size} bytes{beside}, {named} is {most}")

    def _lost(self, member: Member, cause: str, message: str) -> Lost:
        return Lost(cause, f"{self._path}/{member.name}: {message}", member.size)

    def _pass_over(self, kind: str) -> None:
        name = f"skipped_.{kind[:SHOWN_SUFFIX]}"
        if name not in self._passed_over and len(self._passed_over) >= NAMED_SUFFIXES:
            name = "skipped_other_suffixes"
        self._passed_over.add(name)
        self._notes[name] += 1

    def _page(self, sample: _Sample) -> Page:
        """The document that a sample is."""
        told, lost = self._said(sample)
        text = caption_of(told.captions, self._shard.captions or "join") or ""
        images = [self._found(p, told.url) for p in sample.parts if p.kind in IMAGE]
        digest = xxhash.xxh3_64_intdigest(sample.key.encode())
        if digest in self._seen:
            message = f"{self._path}: a sample {sample.key!r} came before"
            lost = Lost("repeated_key", message, len(text.encode()))
        elif lost is None and not text and not images:
            message = f"{self._path}: {sample.key!r} has neither text nor image"
            lost = Lost("empty_sample", message)
        self._seen.add(digest)
        own = f"{self._shard.prefix or ''}{told.id or sample.key}"
        return Page(sample.row, own, own_text(text), told.url, images, lost)

    def _said(self, sample: _Sample) -> tuple[Said, Lost | None]:
        """What a sample's texts say, or why they cannot be read."""
        parts = [p for p in sample.parts if p.kind not in IMAGE]
        size = sum(len(p.data or b"") for p in parts)
        texts = [p for p in parts if p.kind != JSON and self._wanted.text in (None, p.kind)]
        objects = [p for p in parts if p.kind == JSON]
        lost = next((p.lost for p in parts if p.lost is not None), None)
        try:
            if lost is None:
                return said(_data(texts), _data(objects), self._wanted), None
        except UnsaidError as e:
            lost = Lost(e.cause, f"{self._path}/{e.args[0]}", size)
        return Said([], None, None), lost

    def _found(self, part: _Part, url: str | None) -> Found:
        path, where = f"{self._name}/{part.name}", f"{self._path}/{part.name}"
        return Found(path, where, url, part.data, part.at, lost=part.lost)


def _data(parts: list[_Part]) -> list[tuple[str, bytes]]:
    return [(p.name, bytes(p.data or b"")) for p in parts]
