"""Text of pages, made by a process of our own, so that no page can take the run along.

Extractors hold Python's lock, and are other people's C: in a process each thread of a run has its
own, and one that dies takes one page with it.
"""

import contextlib
import json
import signal
import subprocess
import sys
from types import TracebackType
from typing import Self

from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.web.child import ANSWER, CPU_SECONDS, SIZE, TEXT
from tokenmill.pipelines.read.web.outline import Bounds, outline

REFUSED, STOPPED = "not_extracted", "extractor_stopped"
SHOWN = 200


class ExtractionError(Exception):
    """There is no text of a page.

    cause: "not_extracted", "extractor_stopped", or as `outline` says.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Extractor:
    """Makes text of pages, in order; a context manager that ends its process."""

    def __init__(self, options: Html) -> None:
        self._bounds = Bounds(options.max_tags, options.max_attributes, options.max_depth)
        self._settings = json.dumps(
            {
                "name": options.extractor,
                "main_content": options.main_content,
                "comments": options.comments,
                "favor": options.favor,
            }
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self._process is not None:
            self._process.kill()  # whoever is in a hurry does not wait for a page
        self._end()

    def __call__(self, page: str) -> str:
        """The text of a page.

        Raises:
            ExtractionError: it is over a bound, the extractor refused it, or died of it.
        """
        data = page.replace("\0", "").encode("utf-8", "replace")
        told, cause = outline(data, self._bounds)
        if cause:
            raise ExtractionError(cause, f"the page has {told}".replace("Outline", "at least "))
        process = self._process = self._process or self._start()
        try:
            status, text = _ask(process, data)
        except (OSError, EOFError):
            raise ExtractionError(STOPPED, f"the extractor {self._end()}") from None
        if status != TEXT:
            raise ExtractionError(REFUSED, text[:SHOWN])
        return text

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tokenmill.pipelines.read.web.child", self._settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _end(self) -> str:
        """End the process, if there is one; say how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "was not there"
        for stream in (process.stdin, process.stdout):  # it ends where its pages do
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()
        if process.returncode == -signal.SIGPROF:
            return f"took more than {CPU_SECONDS:g} s of CPU time"
        return f"ended with code {process.returncode}"


def _ask(process: subprocess.Popen[bytes], page: bytes) -> tuple[int, str]:
    if process.stdin is None or process.stdout is None:
        raise EOFError
    process.stdin.write(SIZE.pack(len(page)) + page)
    process.stdin.flush()
    head = process.stdout.read(ANSWER.size)
    if len(head) < ANSWER.size:
        raise EOFError
    status, size = ANSWER.unpack(head)
    text = process.stdout.read(size)
    if len(text) < size:
        raise EOFError
    return status, text.decode()
