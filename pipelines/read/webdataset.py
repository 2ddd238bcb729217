"""Tars of samples, as WebDataset and img2dataset write them.

    000017.jpg  000017.txt  000017.json   ── members that follow one another under one key
        └── image      └── caption  └── more captions, URL

The key is the name up to the first dot of its last part. A sample becomes a document: its
captions are the text, its key the id. A sample begins where the key changes, or where a member
comes again under it; of two samples with one key the second fails. In tars that we wrote ourselves
the .json tells where in the text images stand (`pipelines.read.exported`).
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import xxhash

from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.read.batch import ReadBatch
from tokenmill.pipelines.read.columns import Columns, Piece
from tokenmill.pipelines.read.exported import Export, Shown
from tokenmill.pipelines.read.illustrated import Found, Lost, Page, illustrated_batches, own_text
from tokenmill.pipelines.read.img2dataset import with_missing
from tokenmill.pipelines.read.interleaved import caption_of
from tokenmill.pipelines.read.limits import Limits
from tokenmill.pipelines.read.packed import PackedError, unpacked
from tokenmill.pipelines.read.sample_text import Said, UnsaidError, Wanted, said
from tokenmill.pipelines.read.stream import DamagedError, read_blocks
from tokenmill.pipelines.read.tar import Member, Tar
from tokenmill.pipelines.shard import Input, SourceShard
from tokenmill.pipelines.store import InputFile

IMAGE = frozenset(
    {
        *("jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "bmp", "dib", "tif", "tiff", "avif"),
        *("jp2", "j2k", "ppm", "pgm", "pbm", "pnm", "tga", "ico", "cur", "icns", "qoi", "psd"),
        *("dds", "pcx", "sgi"),
    }
)
TEXT = frozenset(("txt", "text", "caption"))
JSON = "json"
MOST_MEMBERS = 100_000  # of one sample; more are passed over
NAMED_SUFFIXES = 50  # of members passed over; more are counted together
SHOWN_SUFFIX = 30
SHOWN_FILES = 5


class _Part(NamedTuple):
    """A member that is part of a sample.

    suffix: behind the key, without .gz.  kind: the last part of it.
    data: None where it cannot be had: `lost`.
    at: byte of the tar where its data can be read in place.
    """

    name: str
    suffix: str
    kind: str
    data: bytes | memoryview | None
    at: int | None = None
    lost: Lost | None = None


class _Sample(NamedTuple):
    """held: bytes of its texts and of its images so far."""

    key: str
    row: int
    parts: list[_Part]
    held: list[int]


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
        self._shard, self._notes = shard, notes
        self._most = (limits.max_document_bytes, options.max_bytes)  # of texts, of images
        self._path, self._name = shard.paths[0], shard.names[0]
        self._in_place = shard.compression is None
        self._wanted = Wanted(shard.text or None, shard.id, shard.url)
        # Some 70 bytes for each sample of the tar: a digest of its key, not the key.
        self._seen: set[int] = set()
        self._passed_over: set[str] = set()
        self._at = 0  # where the sample at hand began

    def pages(self, tar: Tar) -> Iterator[Page]:
        """The documents, in order; what breaks the tar off is the last."""
        sample = _Sample("", 0, [], [0, 0])
        suffixes: set[str] = set()
        broken: DamagedError | None = None
        try:
            for member in tar:
                key, suffix = self._split(member)
                if not key:
                    continue
                if key != sample.key or suffix in suffixes:
                    if sample.key:
                        yield self._page(sample, member.at)
                    sample = _Sample(key, sample.row + bool(sample.key), [], [0, 0])
                    suffixes.clear()
                if len(suffixes) == MOST_MEMBERS:
                    self._notes[f"skipped_beyond_{MOST_MEMBERS}"] += 1
                    continue
                suffixes.add(suffix)
                part = self._part(tar, member, suffix, sample.held)
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
            yield self._page(sample, self._at)._replace(lost=lost)
            return
        if sample.key:
            yield self._page(sample, self._at)
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

    def _part(self, tar: Tar, member: Member, suffix: str, held: list[int]) -> _Part | None:
        """A member that says something here, read; None passes over it.

        The images of a sample share a bound, and so do its texts.
        """
        plain = suffix.removesuffix(".gz")
        kind = plain.rpartition(".")[2]
        image = kind in IMAGE
        if not image and kind not in TEXT and kind != JSON:
            self._pass_over(kind)
            return None
        room = self._most[image] - held[image]
        if member.size > room:
            lost = self._too_large(image, member, room)
            return _Part(member.name, plain, kind, None, lost=lost)
        data: bytes | memoryview = tar.data(member)
        at = member.at if self._in_place and plain == suffix else None
        if plain != suffix:
            try:
                data = unpacked(data, room)
            except PackedError as e:
                lost = self._lost(member, e.cause, str(e))
                return _Part(member.name, plain, kind, None, lost=lost)
        held[image] += len(data)
        return _Part(member.name, plain, kind, data, at)

    def _too_large(self, image: bool, member: Member, room: int) -> Lost:
        most, named = self._most[image], ("limits.max_document_bytes", "images.max_bytes")[image]
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

    def _page(self, sample: _Sample, end: int) -> Page:
        """The document that a sample is.  end: byte of the tar where the next one's data begins."""
        told, lost = self._said(sample)
        text = own_text(caption_of(told.captions, self._shard.captions or "join") or "")
        images = [self._found(p, told.url) for p in sample.parts if p.kind in IMAGE]
        if told.export is not None:
            text, images, lost = self._exported(sample, told.export, text, images)
        digest = xxhash.xxh3_64_intdigest(sample.key.encode())
        if digest in self._seen:
            message = f"{self._path}: a sample {sample.key!r} came before"
            lost = Lost("repeated_key", message, len(text.encode()))
        elif lost is None and not text and not images:
            message = f"{self._path}: {sample.key!r} has neither text nor image"
            lost = Lost("empty_sample", message)
        self._seen.add(digest)
        own = f"{self._shard.prefix or ''}{told.id or sample.key}"
        begin, self._at = self._at, end
        return Page(sample.row, own, text, told.url, images, lost, end - begin)

    def _exported(
        self, sample: _Sample, export: Export, text: str, images: list[Found]
    ) -> tuple[str, list[Found], Lost | None]:
        """Text and images of one of our own exports; as they came where it is another's."""
        parts = {p.suffix: p for p in sample.parts if p.kind in IMAGE}
        named = {shown.file for shown in export.images if shown.file is not None}
        if named == parts.keys():
            there = [self._shown(sample, shown, parts) for shown in export.images]
            return text if export.text is None else export.text, there, None
        if export.text is None:
            return text, images, None
        odd = ", ".join(sorted(named ^ parts.keys())[:SHOWN_FILES])
        message = f"{self._path}: {sample.key!r} and its .json do not have the same files ({odd})"
        return text, images, Lost("unequal_lists", message, len(export.text.encode()))

    def _shown(self, sample: _Sample, shown: Shown, parts: dict[str, _Part]) -> Found:
        if shown.file is not None:
            return self._found(parts[shown.file], shown.url)
        name = f"{sample.key}.{JSON}"
        return Found(f"{self._name}/{name}", f"{self._path}/{name}", shown.url, told=shown.told)

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
