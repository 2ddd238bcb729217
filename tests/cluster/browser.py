"""A real browser without a window: what a page says, and forms filled in."""

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.cluster.processes import eventually, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY_NOT = "needs Chromium: sh tests/cluster/install.sh"
LOAD_MS, WITHIN_S, LOOKS = 30_000, 300, 4
WINDOW = "--window-size=1300,2200"  # what is below is not drawn, and has no words
_TAGS = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.DOTALL)


def text_of(url: str) -> str:
    """The words of a page once its scripts have run, with single spaces between them."""
    page = _dumped(url).decode(errors="replace")
    return " ".join(unescape(_TAGS.sub(" ", page)).split())


def text_with(url: str, words: Sequence[str]) -> str:
    """The words of a page as soon as it has these; a busy machine may need a second look."""
    for _ in range(LOOKS):
        text = text_of(url)
        if all(word in text for word in words):
            break
    return text


class Tab:
    """A page that is clicked and typed into, by the DevTools protocol."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire, self._n = wire, 0

    def click(self, element: str) -> None:
        """Click on an element, as soon as JavaScript finds it."""
        self.wait_for(f"({element})?.click() ?? !!({element})")

    def type(self, element: str, text: str) -> None:
        """Put text into a field, as soon as JavaScript finds it."""
        self.wait_for(f"({element})?.focus(), document.activeElement === ({element})")
        self._ask("Input.insertText", text=text)
        self.wait_for(f"({element}).value === {json.dumps(text)}")

    def wait_for(self, script: str) -> None:
        """Return once a piece of JavaScript is true."""
        eventually(script, lambda: self.finds(script), within_s=WITHIN_S)

    def finds(self, script: str) -> bool:
        """Whether a piece of JavaScript is true."""
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        return answer["result"].get("value") is True

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._n += 1
        self._wire.send(json.dumps({"id": self._n, "method": method, "params": params}))
        while (said := json.loads(self._wire.recv(WITHIN_S))).get("id") != self._n:
            pass  # an event
        assert "error" not in said, said
        return dict(said["result"])


@contextmanager
def tab_of(url: str, log: Path) -> Iterator[Tab]:
    """A page in a browser of its own, for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        port_file = Path(profile) / "DevToolsActivePort"

        def page() -> str:
            port = port_file.read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                tabs = json.load(answer)
            return next((t["webSocketDebuggerUrl"] for t in tabs if t["type"] == "page"), "")

        with running([*_command(profile), "--remote-debugging-port=0", url], log=log) as program:
            # the file's second line is written last
            program.wait_until(
                lambda: port_file.exists() and "\n" in port_file.read_text(), within_s=WITHIN_S
            )
            with connect(program.wait_until(page, within_s=WITHIN_S), max_size=None) as wire:
                yield Tab(wire)


def _command(profile: str) -> list[str]:
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", WINDOW]
    return [*command, f"--user-data-dir={profile}"]


def _dumped(url: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        command = [*_command(profile), f"--virtual-time-budget={LOAD_MS}", "--dump-dom", url]
        ended = subprocess.run(command, capture_output=True, timeout=WITHIN_S, check=True)
    return ended.stdout
