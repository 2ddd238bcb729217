"""A folder behind one server that speaks as Google's store, the Hugging Face hub and the web do.

/storage/v1/b/BUCKET/o…   /api/datasets/OWNER/NAME…   /datasets/OWNER/NAME/resolve/…   /web/…
"""

import contextlib
import hashlib
import json
import re
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

REPO = "owner/name"
RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class Served(ThreadingHTTPServer):
    """files: by name.  ranges: whether it gives parts.  more: headers.

    refused: all of it.  pause_s: before the second half of what is given.
    given: the ranges that it gave.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.more: dict[str, str] = {}
        self.ranges, self.refused = True, False
        self.pause_s = 0.0
        self.given: set[tuple[int, int]] = set()
        self.port = self.server_address[1]

    def handle_error(self, request, client_address) -> None:
        """A client that goes away is nothing to tell of."""


class _Handler(BaseHTTPRequestHandler):
    server: Served
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body would wait for the answer to its headers: 40 ms

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        path, query = unquote(url.path), {k: v[0] for k, v in parse_qs(url.query).items()}
        if self.server.refused:
            return self._json({"error": {"message": "no"}}, 403)
        if path.startswith("/web/"):
            return self._bytes(path.removeprefix("/web/"))
        if path.startswith("/api/datasets/"):
            return self._hub(path.removeprefix("/api/datasets/"), query)
        if match := re.fullmatch(r"/datasets/[^/]+/[^/]+/resolve/[^/]+/(.*)", path):
            return self._bytes(match[1])
        if match := re.fullmatch(r"(/download)?/storage/v1/b/([^/]+)/o(/(.*))?", path):
            return self._google(match[4], query)
        return self._json({}, 404)

    do_HEAD = do_GET  # noqa: N815 - a name the base class looks for

    def _google(self, name: str | None, query: dict[str, str]) -> None:
        if name is None:
            prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
            below = {n for n in self.server.files if n.startswith(prefix)}
            deep = {n for n in below if delimiter and delimiter in n[len(prefix) :]}
            folders = {prefix + n[len(prefix) :].split("/")[0] + "/" for n in deep}
            items = [self._object(n) for n in sorted(below - deep)]
            found = {"items": items, "prefixes": sorted(folders), "kind": "storage#objects"}
            self._json(found)
        elif query.get("alt") == "media":
            self._bytes(name)
        elif name in self.server.files:
            self._json(self._object(name))
        else:
            self._json({"error": {"code": 404, "message": "Not Found"}}, 404)

    def _object(self, name: str) -> dict[str, object]:
        data = self.server.files[name]
        host = self.headers["Host"]
        made = int(hashlib.sha1(data).hexdigest()[:12], 16)
        link = f"http://{host}/download/storage/v1/b/b/o/{name.replace('/', '%2F')}?alt=media"
        return {"name": name, "size": str(len(data)), "generation": str(made), "mediaLink": link}

    def _hub(self, path: str, query: dict[str, str]) -> None:
        owner, name, *rest = path.split("/", 3)
        if f"{owner}/{name}" != REPO:
            return self._json({}, 404, {"X-Error-Code": "RepoNotFound"})
        if not rest or rest[0] == "revision":
            return self._json({"id": REPO, "sha": "0" * 40, "siblings": []})
        _, _, folder = rest[1].partition("/")
        inside = f"{folder}/" if folder else ""
        names = [n for n in sorted(self.server.files) if n.startswith(inside)]
        if not names:
            return self._json({}, 404, {"X-Error-Code": "EntryNotFound"})
        entries = [
            {"type": "file", "path": n, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for n in names
            for data in [self.server.files[n]]
        ]
        if query.get("recursive", "").lower() != "true":
            tops = {n[len(inside) :].split("/")[0] for n in names if "/" in n[len(inside) :]}
            entries = [e for e in entries if "/" not in str(e["path"])[len(inside) :]]
            entries += [
                {"type": "directory", "path": inside + t, "oid": "0", "size": 0} for t in tops
            ]
        return self._json(entries)

    def _json(self, value, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self._send(status, {"Content-Type": "application/json", **(headers or {})}, data)

    def _bytes(self, name: str) -> None:
        data = self.server.files.get(name)
        if data is None:
            return self._send(404, {}, b"")
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"'}
        asked = RANGE.fullmatch(self.headers.get("Range", ""))
        if asked is None or not self.server.ranges:
            return self._send(200, headers, data)
        first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
        self.server.given.add((first, last))
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self._send(206, headers, data[first : last + 1])

    def _send(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response_only(status)
        for name, value in {**headers, **self.server.more}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2])
            time.sleep(self.server.pause_s)
            self.wfile.write(data[len(data) // 2 :])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Let a server answer for the length of a block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def certified(server: ThreadingHTTPServer, folder: Path) -> Path:
    """Have a server speak TLS; returns the certificate that a client is to trust."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    alternative = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    signed = made.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    pem, secret = folder / "host.pem", folder / "host.key"
    pem.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, secret)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return pem
