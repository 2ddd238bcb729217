"""Folders of Markdown: each file a document, with the images it refers to."""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.read.batch import Failure, ReadBatch
from tokenmill.pipelines.read.illustrated import Lost, Page, illustrated_batches, own_text
from tokenmill.pipelines.read.limits import Limits
from tokenmill.pipelines.read.markdown_images import find_images, with_placeholders
from tokenmill.pipelines.read.names import compression_of
from tokenmill.pipelines.read.references import Folder, Place, Value, is_url
from tokenmill.pipelines.read.text import read_text
from tokenmill.pipelines.shard import SourceShard


def read_markdown(shard: SourceShard, limits: Limits, images: Images) -> Iterator[ReadBatch]:
    """Yield each file of the shard as a document; its id is its path below the input's folder.

    Images lie below that folder; what else a document refers to is an image that failed, or
    stays a URL.
    """
    pages = (_page(shard, row, limits, images) for row in range(len(shard.paths)))
    return illustrated_batches(shard.ordinal, pages, images)


def _page(shard: SourceShard, row: int, limits: Limits, images: Images) -> Page:
    path, name = shard.paths[row], shard.names[row]
    text = read_text(path, name, row, compression_of(path), limits)
    if isinstance(text, Failure):
        return Page(row, name, lost=Lost(text.reason, text.detail, text.text_bytes))
    source = own_text(text)
    marks = find_images(source)
    folder = Folder(path, name, images)
    found = [
        folder.found(Value(reference=local_path(m.src)), Place(name, f"{path} line {m.line}"))
        for m in marks
    ]
    return Page(row, name, with_placeholders(source, marks), images=found)


def local_path(address: str) -> str:
    """The file that an address means, if it means one: without query, fragment and %20.

    >>> local_path("img/my%20cat.png?raw=true")
    'img/my cat.png'
    >>> local_path("https://a.org/cat.png?size=2")
    'https://a.org/cat.png?size=2'
    """
    if is_url(address) or address[:5].lower() in ("data:", "file:"):
        return address
    try:
        return unquote(urlsplit(address).path) or address
    except ValueError:
        return address
