"""The process that makes text of pages, some at a time, one after the other.

    python -m tokenmill.pipelines.read.web.child SETTINGS FD

    n pages ──► file of memory FD │
    n, n lengths ──► stdin        │ extractor │ stdout ──► n of: status, length; n texts or messages

All text is UTF-8. For each page alone two processes would wake one another 2,000 times a second;
through a pipe a page would be copied once more, 64 KiB at a time.

It imports no more than the extractor, and holds no lock but its own. Should a page take more CPU
time than any within the bounds of `outline` was ever seen to, the system ends the process.
"""

import html
import json
import mmap
import re
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, BinaryIO

SIZE = struct.Struct("<I")
ANSWER = struct.Struct("<BI")
TEXT, REFUSED = 0, 1
CPU_SECONDS = 120.0  # of a page: the worst within the bounds took 2
MEMORY_BYTES = 8 * 1024**3  # of addresses, not of memory used
# resiliparse 2.0 takes any character of three bytes that stands alone between two tags, as 、 is
# between links, for an icon of a font, and leaves it out; it means those of the private use area.
# So a character that no text has stands beside it until the text is made.
BESIDE = "\x7f"
# How a word is read, as kana above kanji: of <ruby>, and to be seen beside the word at most. It
# ends at another part of the word, or at its end; what does not, as in comments, stays.
_READING = re.compile(
    r"<r(?:tc?|p)(?=[\s/>])[^<>]*+>[^<]*+"
    r"(?:</?(?:a|b|br|em|font|i|s|small|span|strong|sub|sup|u)\b[^<]*+){0,32}+"
    r"(?:</r(?:tc?|p)\s*+>|(?=<r(?:tc?|p|b)\b|</r(?:b|uby)\b))",
    re.IGNORECASE,
)
_ALONE = re.compile(r">\s*+([\u0800-\uffff]|&#?\w++;)(?=\s*<)")


def extractor(
    name: str,
    *,
    main_content: bool,
    comments: bool,
    favor: str | None,
    links: bool = False,
    tables: bool = True,
    formatting: bool = False,
) -> Callable[[str], str]:
    """What makes text of a page; settings as `Html` has them."""
    if name == "resiliparse":
        from resiliparse.extract.html2text import extract_plain_text

        return lambda page: extract_plain_text(
            _beside(page) if main_content else page,
            main_content=main_content,
            comments=comments,
            alt_texts=False,
            links=links,
        ).replace(BESIDE, "")
    import trafilatura  # takes a second to import

    if not main_content:
        return lambda page: trafilatura.html2txt(page)
    favored: dict[str, Any] = {f"favor_{favor}": True} if favor else {}
    return lambda page: (
        trafilatura.extract(
            page,
            include_comments=comments,
            include_links=links,
            include_tables=tables,
            include_formatting=formatting,
            **favored,
        )
        or ""
    )


def _beside(page: str) -> str:
    """`BESIDE` behind each character that would be taken for an icon and is seen."""
    ends = [alone.end() for alone in _ALONE.finditer(page) if _seen(html.unescape(alone[1]))]
    return BESIDE.join(page[start:end] for start, end in pairwise([0, *ends, len(page)]))


def _seen(text: str) -> bool:
    return len(text) == 1 and text >= "\u0800" and text.isprintable()


def asked(pages: Sequence[bytes], held: BinaryIO) -> bytes:
    """What `serve` is sent for some pages, which are written to the file that it maps."""
    held.seek(0)
    held.writelines(pages)
    held.flush()
    return struct.pack(f"<{len(pages) + 1}I", len(pages), *map(len, pages))


def serve(sizes: BinaryIO, texts: BinaryIO, fd: int, make: Callable[[str], str]) -> None:
    """Answer each page, to the end of the stream."""
    data = memoryview(b"")
    while len(head := sizes.read(SIZE.size)) == SIZE.size:
        (n,) = SIZE.unpack(head)
        asked_for = struct.unpack(f"<{n}I", sizes.read(n * SIZE.size))
        if sum(asked_for) > len(data):
            data = memoryview(mmap.mmap(fd, 0, access=mmap.ACCESS_READ))
        heads, made, at = [], [], 0
        for size in asked_for:
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # its signal ends the process
            status, text = answer(str(data[at : at + size], "utf-8"), make)
            made.append(text.encode("utf-8", "replace"))
            heads.append(ANSWER.pack(status, len(made[-1])))
            at += size
        signal.setitimer(signal.ITIMER_PROF, 0)
        texts.write(b"".join([*heads, *made]))
        texts.flush()


def answer(page: str, make: Callable[[str], str]) -> tuple[int, str]:
    """Text, or the name of what the library raised, which is no business of its caller."""
    try:
        shown = _READING.sub("", page) if "<ruby" in page or "<RUBY" in page else page
        return TEXT, make(shown).lstrip("\r\n").rstrip()  # a list begins with blanks
    except Exception as e:  # noqa: BLE001
        return REFUSED, f"{type(e).__name__}: {e}"


def main(settings: dict[str, Any], fd: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin.buffer, sys.stdout.buffer, fd, extractor(**settings))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
