"""Tars of samples, as WebDataset and img2dataset write them; each is a shard.

    000017.jpg  000017.txt  000017.json   ── members that follow one another under one key
        └── image      └── caption  └── more captions, URL, id

The key is the name up to the first dot of its last part. A sample becomes a document: its
captions are the text, its key the id. A sample begins where the key changes, or where a member
comes again under it; of two samples with one key the second fails.

`sample.py` reads what the members of a sample say, of places of images in its text too.

img2dataset leaves 00000.parquet and 00000_stats.json beside 00000.tar. The tar is what is read; its
sidecar has a row for each URL asked for, and those without success are in no tar: each is a
document that failed.
"""

import codecs
import contextlib
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import xxhash

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.batch import Claims, Lost, ReadBatch, SourceDocument, SourceImage
from tokenmill.pipelines.read.beside import ABSENT, value_at
from tokenmill.pipelines.read.columns import Columns, Piece, looked_at
from tokenmill.pipelines.read.images import documents as illustrated
from tokenmill.pipelines.read.images.folder import NO_CLAIMS, Place
from tokenmill.pipelines.read.images.headers import kind_of
from tokenmill.pipelines.read.images.layouts import UNKNOWN
from tokenmill.pipelines.read.images.nodes import own_text
from tokenmill.pipelines.read.images.sample import (
    JSON,
    KNOWN,
    SHOWN_FILES,
    Export,
    Given,
    Part,
    Placed,
    Texts,
    placed_images,
    texts_of,
)
from tokenmill.pipelines.read.images.tar import Member, Tar, unpacked
from tokenmill.pipelines.read.options import Images, Limits, Reading
from tokenmill.pipelines.read.parquet import Wanted, parquet_tables
from tokenmill.pipelines.read.stream import (
    BLOCK_BYTES,
    DamagedError,
    UnreadableError,
    compression_of,
    read_blocks,
)
from tokenmill.pipelines.read.table import strings
from tokenmill.pipelines.storage.inputs import files_among

COLUMNS = ("key", "url", illustrated.STATUS, illustrated.ERROR)
TARS = (".tar.gz", ".tgz", ".tar")


def sidecars(files: Sequence[InputFile]) -> dict[str, str]:
    """Those among the files that stand beside tars of the same name, by the tars' paths."""
    paths = {f.path for f in files}
    return {tar: table for tar, table in _tables(files).items() if table in paths}


def unlisted(files: Sequence[InputFile]) -> list[InputFile]:
    """Sidecars of tars among the files that no pattern named, as `*.tar` does not."""
    paths = {f.path for f in files}
    return files_among([table for table in _tables(files).values() if table not in paths])


def is_beside(file: InputFile, tables: Collection[str]) -> bool:
    """Whether a file is a sidecar, or the account that img2dataset leaves beside it."""
    stem = file.path.removesuffix("_stats.json")
    return file.path in tables or (stem != file.path and f"{stem}.parquet" in tables)


def with_missing(pages: Iterable[SourceDocument], shard: SourceShard) -> Iterator[SourceDocument]:
    """The documents of a tar, and behind them those that its sidecar says it does not have."""
    row = 0
    for page in pages:
        yield page
        row = page.row + 1
    if shard.sidecar is not None:
        for number, page in enumerate(_missing(shard, shard.sidecar), row):
            yield page._replace(row=number)


def _missing(shard: SourceShard, sidecar: str) -> Iterator[SourceDocument]:
    """What a sidecar says is not there, not yet numbered; why it breaks off, if so, is the last."""
    name, row = posixpath.basename(sidecar), 0
    try:
        for table in parquet_tables(sidecar, Wanted(COLUMNS)):
            columns = {n: strings(table[n]).to_pylist() for n in table.schema.names}
            for number, values in enumerate(zip(*columns.values(), strict=True), row):
                said = dict(zip(columns, values, strict=True))
                place = Place(f"{name}#{number}", f"{sidecar} row {number}")
                lost = illustrated.not_downloaded(said, place.where)
                if lost is not None:
                    key = said.get("key")
                    own = place.path if key is None else f"{shard.prefix or ''}{key}"
                    yield illustrated.missing_document(0, own, place, said.get("url"), lost)
            row += table.num_rows
    except DamagedError as e:
        yield SourceDocument(0, name, lost=Lost(e.cause, f"{sidecar}: {e}"))


def _tables(files: Sequence[InputFile]) -> dict[str, str]:
    """What the sidecars of tars are called, by the tars' paths."""
    suffixes = {f.path: next((s for s in TARS if f.path.lower().endswith(s)), "") for f in files}
    return {tar: f"{tar[: -len(s)]}.parquet" for tar, s in suffixes.items() if s}


IMAGE = frozenset(
    {
        *("jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "bmp", "dib", "tif", "tiff", "avif"),
        *("jp2", "j2k", "ppm", "pgm", "pbm", "pnm", "tga", "ico", "cur", "icns", "qoi", "psd"),
        *("dds", "pcx", "sgi", "mpo"),
    }
)
# Of pictures, and documents that show some, which Pillow does not read.
UNREAD = frozenset(("svg", "svgz", "jxl", "heic", "heif", "hdr", "exr", "pdf", "eps", "dng"))
PICTURES = IMAGE | UNREAD
ODD = "an image that is not read"  # the kind of a member that has a receipt and no data
TEXT = frozenset(("txt", "text", "caption"))
TEXT_OF = "text_of_"  # a note of where texts stand begins with this
LOOKED_SAMPLES, LOOKED_BYTES = 16, 32 * 1024**2  # of a tar, before a run
MOST_MEMBERS = 100_000  # of one sample; more are passed over
NAMED_SUFFIXES = 50  # of members passed over; more are counted together
SHOWN_SUFFIX, SHOWN_TEXT = 30, 40
SHOWN_BYTES = 1024  # of a member with another suffix, which may tell that it is an image
# JSON with a letter in it, several words, or many letters; and an address, which is none of these
TEXTUAL = re.compile(r"\A\s*[\[{].*[^\W\d_]|[^\W\d_]\s+\S*[^\W\d_]|[^\W\d_]{12}", re.DOTALL)
ADDRESS = re.compile(r"\s*\w+://\S+\s*")
CONTROLS = re.compile(r"[\0-\x08\x0e-\x1f]")


class _Sample(NamedTuple):
    """held: bytes of its texts and of its images so far."""

    key: str
    row: int
    parts: list[Part]
    held: list[int]


def cut_webdataset(file: InputFile, wanted: Input, _: int, limits: Limits) -> list[Piece]:
    """One shard for each tar: what begins where is known only to who has read what is before.

    InputError: its first samples have images, and no text that is known as such
        ("unknown_layout").
    """
    if wanted.texts:
        why = "text of several fields is not read of tars; name one"
        raise InputError(f"{file.path}: {why}", cause=UNKNOWN)
    columns = Columns(wanted.text_name or "", wanted.id, wanted.url)
    if problems := _without_known_text(file, columns, limits):
        where = f"{file.path}: the first {len(problems)} samples have images, but no known text"
        way = "name the field of the .json that has it, as {path: …, text: NAME}"
        if not any(said.startswith(f".{JSON}: ") for said in problems):
            way = "text of samples is .txt, .text, .caption and .json; {path: …, text: NAME} takes"
            way += " that field of a .json, and samples without one too"
        raise InputError(f"{where} ({problems[0]}); {way}", cause=UNKNOWN)
    return [Piece(columns, 0, None, bytes=file.bytes)]


def _without_known_text(file: InputFile, columns: Columns, limits: Limits) -> list[str]:
    """Of the first samples, why each has no text; nothing if one has, or has nothing but images."""
    shard = looked_at(file, "webdataset", columns, compression_of(file.name))
    reader, problems = _Reader(shard, limits, Images(), Counter()), []
    for page in _first_pages(reader, shard, limits):
        if page.lost is not None and page.lost.cause == "unequal_lists":
            problems.append(page.lost.detail)
        elif page.text:
            return []
        elif reader.unknown and page.images and page.lost is None:
            problems.append(reader.unknown)
    return problems


def _first_pages(reader: "_Reader", shard: SourceShard, limits: Limits) -> Iterator[SourceDocument]:
    blocks = read_blocks(shard.paths[0], shard.compression, limits=limits)
    with contextlib.closing(blocks):
        first = islice(blocks, LOOKED_BYTES // BLOCK_BYTES)  # where they end a sample is cut off
        tar = Tar(map(b"".join, first))
        yield from islice(reader.pages(tar), LOOKED_SAMPLES)


def texts_taken(shard: SourceShard, limits: Limits) -> tuple[list[str], list[str], list[str]]:
    """Where texts of the first samples of a tar stand, the fields of .json that none takes, and
    columns that none of them has.
    """
    notes = Counter[str]()
    reader, there = _Reader(shard, limits, Images(), notes), set[str]()
    known, absent = {*KNOWN, shard.id, shard.url}, [path for path, _ in shard.columns]
    for _ in _first_pages(reader, shard, limits):
        for fields in reader.fields:
            there.update(field for field, value in fields.items() if value not in (None, ""))
            known |= {p if p in fields else p.split(".")[0] for p, _ in shard.columns}
            absent = [p for p in absent if value_at(fields, p, absent=ABSENT) is ABSENT]
    taken = [name.removeprefix(TEXT_OF) for name in notes if name.startswith(TEXT_OF)]
    return taken, sorted(there - known - {place.partition(":")[2] for place in taken}), absent


def read_webdataset(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the samples of a tar as documents.

    Members that are no part of a sample (devices, suffixes that say nothing here) are passed over,
    and counted in the batches' notes; so are links, sparse files and names that lead out of the
    folder, but images among them, and images by their bytes under other suffixes, fail in their
    sample.
    """
    notes: Counter[str] = Counter()
    images = how.images or Images()
    blocks = read_blocks(shard.paths[0], shard.compression, limits=how.limits)
    with contextlib.closing(blocks):
        pages = _Reader(shard, how.limits, images, notes).pages(Tar(map(b"".join, blocks)))
        yield from illustrated.batches(shard, with_missing(pages, shard), images, notes)


def _words_in(beginning: bytes) -> str:
    """The beginning of a member, if it is text that may say something of an image; else ""."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(beginning)  # its end may be cut
    except UnicodeDecodeError:
        return ""
    none = CONTROLS.search(text) or ADDRESS.fullmatch(text) or not TEXTUAL.search(text)
    return "" if none else text


def _is_picture(name: str) -> bool:
    return name.lower().removesuffix(".gz").rpartition(".")[2] in PICTURES


class _Reader:
    def __init__(
        self, shard: SourceShard, limits: Limits, options: Images, notes: Counter[str]
    ) -> None:
        self._shard, self._notes = shard, notes
        self._most = (limits.max_document_bytes, options.max_bytes)  # of texts, of images
        self._path, self._name = shard.paths[0], shard.names[0]
        self._in_place = shard.compression is None
        # Some 70 bytes for each sample of the tar: a digest of its key, not the key.
        self._seen: set[int] = set()
        self._passed_over: set[str] = set()
        self.fields: Sequence[Mapping[str, Any]] = ()  # of the .json of the last sample
        self.unknown = ""  # what the last sample has that may be text, if none is known in it
        self._wordy = ""  # a member of the one at hand that is passed over, but has words
        self._at = 0  # where the sample at hand began
        self._unsafe: list[Part] = []  # images of no sample: they go with the next that has some

    def pages(self, tar: Tar) -> Iterator[SourceDocument]:
        """The documents, in order; what breaks the tar off is the last."""
        sample = _Sample("", 0, [], [0, 0])
        suffixes: set[str] = set()
        broken: DamagedError | None = None
        try:
            for member in tar:
                key, suffix = self._split(tar, member)
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

    def _last(self, sample: _Sample, broken: DamagedError | None) -> Iterator[SourceDocument]:
        """The sample that the tar ends with, and why it ends if not by its mark.

        A tar that breaks off inside of a sample takes it along: what is there may be half of it.
        """
        row = sample.row
        lost = None if broken is None else Lost(broken.cause, f"{self._path}: {broken}")
        if lost is not None and sample.key and lost.cause != "unended_tar":
            yield self._page(sample, self._at)._replace(lost=lost)
            lost, row = None, row + 1
        elif sample.key:
            yield self._page(sample, self._at)
            row += 1
        if lost is not None:
            yield SourceDocument(row, f"{self._name}#{row}", lost=lost)
            row += 1
        if self._unsafe:
            images = [self._image(part, None) for part in self._unsafe]
            lost = Lost("no_sample", f"{self._path}: images of no sample: {images[0].where}")
            yield SourceDocument(row, f"{self._name}#{row}", images=images, lost=lost)

    def _split(self, tar: Tar, member: Member) -> tuple[str, str]:
        """Key and suffix, in small letters; no key where it is part of no sample."""
        name = member.name
        if member.kind == "folder":
            return "", ""
        if name.startswith("/") or (".." in name and ".." in name.split("/")):
            self._notes["skipped_unsafe_path"] += 1
            if _is_picture(name):
                self._of_none(member, "unsafe_path", "its name leads out of the folder")
            return "", ""
        if member.kind != "file":
            self._notes[f"skipped_{member.kind}"] += 1
            if not _is_picture(name):
                return "", ""
        folder, slash, last = name.removeprefix("./").rpartition("/")
        stem, _, suffix = last.partition(".")
        if not stem or not suffix:
            self._notes["skipped_no_key"] += 1
            if member.kind == "file" and (kind := kind_of(tar.beginning(member, SHOWN_BYTES))):
                self._of_none(member, "no_key", f"{kind} by its bytes, under a name without suffix")
            return "", ""
        return f"{folder}{slash}{stem}", suffix.lower()

    def _of_none(self, member: Member, cause: str, message: str) -> None:
        """Keep the receipt of an image that is part of no sample."""
        if len(self._unsafe) < MOST_MEMBERS:
            self._unsafe.append(self._odd(member, "", cause, message))

    def _part(self, tar: Tar, member: Member, suffix: str, held: list[int]) -> Part | None:
        """A member that says something here, or None; a sample's images share a bound."""
        plain = suffix.removesuffix(".gz")
        kind = plain.rpartition(".")[2]
        image = kind in IMAGE
        if member.kind != "file":
            return self._odd(member, plain, f"{member.kind}_member", "no data of its own is read")
        if not image and kind not in TEXT and kind != JSON:
            self._pass_over(kind)
            begins = tar.beginning(member, SHOWN_BYTES)
            shown = kind_of(begins)
            told = f"{shown} by its bytes" if shown else "nothing known by its bytes"
            message = f"{told}, and .{kind[:SHOWN_SUFFIX]} is not read as an image"
            odd = shown or kind in UNREAD
            if not (odd or self._shard.text) and (said := _words_in(begins)):
                self._wordy = f".{kind[:SHOWN_SUFFIX]}: {said[:SHOWN_TEXT]!r}"
            return self._odd(member, plain, "unread_suffix", message) if odd else None
        room = self._most[image] - held[image]
        if member.size > room:
            lost = self._too_large(image, member, room)
            return Part(member.name, plain, kind, None, lost=lost)
        data: bytes | memoryview = tar.data(member)
        at = member.at if self._in_place and plain == suffix else None
        if plain != suffix:
            try:
                data = unpacked(data, room)
            except UnreadableError as e:
                lost = self._lost(member, e.cause, str(e))
                return Part(member.name, plain, kind, None, lost=lost)
        held[image] += len(data)
        return Part(member.name, plain, kind, data, at)

    def _odd(self, member: Member, suffix: str, cause: str, message: str) -> Part:
        return Part(member.name, suffix, ODD, None, lost=self._lost(member, cause, message))

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

    def _page(self, sample: _Sample, end: int) -> SourceDocument:
        """The document that a sample is.  end: byte of the tar where the next one's data begins."""
        said, lost = self._texts(sample)
        self._notes.update(f"{TEXT_OF}{place}" for place in said.taken)
        self.fields = said.fields
        self.unknown = f".{JSON}: {said.unknown}" if said.unknown else self._wordy
        self._wordy = ""
        text = own_text(illustrated.caption_of(said.captions, self._shard.captions or "join") or "")
        images = [
            self._image(p, said.url) for p in sample.parts if p.kind in IMAGE or p.kind == ODD
        ]
        if images and said.export is None and said.placed is None:
            images += [self._image(part, None) for part in self._unsafe]
            self._unsafe.clear()
        if said.placed is not None:
            text, images, lost = self._placed(sample, said.placed)
        elif said.export is not None:
            text, images, lost = self._exported(sample, said.export, text, images)
        digest = xxhash.xxh3_64_intdigest(sample.key.encode())
        if digest in self._seen:
            message = f"{self._path}: a sample {sample.key!r} came before"
            lost = Lost("repeated_key", message, len(text.encode()))
        elif lost is None and not text and not images:
            message = f"{self._path}: {sample.key!r} has neither text nor image"
            lost = Lost("empty_sample", message)
        self._seen.add(digest)
        own = f"{self._shard.prefix or ''}{said.id or sample.key}"
        begin, self._at = self._at, end
        place = sample.row, own, text, said.url
        return SourceDocument(*place, images, lost, end - begin, beside=said.beside)

    def _placed(self, sample: _Sample, place: Placed) -> tuple[str, list[SourceImage], Lost | None]:
        """Text and images of a document whose .json says where these stand."""
        parts = [p for p in sample.parts if p.kind in IMAGE or p.kind == ODD]
        given = Given(sample.key, parts, lambda part: self._image(part, None), self._most[True])
        try:
            return place.text, placed_images(place, given), None
        except UnreadableError as e:
            images = [self._image(part, None) for part in parts]
            size = len(place.text.encode())
            return "", images, Lost(e.cause, f"{self._path}: {sample.key!r}: {e}", size)

    def _exported(
        self, sample: _Sample, export: Export, text: str, images: list[SourceImage]
    ) -> tuple[str, list[SourceImage], Lost | None]:
        """Text and images of one of our own exports; as they came where it is another's."""
        parts = {p.suffix: p for p in sample.parts if p.kind in IMAGE}
        named = {shown.file for shown in export.images if shown.file is not None}
        if named == parts.keys():
            told = Part(f"{sample.key}.{JSON}", "", JSON, None)  # of an image that is but a URL
            there = [
                self._image(parts.get(shown.file or "", told), shown.url, shown.claims)
                for shown in export.images
            ]
            return text if export.text is None else export.text, there, None
        if export.text is None:
            return text, images, None
        odd = ", ".join(sorted(named ^ parts.keys())[:SHOWN_FILES])
        message = f"{self._path}: {sample.key!r} and its .json do not have the same files ({odd})"
        return text, images, Lost("unequal_lists", message, len(export.text.encode()))

    def _texts(self, sample: _Sample) -> tuple[Texts, Lost | None]:
        """What a sample's texts say, or why they cannot be read."""
        parts = [p for p in sample.parts if p.kind not in IMAGE and p.kind != ODD]
        lost = next((p.lost for p in parts if p.lost is not None), None)
        try:
            if lost is None:
                return texts_of(parts, self._shard), None
        except UnreadableError as e:
            size = sum(len(p.data or b"") for p in parts)
            lost = Lost(e.cause, f"{self._path}/{e}", size)
        return Texts([], None, None), lost

    def _image(self, part: Part, url: str | None, claims: Claims = NO_CLAIMS) -> SourceImage:
        path, where = f"{self._name}/{part.name}", f"{self._path}/{part.name}"
        return SourceImage(path, where, url, part.data, part.at, claims, part.lost)
