"""Reports for a browser, which opens no file of a disk from a page of Prefect's.

`tokenmill serve` answers on a port of this machine's own: for pages by the names that ours have,
below the roots, and nothing else; nothing is written. Where it does, artifacts link to it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote, urlsplit

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place, below, is_remote
from tokenmill.sizing.roots import held

ADDRESS = "TOKENMILL_PAGES"  # of the environment of runs that are served
HOST, PORT = "127.0.0.1", 4201
PAGES = frozenset({"report.html", "contamination.html", "requirements.html", "probe.html"})
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def link_to(folder: Place, page: str) -> str:
    """A page of ours in a folder, as Markdown: a link where it is served, else its path."""
    path, address = below(folder, page), os.environ.get(ADDRESS)
    if address is None or is_remote(folder):
        return path
    return f"[{path}]({address}{quote(os.path.abspath(path))})"


@contextmanager
def served(port: int | None) -> Iterator[str]:
    """Serve pages for the length of the block; yields the address.

    port: None is PORT, or another where that is taken.
    ConfigError: it is taken.
    """
    try:
        server = ThreadingHTTPServer((HOST, PORT if port is None else port), _Pages)
    except OSError as e:
        if port is not None:
            raise ConfigError(
                f"--pages-port {port}: cannot be listened on ({e.strerror}); name another"
            ) from e
        server = ThreadingHTTPServer((HOST, 0), _Pages)
    address = f"http://{HOST}:{server.server_port}"
    before, os.environ[ADDRESS] = os.environ.get(ADDRESS), address
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield address
    finally:
        os.environ.pop(ADDRESS)
        if before is not None:
            os.environ[ADDRESS] = before
        server.shutdown()
        server.server_close()


class _Pages(BaseHTTPRequestHandler):
    server: ThreadingHTTPServer

    def do_GET(self) -> None:
        page = self._page()
        self.send_response(404 if page is None else 200)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        body = b"no report here" if page is None else page
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _page(self) -> bytes | None:
        """The page that is asked for, of this host by its own name: no other site leads here."""
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            return None
        path = Path(unquote(urlsplit(self.path).path))
        if path.name not in PAGES:
            return None
        try:
            with held(path) as name:
                return Path(name).read_bytes()
        except (OSError, ValueError):
            return None

    def log_message(self, *_: object) -> None:
        """Say nothing: this is no one's log."""
