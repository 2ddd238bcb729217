"""WebDataset out: what is left of a shard, as a tar of samples with keys that stay the same.

    sample         KEY.jpg  KEY.txt  KEY.json                        image, caption, facts
    several        KEY.0.jpg  KEY.1.png  KEY.txt  KEY.json           images beside one text
    text between   KEY.0.jpg  KEY.1.png  KEY.json                    with the nodes, in order

KEY is the document's own id made safe for a file name, and a digest of source, file and id:
whatever the size of shards or the number of workers, a document has the same. Of documents with
one id the second of a shard has "-2" behind it, and so on. Of a file's header only name and size
differ from others.
"""

import contextlib
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from io import BufferedWriter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import xxhash

from tokenmill.pipelines.core.schema import ILLUSTRATED, PLACEHOLDER
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.layouts import LAYOUTS
from tokenmill.pipelines.read.images.sample import CAPTIONS, FACTS
from tokenmill.pipelines.read.readers import reader_named
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.tokens.images import count_places
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.pipelines.tokens.shards import sides, splits

EXTENSIONS = {"jpeg": "jpg", "mpo": "jpg", "jpeg2000": "jp2", "tiff": "tif"}
# not of annotations: what is read as text, images or their facts
TAKEN = frozenset({*ILLUSTRATED.names, *CAPTIONS, *LAYOUTS, *FACTS, "file", "images", "nodes"})
READABLE = 60  # characters of the id that a key begins with
END = bytes(2 * tarfile.BLOCKSIZE)


class TarShards:
    """Writes each split's documents to its own tar, if the recipe wants that."""

    def __init__(self, job: TokenRun, shard: SourceShard, files: contextlib.ExitStack) -> None:
        images = job.tokenizing.images
        wanted = splits(job) if images is not None and images.webdataset else ()
        folder = job.out / "webdataset"
        folders = {split: folder / split if len(splits(job)) > 1 else folder for split in wanted}
        paths = {split: of / f"part-{shard.key}.tar" for split, of in folders.items()}
        self.paths = list(paths.values())
        self._output = job.tokenizing.output
        # documents that are files of their own have its name as their id
        self._file = "" if reader_named(shard.format).whole else shard.names[0]
        self._source = shard.source
        self._seen: Counter[str] = Counter()
        self._files = {split: files.enter_context(_tar(path)) for split, path in paths.items()}

    def write(self, documents: pa.RecordBatch, blobs: Blobs | None) -> None:
        """Add documents of schema ILLUSTRATED. blobs: the bytes of their images."""
        for split, here in sides(documents, self._output, tuple(self._files)):
            part = documents if here.all() else documents.filter(pa.array(here))
            places = count_places(part)
            for row, n in zip(part.to_pylist(), places.tolist(), strict=True):
                for name, data in members(row, interleaved=n > 0, blobs=blobs):
                    _add(self._files[split], f"{self._key(row)}.{name}", data)
                self._seen[row["id"]] += 1

    def _key(self, document: dict[str, Any]) -> str:
        again = self._seen[document["id"]]
        key = key_of(self._source, self._file, document["id"])
        return key + (f"-{again + 1}" if again else "")


def key_of(source: str, file: str, name: str) -> str:
    """The key of a document by its id, `name`, and the file that it was read from.

    >>> key_of("web", "shard-3.tar", "cats/000017")
    'cats_000017-7fbcb9f2a4615531'
    """
    digest = xxhash.xxh3_64_hexdigest("\0".join((source, file, name)).encode())
    return f"{re.sub('[^A-Za-z0-9_-]', '_', name)[:READABLE]}-{digest}"


def members(
    document: dict[str, Any], *, interleaved: bool, blobs: Blobs | None
) -> Iterator[tuple[str, bytes | memoryview]]:
    """(what stands behind the key, bytes) of each file of a document."""
    images, text = document["images"], document["text"]
    alone = len(images) == 1 and not interleaved
    facts = []
    for i, image in enumerate(images):
        extension = EXTENSIONS.get(image["format"], image["format"] or "bin")
        name = extension if alone else f"{i}.{extension}"
        told = {fact: image[fact] for fact in FACTS}
        told["md5"] = None if image["md5"] is None else image["md5"].hex()
        if blobs is not None and image["offset"] is not None:
            yield name, blobs.take(image["offset"], image["bytes"])
            told["file"] = name
        facts.append(told)
    about: dict[str, Any] = {"id": document["id"], "url": document["url"]}
    if alone:
        about = {**facts[0], "id": document["id"], "url": facts[0]["url"] or document["url"]}
    elif images:
        about["images"] = facts
    beside = document.keys() - TAKEN - about.keys()
    about |= {name: document[name] for name in beside}
    if interleaved:
        about["nodes"] = nodes_of(text)
    else:
        yield "txt", text.encode()
    yield "json", orjson.dumps(about, option=orjson.OPT_SORT_KEYS)


def nodes_of(text: str) -> list[dict[str, Any]]:
    """Text and images in order; the text of all nodes, and U+FFFC for images, is the document's.

    >>> nodes_of("one \\ufffc two")
    [{'text': 'one '}, {'image': 0}, {'text': ' two'}]
    """
    nodes: list[dict[str, Any]] = []
    for i, piece in enumerate(text.split(PLACEHOLDER)):
        nodes += [{"image": i - 1}] if i else []
        nodes += [{"text": piece}] if piece else []
    return nodes


@contextlib.contextmanager
def _tar(path: Path) -> Iterator[BufferedWriter]:
    with atomic_path(path) as partial, partial.open("wb") as file:
        yield file
        file.write(END)


def header_of(name: str, size: int) -> bytes:
    """As `tarfile` writes it, of nobody, of 1970, 20 times as fast; name: ASCII, 100 at most."""
    own, octal = name.encode(), b"%011o" % size
    if len(own) > tarfile.LENGTH_NAME or size >> 33:
        return _info(name, size)
    total = b"%06o" % (EMPTY_SUM + sum(own) + sum(octal) - 11 * ord("0"))
    return own.ljust(100, b"\0") + EMPTY[100:124] + octal + EMPTY[135:148] + total + EMPTY[154:]


def _info(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT)


EMPTY = _info("", 0)
EMPTY_SUM = int(EMPTY[148:154], 8)


def _add(file: BufferedWriter, name: str, data: bytes | memoryview) -> None:
    file.write(header_of(name, len(data)))
    file.write(data)
    file.write(bytes(-len(data) % tarfile.BLOCKSIZE))
