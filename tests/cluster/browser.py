"""A real browser without a window: what a page says, and what it looks like."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from html import unescape
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LOAD_MS, WITHIN_S, LOOKS = 30_000, 120, 4
WINDOW = "--window-size=1300,2200"  # what is below is not drawn, and has no words
_TAGS = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.DOTALL)


def text_of(url: str) -> str:
    """The words of a page once its scripts have run, with single spaces between them."""
    page = _run(url, "--dump-dom").decode(errors="replace")
    return " ".join(unescape(_TAGS.sub(" ", page)).split())


def text_with(url: str, words: Sequence[str]) -> str:
    """The words of a page as soon as it has these; a busy machine may need a second look."""
    for _ in range(LOOKS):
        text = text_of(url)
        if all(word in text for word in words):
            break
    return text


def picture_of(url: str, path: Path) -> None:
    """Write what a page looks like, as PNG."""
    _run(url, f"--screenshot={path}")


def _run(url: str, *options: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", WINDOW]
        command += [f"--user-data-dir={profile}", f"--virtual-time-budget={LOAD_MS}", *options, url]
        ended = subprocess.run(command, capture_output=True, timeout=WITHIN_S, check=True)
    return ended.stdout
